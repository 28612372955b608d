"""The loop that a user goes round: evidence leaves rivals open, a test is advised, its outcome separates them.

A folder holds `evidence.txt` and, for each outcome of the advised test, `PROBE--CAUSE.txt`: with it beside the
evidence, that cause comes first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.explain import explain
from engine.result import Diagnosis

LOOPS = Path(__file__).parent / "loops"
OUTCOMES = sorted(LOOPS.glob("*/*--*.txt"))
MOST_ADVISED = 3
ACCUSES = 0.5


def name_of(outcome: Path) -> str:
    return f"{outcome.parent.name}::{outcome.stem}"


def diagnosed(*files: Path) -> Diagnosis:
    return explain([str(file) for file in files]).diagnosis


def test_there_are_at_least_eight_pairs():
    assert len({outcome.parent for outcome in OUTCOMES}) >= 8


@pytest.mark.parametrize("outcome", OUTCOMES, ids=name_of)
def test_the_outcome_of_a_test_separates_the_rivals(outcome: Path):
    cause = outcome.stem.split("--", 1)[1]
    diagnosis = diagnosed(outcome.parent / "evidence.txt", outcome)
    accused = {one.cause.cause for one in diagnosis.findings if one.confidence >= ACCUSES}

    assert diagnosis.findings[0].cause.cause == cause
    assert {one for one in accused if not one.startswith("state.")} <= {cause}


@pytest.mark.parametrize("outcome", OUTCOMES, ids=name_of)
def test_the_test_was_among_the_first_that_were_advised(outcome: Path):
    probe = outcome.stem.split("--", 1)[0]
    advised = diagnosed(outcome.parent / "evidence.txt").next_tests[:MOST_ADVISED]

    assert probe in {test.probe.id for test in advised}
