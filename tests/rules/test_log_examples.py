"""An example may be a pasted log: it is read as a file would be."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner, Result

from diagnose.rules_command import app
from diagnose.rules_examples import run_example
from diagnose.rules_new import PLAIN, draft
from kb.load import load_rules, parse_rules, shipped_rules
from kb.rule import Example

LEASE = """\
    log: |
      [rank3]: Traceback (most recent call last):
      [rank3]:   File "/srv/loader.py", line 88, in next_batch
      [rank3]: acme.SomeError: what its message says
"""
FACTS = "    facts:               # leave out"


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    """A draft whose first example is a log."""
    text = draft("acme.x", PLAIN)
    begin = text.index(FACTS)
    end = text.index("    expect: likely")
    path = tmp_path / "causes" / "acme" / "x.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text[:begin] + LEASE + text[end:])
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_log_gets_the_verdict_of_the_facts_in_it(rule: Path):
    assert run("test", rule).exit_code == 0
    rule.write_text(rule.read_text().replace("acme.SomeError", "acme.OtherError"))
    result = run("test", rule)

    assert result.exit_code == 1
    assert "FAILED acme.x: as it was seen\n  expected likely, got not-assessed" in result.stdout


def test_mutants_are_tried_on_it(rule: Path):
    assert "first-error: left out" not in run("test", rule, "--mutate").stdout


def test_a_log_of_which_nothing_is_read_is_a_fault_at_its_place(rule: Path):
    rule.write_text(rule.read_text().replace("acme.SomeError: ", ""))
    said = run("lint", rule).stdout
    line = next(n for n, text in enumerate(rule.read_text().splitlines(), 1) if "log: |" in text)

    assert said == f"{rule}:{line}:10: no reader knows a line of it; ask for one by `log_line: {{holds: …}}`\n"


def test_an_example_of_nothing_is_a_fault(rule: Path):
    rule.write_text(rule.read_text().replace(LEASE, ""))

    assert "expected `facts`, or `log: |` with a pasted text" in run("lint", rule).stdout


def test_what_a_log_does_not_show_is_not_taken_for_absent():
    """Unlike a kind that has a fact in an example."""
    cause = parse_rules(
        draft("acme.x", PLAIN).replace(
            "for:\n",
            "for:\n  nothing-else:\n    unless: {other: {process_error: "
            "{error: {not: SomeError}}}}\n    weight: weak\n    says: alone\n",
        ),
        "causes/acme/x.yaml",
    ).base.causes["acme.x"]
    log = dedent(LEASE.split("|\n")[1])
    stated = run_example(load_rules(shipped_rules()), cause, cause.examples[0])
    read = run_example(load_rules(shipped_rules()), cause, Example(name="x", log=log, expect="likely"))
    truths = [
        {line.clause: line.truth for line in one.finding.hypothesis.ledger}["nothing-else"]
        for one in (stated, read)
        if one.finding
    ]

    assert truths == ["true", "unknown"]


def test_what_a_pasted_log_lacks_is_proposed_as_facts(rule: Path):
    """The facts that are read from it, with one of them changed."""
    result = run("test", rule, "--mutate", "--propose")

    assert "- name: as it was seen, process_error with " in result.stdout
    assert "      - process_error: {rank: " in result.stdout
