"""The rules of this program: every file is sound, and every example ends as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.rules_examples import run_example
from kb.check import check
from kb.load import LoadedRules, read_rules, shipped_rules
from kb.rule import Cause, Example

LOADED: LoadedRules = read_rules(shipped_rules())
FAULTS = check(LOADED)


def files() -> list[Path]:
    """Every YAML file among the rules, whether it is read or not."""
    return sorted(shipped_rules().rglob("*.y*ml"))


def examples() -> list[object]:
    """Each example of each cause under a name of its own."""
    return [
        pytest.param(located.item, example, id=f"{located.id}::{example.name}")
        for located in LOADED.of(Cause)
        for example in located.item.examples
    ]


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(shipped_rules())))
def test_a_rule_file_passes_all_checks(file: Path) -> None:
    """No check finds a fault in it, and none is left out for it."""
    assert [str(error) for error in FAULTS if error.place.path == str(file)] == []


def test_no_fault_lies_elsewhere() -> None:
    """All faults belong to a file that was asked about above."""
    assert {error.place.path for error in FAULTS} <= set(map(str, files()))


@pytest.mark.parametrize(("cause", "example"), examples())
def test_an_example_ends_as_it_says(cause: Cause, example: Example) -> None:
    """The verdict, the probes that are asked for, and the words of the ledger."""
    run = run_example(LOADED.base, cause, example)

    assert run.faults == [], "\n".join(run.ledger())
