"""Facts that cross files: runs the combiners whose kinds of facts were read."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.combiners import Facts
from collectors.index import Combiner, known_combiners
from kb.evidence import Looked, Observed, Reading, Unread


def combine(readings: Sequence[Reading]) -> list[Reading]:
    """What the facts say together. The result holds only what is new."""
    facts = Facts(readings)
    kinds = {reading.fact.kind for reading in readings if isinstance(reading, Observed)}
    kinds |= {reading.kind for reading in readings if isinstance(reading, Looked)}
    wanted = [one for one in known_combiners() if kinds & one.kinds]
    return [reading for combiner in wanted for reading in _combined(combiner, facts)]


def _combined(combiner: Combiner, facts: Facts) -> list[Reading]:
    """What one combiner finds. A defect of it must not take the words of all others with it."""
    try:
        return list(combiner.combine(facts))
    except Exception as error:  # noqa: BLE001
        why = f"combining failed ({type(error).__name__}: {error}); please report it"
        return [Unread(combiner.name, "unreadable", " ".join(why.split()))]
