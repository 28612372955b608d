"""Answers of a model with the framework's own all-reduce and without it."""

from __future__ import annotations

import pytest
from combining import at, combined

from kb.facts.framework import LaunchArgument
from kb.facts.model import ModelAnswer
from kb.facts.trials import Trial


def start(line: int, *, off: bool, path: str = "serve.log") -> object:
    """A start with or without it."""
    value = "True" if off else "False"
    return at(LaunchArgument(framework="vllm", name="disable_custom_all_reduce", value=value), path, line)


def answer(line: int, *, garbled: bool, path: str = "serve.log") -> object:
    """An answer below it."""
    return at(ModelAnswer(garbled=garbled, unit="!" if garbled else None), path, line)


WITH, WITHOUT = start(1, off=False), start(5, off=True)
LOGS = {
    "garbled with it, right without": ([WITH, answer(2, garbled=True), WITHOUT, answer(6, garbled=False)], 1),
    "the other way round in time": (
        [start(1, off=True), answer(2, garbled=False), start(5, off=False), answer(6, garbled=True)],
        1,
    ),
    "garbled without it, too": ([WITH, answer(2, garbled=True), WITHOUT, answer(6, garbled=True)], 0),
    "right with it, too": ([WITH, answer(2, garbled=False), WITHOUT, answer(6, garbled=False)], 0),
    "right with it, garbled without": ([WITH, answer(2, garbled=False), WITHOUT, answer(6, garbled=True)], 0),
    "an answer above every start": ([answer(1, garbled=True), WITHOUT, answer(6, garbled=False)], 0),
    "answers of another file": (
        [WITH, answer(2, garbled=True, path="x"), WITHOUT, answer(6, garbled=False, path="x")],
        0,
    ),
}


@pytest.mark.parametrize(("log", "trials"), LOGS.values(), ids=LOGS)
def test_answers_of_two_starts_are_compared(log, trials):
    """Each belongs to the start above it; only a change from nonsense to sense is a trial."""
    assert combined(Trial, *log) == [Trial(change="custom-all-reduce-off")] * trials
