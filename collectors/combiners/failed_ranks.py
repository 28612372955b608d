"""The same error of several ranks as one fact: what others report is asked of each of thousands of ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.framework import FailedRanks, ProcessError

MOST_NAMED = 3
"""So many ranks are named; of more, their number is told."""
MOST_CITED = 8
"""An error of a thousand ranks is proved by a few of its lines."""


def combine(facts: Facts) -> Iterator[Reading]:
    """FailedRanks for each error that ranks report, in the order in which they were read."""
    groups: dict[tuple[str, str, bool], dict[str, Observed]] = defaultdict(dict)
    for error, observed in facts.of(ProcessError):
        if error.rank is not None:
            groups[error.error, error.class_, error.consequence].setdefault(error.rank, observed)
    for (name, class_, consequence), ranks in groups.items():
        first, *others = ranks
        named = ", ".join([first, *others][:MOST_NAMED])
        fact = FailedRanks.model_validate(
            {
                "error": name,
                "class": class_,
                "consequence": consequence,
                "ranks": len(ranks),
                "rank": first if not others else None,
                "named": named if len(ranks) <= MOST_NAMED else f"{named} and {len(ranks) - MOST_NAMED} more",
            }
        )
        yield derived(fact, list(ranks.values())[:MOST_CITED])
    yield from looked_at(facts, FailedRanks, ProcessError)
