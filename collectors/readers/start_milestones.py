"""The points of a start that each rank has passed, collected over a log of one framework. No reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kb.evidence import Observed, Section
from kb.facts.framework import Framework, Milestone, StartMilestone

MOST_RANKS = 20_000


@dataclass(frozen=True, slots=True)
class Passed:
    """One rank passed one point, at one line."""

    rank: str | None
    milestone: Milestone
    index: int
    time: str | None


class Milestones:
    """The milestones of one run. A point passed again counts once, an end only after its last begin."""

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self._first: dict[tuple[str | None, Milestone], Passed] = {}
        self._last: dict[tuple[str | None, Milestone], Passed] = {}

    def __bool__(self) -> bool:
        return bool(self._first)

    def add(self, passed: Passed) -> None:
        """Adds one passed point."""
        key = (passed.rank, passed.milestone)
        if key in self._first or len(self._first) < MOST_RANKS:
            self._first.setdefault(key, passed)
            self._last[key] = passed

    def observed(self, section: Section) -> Iterator[Observed]:
        """One fact for each rank and point, in the order in which they were passed."""
        for (rank, milestone), first in self._first.items():
            shown = first
            if milestone.endswith("-end"):
                shown = self._last[rank, milestone]
                begun = self._last.get((rank, _begin_of(milestone)))
                if begun is not None and begun.index > shown.index:  # begun anew, as for a draft model
                    continue
            fact = StartMilestone(framework=self.framework, milestone=milestone, rank=rank, time=shown.time)
            yield section.observe(fact, shown.index)


def _begin_of(milestone: Milestone) -> Milestone:
    begins: dict[Milestone, Milestone] = {
        "distributed-end": "distributed-begin",
        "weights-end": "weights-begin",
        "capture-end": "capture-begin",
        "compile-end": "compile-begin",
    }
    return begins[milestone]
