"""The collective that each rank was in when a watchdog or a fingerprint check spoke up.

    [rank3]:[E131 12:10:00.1 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(
    SeqNum=50, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600032 milliseconds
    … Rank 1 is running inconsistent collective: CollectiveFingerPrint(OpType=ALLGATHER, TensorShape=[40, 256, 8]

Follows PyTorch 1.8 to 2.14 (c10d/ProcessGroupNCCL.cpp, ProcessGroupWrapper.cpp). One fact a rank and way of
reporting: the first collective that it named. A cut line gives the rank and what still stands in it.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher
from collectors.readers.run_start import START_MARKERS, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.framework import RankCollective

MOST_RANKS = 20_000

_TIMEOUT = regex(
    r"\[(?:[^\]]{0,80} )?Rank (?P<rank>\d{1,7})\] Watchdog caught collective operation timeout: "
    r"WorkNCCL\((?:SeqNum=(?P<sequence>\d{1,12}), )?OpType=(?P<operation>\w{1,40})"
    r"(?P<rest>[^)]{0,200}(?:\)=\d{1,12})?)"
)
_COMPLETED = regex(
    r"\[(?:[^\]]{0,80} )?Rank (?P<rank>\d{1,7})\] .{0,400}?last completed (?:NCCL )?work: (?P<last>-?\d{1,12})"
)
_GROUP = regex(r"\[PG (?:ID \d{1,6} PG GUID )?(?P<id>[\w-]{1,40}) ?(?:\((?P<name>[^)]{1,60})\) )?Rank \d{1,7}\]")
_WORK = regex(r"(?:at|in)(?: NCCL)? work(?: sequence id)?: (?P<work>\d{1,12})\b")
_FINGERPRINT = regex(
    r"Rank (?P<rank>\d{1,7}) is running (?:inconsistent )?collective: CollectiveFingerPrint\("
    r"(?:SequenceNumber=(?P<sequence>\d{1,12}), )?OpType=(?P<operation>\w{1,40})"
    r"(?:, TensorShape ?=(?P<shape>\[[\d, ]{0,80}\]))?"
)
_ELEMENTS = regex(r"NumelIn=(\d{1,15})")
_LIMIT = regex(r"Timeout\(ms\)=(\d{1,12})")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each rank that a watchdog names, and for each that a fingerprint check names."""
    timeouts: dict[int, tuple[re.Match[str], int]] = {}
    completed: dict[int, int] = {}
    groups: dict[tuple[int, int], tuple[str, int | None]] = {}
    prints: dict[int, tuple[RankCollective, int, int]] = {}
    for index, whole in section.matching("Watchdog caught", "last completed ", "CollectiveFingerPrint("):
        line = after_progress(whole)
        own = _launched_rank(line)
        timeout, last = _TIMEOUT.search(line), _COMPLETED.search(line)
        if timeout is not None and len(timeouts) < MOST_RANKS:
            timeouts.setdefault(int(timeout["rank"]) if own is None else own, (timeout, index))
        if last is not None:
            completed.setdefault(int(last["rank"]) if own is None else own, int(last["last"]))
        _note_group(groups, line, own, timeout, last)
        for fact, end in _fingerprints(section, index, line):
            prints.setdefault(fact.rank, (fact, index, end))
    for rank, (match, index) in timeouts.items():
        group, of_group = groups.get((rank, int(match["sequence"] or -1)), (None, None))
        last_of_rank = completed.get(rank) if of_group is None else of_group
        yield section.observe(_timed_out(rank, match, last_of_rank, group), index)
    for fact, index, end in prints.values():
        yield section.observe(fact, index, end)
    whole_run = shows_start(section)
    if timeouts or prints or whole_run:
        yield section.looked(RankCollective, complete=whole_run)


def _launched_rank(line: str) -> int | None:
    """The rank that torchrun marks the line with; in a smaller process group `[Rank 1]` is the number there."""
    rank = without_launcher(line[:200]).rank
    return int(rank.removeprefix("rank ")) if rank is not None and rank.startswith("rank ") else None


def _note_group(
    groups: dict[tuple[int, int], tuple[str, int | None]],
    line: str,
    own: int | None,
    timeout: re.Match[str] | None,
    last: re.Match[str] | None,
) -> None:
    """Remembers to which process group a rank's collective belongs, where the line says both."""
    group, told = _GROUP.search(line), timeout or last
    work = _WORK.search(line)
    sequence = timeout["sequence"] if timeout is not None else work["work"] if work is not None else None
    if group is None or told is None or sequence is None:
        return
    name = f"{group['id']} ({group['name']})" if group["name"] else group["id"]
    key = (int(told["rank"]) if own is None else own, int(sequence))
    known = groups.get(key)
    completed = int(last["last"]) if last is not None else None
    groups[key] = (name, completed if known is None or known[1] is None else known[1])


def _timed_out(rank: int, match: re.Match[str], completed: int | None, group: str | None) -> RankCollective:
    elements = _ELEMENTS.search(match["rest"])
    limit = _LIMIT.search(match["rest"])
    return RankCollective(
        rank=rank,
        operation=match["operation"],
        sequence=int(match["sequence"]) if match["sequence"] else None,
        elements=int(elements[1]) if elements else None,
        timeout_ms=int(limit[1]) if limit else None,
        last_completed=completed,
        group=group,
    )


def _fingerprints(section: Section, index: int, line: str) -> Iterator[tuple[RankCollective, int]]:
    """All ranks that the line names; users' terminals break it before the shape, so the next line is looked at."""
    if "CollectiveFingerPrint(" not in line:
        return
    end = index
    if line.rstrip().endswith("TensorShape") and index + 1 < len(section.lines):
        end = index + 1
        line = f"{line.rstrip()}{section.lines[end][:400].lstrip()}"
    for match in _FINGERPRINT.finditer(line):
        fact = RankCollective(
            rank=int(match["rank"]),
            operation=match["operation"],
            sequence=int(match["sequence"]) if match["sequence"] else None,
            shape=match["shape"],
            reported_by="fingerprint",
        )
        yield fact, end


READER = Reader(
    "rank-collectives",
    read,
    markers=("Watchdog caught collective operation timeout", "CollectiveFingerPrint(", *START_MARKERS),
)
