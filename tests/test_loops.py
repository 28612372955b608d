"""The loop that a user goes round: evidence leaves rivals open, a test is advised, its outcome separates them.

A folder is a set of rivals. It holds `evidence.txt` and, in a folder for each outcome, named after the cause that
then comes first, what the advised tests wrote: `1-PROBE.txt`, and `2-PROBE.txt` where one test leads to another. A
file `PROBE.sh` beside the evidence holds the advised commands as the facts must fill them in.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.explain import explain
from engine.result import Diagnosis

LOOPS = Path(__file__).parent / "loops"
OUTCOMES = sorted(path for path in LOOPS.glob("*/*") if path.is_dir())
COMMANDS = sorted(LOOPS.glob("*/*.sh"))
MOST_ADVISED = 3
ACCUSES = 0.5


def name_of(path: Path) -> str:
    return f"{path.parent.name}::{path.stem if path.is_file() else path.name}"


def steps(outcome: Path) -> list[Path]:
    return sorted(outcome.iterdir())


def diagnosed(*files: Path) -> Diagnosis:
    return explain([str(file) for file in files]).diagnosis


def accused(diagnosis: Diagnosis) -> set[str]:
    sure = [one for one in diagnosis.findings if one.confidence >= ACCUSES]
    return {one.cause.cause for one in sure if one.cause.kind == "fault"}


def test_there_are_at_least_eight_sets_of_rivals():
    assert len({outcome.parent for outcome in OUTCOMES}) >= 8


@pytest.mark.parametrize("outcome", OUTCOMES, ids=name_of)
def test_the_outcome_of_a_test_separates_the_rivals(outcome: Path):
    cause = outcome.name
    diagnosis = diagnosed(outcome.parent / "evidence.txt", *steps(outcome))

    assert diagnosis.findings[0].cause.cause == cause
    assert accused(diagnosis) <= {cause}


@pytest.mark.parametrize("outcome", OUTCOMES, ids=name_of)
def test_each_test_was_among_the_first_that_were_advised(outcome: Path):
    known = [outcome.parent / "evidence.txt"]
    for step in steps(outcome):
        probe = step.stem.split("-", 1)[1]
        advised = [test.probe.id for test in diagnosed(*known).next_tests[:MOST_ADVISED]]
        assert probe in advised
        known.append(step)


@pytest.mark.parametrize("command", COMMANDS, ids=name_of)
def test_the_facts_fill_in_what_is_to_be_run(command: Path):
    tests = diagnosed(command.parent / "evidence.txt").next_tests
    found = {test.probe.id: test.commands for test in tests}

    assert "\n".join(found[command.stem]) + "\n" == command.read_text()
