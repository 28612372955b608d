"""Answers of a model before and after one change of how it is served, in one log."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Observed, Reading
from kb.facts.framework import LaunchArgument
from kb.facts.model import ModelAnswer
from kb.facts.trials import Trial

_OFF = "disable_custom_all_reduce"


def combine(facts: Facts) -> Iterator[Reading]:
    """A Trial, where answers make sense without the framework's own all-reduce and were garbled with it.

    Each answer belongs to the start that precedes it in its file; one without any such start is not compared.
    """
    starts = [(one.value.lower() == "true", seen) for one, seen in facts.of(LaunchArgument) if one.name == _OFF]
    garbled: list[Observed] = []
    right: list[Observed] = []
    for answer, seen in facts.of(ModelAnswer):
        start = _before(starts, seen)
        if start is not None and answer.garbled != start[0]:
            (garbled if answer.garbled else right).append(seen)
    if garbled and right:
        yield derived(Trial(change="custom-all-reduce-off"), [right[0], garbled[0]])


def _before(starts: list[tuple[bool, Observed]], seen: Observed) -> tuple[bool, Observed] | None:
    here = [
        one for one in starts if one[1].source.path == seen.source.path and one[1].source.line < seen.source.line
    ]
    return max(here, key=lambda one: one[1].source.line, default=None)
