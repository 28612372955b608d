"""Facts that cross files: one answer whichever source had it, joined identities, and disagreements.

Each module has a `combine(facts)`; what it yields rests on the facts it was made from (`Observed.basis`).
Pure, like the readers; may import `kb` only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar, cast

from kb.evidence import Looked, Observed, Reading
from kb.facts import Fact

F = TypeVar("F", bound=Fact)


class Facts:
    """All readings of one case, by type of fact."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._by_type: dict[type[Fact], list[Observed]] = defaultdict(list)
        self._looked: dict[str, list[Looked]] = defaultdict(list)
        for reading in readings:
            if isinstance(reading, Observed):
                self._by_type[type(reading.fact)].append(reading)
            elif isinstance(reading, Looked):
                self._looked[reading.kind].append(reading)

    def and_also(self, readings: Iterable[Reading]) -> Facts:
        """These, and what another combiner made of them."""
        both = Facts(readings)
        for fact_type, observed in self._by_type.items():
            both._by_type[fact_type] = observed + both._by_type[fact_type]
        for kind, looked in self._looked.items():
            both._looked[kind] = looked + both._looked[kind]
        return both

    def of(self, fact_type: type[F]) -> list[tuple[F, Observed]]:
        """The facts of a type, each with its observation, in the order in which they were read."""
        return [(cast("F", observed.fact), observed) for observed in self._by_type.get(fact_type, ())]

    def looked(self, *fact_types: type[Fact]) -> Looked | None:
        """A statement that facts of one of these types were looked for, complete if one of them was."""
        found = [looked for fact_type in fact_types for looked in self._looked.get(fact_type.kind, ())]
        return max(found, key=lambda looked: looked.complete, default=None)


def derived(fact: Fact, basis: Iterable[Observed]) -> Observed:
    """The fact, resting on those it was combined from; it cites the first of them."""
    parts = tuple(dict.fromkeys(basis))
    return Observed(fact, parts[0].source, parts)


def looked_at(facts: Facts, new: type[Fact], *origins: type[Fact]) -> list[Looked]:
    """That the combined kind was looked for as far as one of the kinds it comes from was."""
    statement = facts.looked(*origins)
    return [] if statement is None else [Looked(new.kind, statement.complete, statement.where, statement.reason)]
