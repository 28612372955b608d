"""What torch's monitoring threads say besides a time-out: stuck calls, dump signals, and its comparison of ranks.

    [rank2]:[E131 12:10:00.123 ProcessGroupNCCL.cpp:1414] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from rank 1 and we will try our best to dump the debug info.
    [rank0]:[F131 12:20:00.123 ProcessGroupNCCL.cpp:1557] [PG ID 0 PG GUID 0(default_pg) Rank 0] [PG ID 0 PG GUID 0(default_pg) Rank 0] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress
         [1] finished collective #2, but didn't join collective #3 (count from 1)

Follows PyTorch 1.13 to 2.14 (c10d/ProcessGroupNCCL.cpp, TraceUtils.h). A rank is the one that torchrun marks, else
the one in brackets. A cut line gives what it still names; a sentence about such a line gives nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import START_MARKERS, shows_start
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.collectives import DesyncRank, WatchdogSignal

MOST_RANKS = 20_000
MOST_NAMED = 64

SignalName = Literal["heartbeat-lost", "watchdog-stuck", "dump-signal", "dump-observed"]
Problem = Literal["not-joined", "not-finished", "never-began"]

_LEAD = r"(?:\s{0,8}what\(\): {1,4})?(?:\[(?:PG [^\]]{1,120}|[^\]]{0,80})Rank \d{1,7}\] )*"
_SIGNALS: tuple[tuple[SignalName, re.Pattern[str]], ...] = (
    ("heartbeat-lost", regex(_LEAD + r"Heartbeat monitor timed out")),
    ("watchdog-stuck", regex(_LEAD + r"ProcessGroupNCCL's watchdog got stuck for \d")),
    (
        "dump-signal",
        regex(_LEAD + r"Received a (?:dump|timeout) signal .{0,60}?from (?:rank (?P<origin>\d{1,7})|this local)"),
    ),
    ("dump-observed", regex(_LEAD + r"Observed flight recorder dump signal from another rank")),
)
_BRACKET = regex(r"\[[^\]]{0,120}\bRank (\d{1,7})\]")
_RANKS = r"\[(?P<ranks>\d{1,7}(?:, \d{1,7}){0,1000})\]"
_JOINED = regex(
    rf"\s{{0,12}}(?:- )?{_RANKS} (?:finished collective #(?P<finished>\d{{1,12}}), but didn't join collective"
    r"|joined but didn't finish collective) #(?P<awaited>\d{1,12})"
)
_NEVER = regex(
    rf"\s{{0,12}}(?:- )?To our best knowledge, ranks {_RANKS} are the lagging ranks that caused this timeout"
)
_TIMEOUT = regex(
    r"\s{0,12}(?:- )?\[\d{1,7}\] Timeout at collective: (?P<operation>\w{1,40}), #(?P<number>\d{1,12})"
)
_MARKERS = (
    *("Heartbeat monitor timed out", "watchdog got stuck for", "dump signal", "timeout signal from"),
    *(
        "didn't join collective #",
        "didn't finish collective #",
        "are the lagging ranks",
        "Timeout at collective: ",
    ),
)


class _Signal(NamedTuple):
    name: SignalName
    origin: int | None


@dataclass(slots=True)
class _Told:
    """Who said it, and where first."""

    index: int
    ranks: set[int] = field(default_factory=set)
    writers: set[str] = field(default_factory=set)


def read(section: Section) -> Iterator[Reading]:
    """One fact for each signal over all ranks, and one for each rank that torch's comparison names."""
    signals: dict[_Signal, _Told] = {}
    desync: dict[tuple[int, Problem], Observed] = {}
    operations: dict[int, str] = {}
    for index, whole in section.matching(*_MARKERS):
        launched = without_launcher(after_progress(whole)[:4000])
        text = without_stamp(launched.text).text
        if (signal := _signal(text)) is not None:
            told = signals.setdefault(signal, _Told(index))
            rank = _rank(launched.rank, text)
            (told.ranks.add(rank) if rank is not None else told.writers.add(launched.process))
        elif (timeout := _TIMEOUT.match(text)) is not None:
            operations[int(timeout["number"])] = timeout["operation"]
        else:
            for fact in _desync(text, operations):
                if len(desync) < MOST_RANKS:
                    desync.setdefault((fact.rank, fact.problem), section.observe(fact, index))
    for signal, told in signals.items():
        yield section.observe(_fact(signal, told), told.index)
    yield from desync.values()
    whole_run = shows_start(section)
    for fact_type, found in ((WatchdogSignal, signals), (DesyncRank, desync)):
        if found or whole_run:
            yield section.looked(fact_type, complete=whole_run)


def _signal(text: str) -> _Signal | None:
    for name, form in _SIGNALS:
        match = form.match(text)
        if match is not None:
            origin = match["origin"] if "origin" in form.groupindex else None
            return _Signal(name, int(origin) if origin else None)
    return None


def _rank(launched: str | None, text: str) -> int | None:
    if launched is not None and launched.startswith("rank "):
        return int(launched.removeprefix("rank "))
    match = _BRACKET.search(text[:300])
    return int(match[1]) if match else None


def _desync(text: str, operations: dict[int, str]) -> Iterator[DesyncRank]:
    joined, never = _JOINED.match(text), _NEVER.match(text)
    if joined is not None:
        awaited = int(joined["awaited"])
        finished = int(joined["finished"]) if joined["finished"] else None
        problem: Problem = "not-finished" if finished is None else "not-joined"
        for rank in joined["ranks"].split(", "):
            yield DesyncRank(
                rank=int(rank),
                problem=problem,
                finished=finished,
                awaited=awaited,
                operation=operations.get(awaited),
            )
    elif never is not None:
        for rank in never["ranks"].split(", "):
            yield DesyncRank(rank=int(rank), problem="never-began")


def _fact(signal: _Signal, told: _Told) -> WatchdogSignal:
    named = ", ".join(map(str, sorted(told.ranks)[:MOST_NAMED]))
    return WatchdogSignal(
        signal=signal.name,
        origin_rank=signal.origin,
        ranks=len(told.ranks) or len(told.writers),
        ranks_named=named or None,
    )


READER = Reader("watchdog-signals", read, markers=(*_MARKERS, *START_MARKERS))
