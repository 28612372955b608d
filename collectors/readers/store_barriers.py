"""Ranks that wait for others when torch sets a process group up, and how many the store has counted.

    INFO:root:Waiting in store based barrier to initialize process group for rank: 2, key: store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)
    Waiting in store based barrier to initialize process group for 10 seconds, rank: 0, key: store_based_barrier_key:1 (world_size=2, num_workers_joined=1, timeout=0:10:00 error: …)
    RuntimeError: Timed out initializing process group in store based barrier on rank: 1, for key: store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)

Follows PyTorch 1.7 to 2.14 (distributed_c10d.py). A rank says so every ten seconds; some such lines are no fault, so that
fewer than three of one rank give nothing, nor does a barrier that was passed in the end. Who is missing is told where
the log shows all that came. A store that counts more than there should be holds those of another job, of an earlier
start, or of a rank that came twice: stage `overfull`, from the first such line on, for that does not mend itself.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.collectives import RendezvousFailure

_WAITING = regex(
    r"(?:Waiting in|Timed out initializing process group in) store based barrier "
    r"(?:to initialize process group for (?:\d{1,9} seconds, )?|on )rank:? (?P<rank>\d{1,7}), "
    r"(?:for )?key: (?P<key>\S{1,80}) \(world_size=(?P<world>\d{1,7}), "
    r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,7}), "
    r"timeout=(?:(?P<days>\d{1,4}) days?, )?(?P<h>\d{1,3}):(?P<m>\d\d):(?P<s>\d\d)"
)
_PASSED = regex(r"Completed store-based barrier for (?:key: ?)?(?P<key>\S{1,80}?)(?::? with| ?\()")
_MARKS = ("store based barrier", "Completed store-based barrier")
_SECONDS_A_LINE = 10
_LEAST_LINES = 3
_MOST_NAMED = 64


@dataclass(slots=True)
class _Barrier:
    index: int
    world: int
    joined: int = 0
    timeout_s: int = 0
    timed_out: bool = False
    lines: Counter[int] = field(default_factory=Counter)


def read(section: Section) -> Iterator[Reading]:
    """One RendezvousFailure for each barrier that ranks waited at in vain."""
    barriers: dict[str, _Barrier] = {}
    for index, line in section.matching(*_MARKS):
        passed = _PASSED.search(line[:600])
        if passed is not None:
            barriers.pop(passed["key"], None)
            continue
        match = _WAITING.search(line[:600])
        if match is None:
            continue
        barrier = barriers.setdefault(match["key"], _Barrier(index, int(match["world"])))
        barrier.joined = max(barrier.joined, int(match["joined"]))
        barrier.timed_out = barrier.timed_out or match[0].startswith("Timed")
        days, hours, minutes, seconds = (int(match[name] or 0) for name in ("days", "h", "m", "s"))
        barrier.timeout_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        barrier.lines[int(match["rank"])] += 1
    for key, barrier in barriers.items():
        longest = max(barrier.lines.values())
        overfull = barrier.joined > barrier.world
        early = longest < _LEAST_LINES and not barrier.timed_out
        if barrier.joined == barrier.world or (early and not overfull):
            continue
        waited = barrier.timeout_s if barrier.timed_out else longest * _SECONDS_A_LINE
        fact = RendezvousFailure(
            stage="overfull" if overfull else "barrier",
            reason="timed-out" if barrier.timed_out else "other",
            joined=barrier.joined,
            expected=barrier.world,
            waited_s=float(waited),
            key=key,
            missing=None if overfull else _missing(barrier),
            count=barrier.lines.total(),
        )
        yield section.observe(fact, barrier.index)
        yield section.looked(RendezvousFailure, complete=False, reason="not-collected")


def _missing(barrier: _Barrier) -> str | None:
    """The ranks that did not come, where those that did are all here and are not just one."""
    absent = [str(rank) for rank in range(min(barrier.world, 100_000)) if rank not in barrier.lines]
    if barrier.joined < 2 or len(barrier.lines) != barrier.joined or len(absent) > _MOST_NAMED:
        return None
    return ", ".join(absent)


READER = Reader("store-barriers", read, markers=("in store based barrier",), lines=_MARKS)
