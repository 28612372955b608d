"""Work that was seen to go on while other ranks waited for it until their limit was over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.collectives import RendezvousFailure
from kb.facts.framework import RankCollective, StartMilestone
from kb.facts.progress import LongWork, Progress

DEFAULT_LIMIT_S = 1800
"""What torch's older stores wait where their message names no time."""
KNOWN_SHARE_PERCENT = 50
"""Of the limit: bars that follow each other share one wait, so that the last one alone may be shorter."""
UNKNOWN_SHARE_PERCENT = range(90, 116)
"""Of the limit: a bar that names nothing is that work only where it began as the wait did."""

_WAITS = frozenset(("store-key", "clients", "barrier"))
_EVALUATION = re.compile(r"(?i)eval|valid|predict|infer|generat|test")


def combine(facts: Facts) -> Iterator[Reading]:
    """LongWork for each activity that had lasted about as long as the shortest wait, and was not over then."""
    limit_s, waited = _limit(facts) or (0, None)
    trained = _trained(facts)
    for work, observed in facts.of(Progress) if waited is not None else ():
        over = observed.source.line < trained.get(observed.source.path, 0)
        if not over and work.elapsed_s is not None and _outlasts(work, work.elapsed_s, limit_s):
            fact = LongWork(
                activity=work.activity,
                what=work.what,
                rank=work.rank,
                done=work.done,
                elapsed_s=work.elapsed_s,
                remaining_s=work.remaining_s,
                limit_s=limit_s,
            )
            yield derived(fact, [observed, waited] if waited else [observed])
    yield from looked_at(facts, LongWork, Progress)


def _limit(facts: Facts) -> tuple[int, Observed] | None:
    limits = [(one.timeout_ms // 1000, o) for one, o in facts.of(RankCollective) if one.timeout_ms]
    for failure, observed in facts.of(RendezvousFailure):
        if failure.stage in _WAITS and failure.reason == "timed-out":
            limits.append((round(failure.waited_s or DEFAULT_LIMIT_S), observed))
    return min(limits, key=lambda one: one[0], default=None)


def _trained(facts: Facts) -> dict[str, int]:
    """By file the last line that shows a training: what preceded it is over, whatever its bar last said."""
    last: dict[str, int] = {}
    steps = [o for work, o in facts.of(Progress) if work.activity == "train" and not _EVALUATION.search(work.what)]
    steps += [o for point, o in facts.of(StartMilestone) if point.milestone == "training"]
    for observed in steps:
        last[observed.source.path] = max(last.get(observed.source.path, 0), observed.source.line)
    return last


def _outlasts(work: Progress, elapsed_s: int, limit_s: int) -> bool:
    share = 100 * elapsed_s // max(limit_s, 1)
    if work.state != "advancing":
        return False
    if work.activity == "train" and not _EVALUATION.search(work.what):
        return False
    if work.activity == "other":
        return share in UNKNOWN_SHARE_PERCENT
    return share >= KNOWN_SHARE_PERCENT
