"""Build locks that nobody holds: older than the run that waits for them, or with no compiler running."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.framework import StartMilestone
from kb.facts.progress import BuildLock, BuildProcesses, StaleLock

OLDER_S = 60
"""A lock that is older than the run by more than this was not made by it."""

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)")


def combine(facts: Facts) -> Iterator[Reading]:
    """StaleLock for each such lock, once however often it is listed."""
    began = _began(facts)
    processes = facts.of(BuildProcesses)
    running = max((process.count for process, _ in processes), default=None)
    locks: dict[str, tuple[BuildLock, Observed]] = {}
    for lock, observed in facts.of(BuildLock):
        if lock.path not in locks or lock.modified is not None:
            locks[lock.path] = (lock, observed)
    for lock, observed in locks.values():
        made_s = _seconds(lock.modified or "")
        older = began[0] - made_s if began is not None and made_s is not None else None
        if running == 0 or (running is None and older is not None and older > OLDER_S):
            fact = StaleLock(path=lock.path, module=lock.module, older_by_s=older, compilers_running=running)
            basis = [observed, *(told for _, told in processes[:1]), *([began[1]] if began and older else [])]
            yield derived(fact, basis)
    yield from looked_at(facts, StaleLock, BuildLock)


def _began(facts: Facts) -> tuple[int, Observed] | None:
    """The first stamp with a date of any start."""
    stamps = [(_seconds(milestone.time or ""), observed) for milestone, observed in facts.of(StartMilestone)]
    return min(((at, o) for at, o in stamps if at is not None), key=lambda one: one[0], default=None)


def _seconds(text: str) -> int | None:
    match = _STAMP.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups())
    return calendar.timegm((year, month, day, hour, minute, second)) if 1 <= month <= 12 else None
