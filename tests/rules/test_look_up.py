"""What rules may speak of can be looked up on the command line, and a rule be seen as it is written."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from collectors.readers import readers
from diagnose.rules_command import app
from kb.facts import fact_types
from kb.load import load_rules, shipped_rules


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def ids(sort: str) -> set[str]:
    return {row["id"] for row in json.loads(run("vocabulary", sort, "--format", "json").stdout)[sort]}


def test_each_symptom_fact_kind_probe_and_reader_is_listed():
    base = load_rules(shipped_rules())

    assert ids("symptoms") == set(base.symptoms)
    assert ids("facts") == set(fact_types())
    assert ids("probes") == set(base.probes)
    assert ids("readers") == {one.name for one in readers()}


def test_a_line_of_the_list_begins_with_the_id_and_says_what_it_is():
    lines = run("vocabulary", "symptoms").stdout.splitlines()

    assert "process-failed" in [line.split()[0] for line in lines]
    assert all(len(line.split()) > 1 for line in lines)


def test_a_kind_of_fact_is_shown_field_by_field():
    shown = run("vocabulary", "facts", "slurm_error").stdout

    assert "  node: a text (may be unknown)\n" in shown
    assert "  count: a whole number (1 where nothing else is said)\n" in shown
    assert "  class: one of gres-missing, " in shown


def test_a_symptom_is_shown_with_the_causes_that_explain_it():
    assert "net.port-conflict" in run("vocabulary", "symptoms", "address-in-use").stdout


def test_a_misspelt_name_is_told_with_the_nearest_one():
    result = run("vocabulary", "facts", "proces_error")

    assert result.exit_code == 2
    assert result.stderr == "none of the facts is named `proces_error`; did you mean `process_error`?\n"


@pytest.mark.parametrize(
    ("name", "file"),
    [("net.port-conflict", "causes/net/port-conflict.yaml"), ("process-failed", "symptoms/process-failed.yaml")],
)
def test_a_rule_is_printed_as_it_stands_in_its_file(name: str, file: str):
    assert run("show", name, "--yaml").stdout == (shipped_rules() / file).read_text(encoding="utf-8")
