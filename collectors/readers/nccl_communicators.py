"""How far each rank came in setting up each communicator, put together from the lines of one NCCL log.

START is `ncclCommInitRank comm 0x5f rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x9c - Init START`
from 2.18.3 on. All ranks have met when `Bootstrap timings total` (2.23 on, same thread) or `comm 0x5f rank 0
nRanks 4 nNodes 1` (2.20.3 on) is printed. Then `- Init COMPLETE`, or `- Abort START`, `- Abort COMPLETE`. Up
to 2.15 no commId is printed: the pointer and the process then tell communicators apart. No reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from collectors.readers.nccl_lines import NcclLine
from kb.facts.nccl import NcclInit

State: TypeAlias = Literal["started", "met", "complete", "aborted"]

MOST_RANKS = 100_000
MOST_BETWEEN = 3

_COMM = regex(
    r"(?:\[Rank \d{1,7}\] )?(?:\w{1,40} )?comm (?P<pointer>0x[0-9a-f]{1,16}) "
    r"rank (?P<rank>\d{1,7}) n[rR]anks (?P<nranks>\d{1,7})"
)
_ID = regex(r" commId (0x[0-9a-f]{1,16})")
_BUS = regex(r" busId (?:0x)?([0-9a-f]{1,12})")
_STEP = regex(r"- (Init|Abort|Destroy|Finalize|Revoke) (START|COMPLETE)")


@dataclass(slots=True)
class _Rank:
    """One rank of one communicator, with the line that shows its state."""

    comm_id: str | None
    rank: int
    nranks: int
    state: State
    started: int
    index: int
    line: NcclLine
    bus: str | None
    ambiguous: bool
    """Started, by a line that old releases print only after all ranks have met."""


class Communicators:
    """The ranks of all communicators of one log."""

    def __init__(self) -> None:
        self._ranks: list[_Rank] = []
        self._by_pointer: dict[tuple[str, str], _Rank] = {}
        self._started_last: dict[str, _Rank] = {}
        self._of_thread: dict[str, _Rank] = {}
        self._of_process: dict[str, set[tuple[int, int]]] = {}

    def take(self, line: NcclLine) -> bool:
        """Adds one INFO record; True where it shows a communicator's beginning."""
        if line.text.startswith("Bootstrap timings total"):
            rank = self._started_last.get(line.thread) or self._started_last.get(line.process)
            if rank is not None and rank.state == "started":
                _advance(rank, "met", line)
            return False
        match = _COMM.match(line.text)
        if match is None or len(self._ranks) >= MOST_RANKS:
            return False
        step = _STEP.search(line.text[:600])
        name = f"{step[1]} {step[2]}" if step else ""
        rank = self._rank(match, line, name)
        if rank is None:
            return False
        if name in {"Init COMPLETE", "Destroy COMPLETE"}:  # who is destroyed in good order was complete
            _advance(rank, "complete", line)
        elif step and step[1] == "Abort" and rank.state != "complete":
            _advance(rank, "aborted", line)
        elif " nNodes " in line.text and rank.state == "started":
            _advance(rank, "met", line)
        return name == "Init START"

    def _rank(self, match: re.Match[str], line: NcclLine, step: str) -> _Rank | None:
        """The rank that the line is about; a new one where the line begins, or is the first seen of it."""
        pointer = (str(line.pid or line.process), match["pointer"])
        tail = line.text[match.end() : match.end() + 400]
        comm_id = _ID.search(tail)
        known = self._by_pointer.get(pointer)
        same = known is not None and (comm_id is None or known.comm_id in {None, comm_id[1]})
        if same and step != "Init START":
            return known
        bare = not tail.strip()  # 2.3 prints no more when it begins
        if not step and not bare and " nNodes " not in tail:
            return None
        bus = _BUS.search(tail)
        rank = _Rank(
            comm_id=comm_id[1] if comm_id else None,
            rank=int(match["rank"]),
            nranks=int(match["nranks"]),
            state="started",
            started=line.index,
            index=line.index,
            line=line,
            bus=bus[1] if bus else None,
            ambiguous=step == "Init START" and not line.text.startswith("[Rank "),
        )
        self._add(rank, pointer, line)
        return rank

    def _add(self, rank: _Rank, pointer: tuple[str, str], line: NcclLine) -> None:
        self._ranks.append(rank)
        self._by_pointer[pointer] = rank
        self._started_last[line.thread] = self._started_last[line.process] = rank
        largest = self._of_thread.get(line.thread)
        if largest is None or rank.nranks >= largest.nranks:
            self._of_thread[line.thread] = rank
        self._of_process.setdefault(line.process, set()).add((rank.nranks, rank.rank))

    def rank_of(self, thread: str) -> int | None:
        """The rank that a thread, or else its whole process, has in its largest communicator."""
        if thread in self._of_thread:
            return self._of_thread[thread].rank
        pairs = self._of_process.get(thread.rsplit(":", 1)[0], set())
        largest = max((nranks for nranks, _ in pairs), default=0)
        ranks = {rank for nranks, rank in pairs if nranks == largest}
        return ranks.pop() if len(ranks) == 1 else None

    def facts(self, *, met_at_start: bool) -> Iterator[tuple[NcclInit, int, int]]:
        """Each rank of each communicator with the lines of its state, in the order in which they appeared.

        That all have met is shown together with the line that it goes on from, where that stands close by.
        """
        for rank in self._ranks:
            state = rank.state
            if state == "started" and rank.ambiguous and met_at_start:
                state = "met"
            fact = NcclInit(
                comm_id=rank.comm_id,
                rank=rank.rank,
                nranks=rank.nranks,
                state=state,
                host=rank.line.host,
                pid=rank.line.pid,
                bdf=rank.bus,
            )
            near = rank.state == "met" and rank.index - rank.started <= MOST_BETWEEN
            yield fact, rank.started if near else rank.index, rank.index


def _advance(rank: _Rank, state: State, line: NcclLine) -> None:
    if rank.state != state:
        rank.state, rank.index = state, line.index
    if rank.bus is None:
        bus = _BUS.search(line.text[:600])
        rank.bus = bus[1] if bus else None
    if rank.comm_id is None:
        comm_id = _ID.search(line.text[:600])
        rank.comm_id = comm_id[1] if comm_id else None
