"""The page of the rule language names everything that the code knows, and nothing in it has gone stale."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from engine.cover import stated
from kb.check import check
from kb.load import parse_rules
from kb.packs import PackFile
from kb.pattern import Operator, parse_patterns
from kb.rule import (
    DECIBANS,
    PRIORS,
    Cause,
    Changes,
    Clause,
    Disruption,
    Example,
    Filling,
    Probe,
    Remedy,
    Risk,
    Status,
    SymptomRule,
    Verdict,
)
from kb.strict_yaml import read_yaml

MINUS = "\N{MINUS SIGN}"
PAGE = (Path(__file__).parents[2] / "docs" / "rule-language.md").read_text(encoding="utf-8")
SECTIONS: dict[str, type[BaseModel]] = {
    "A cause": Cause,
    "A clause": Clause,
    "A remedy": Remedy,
    "An example": Example,
    "A symptom": SymptomRule,
    "A probe": Probe,
    "Changing a shipped rule": Changes,
    "A pack": PackFile,
}
ROW = re.compile(r"^\| `(?P<key>[a-z_]+)` \| (?P<does>.+?) \| (?P<last>.*?) \|$", re.MULTILINE)


def section(title: str) -> str:
    """The text under a heading, up to the next one."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[tuple[str, str, str]]:
    return [(row["key"], row["does"], row["last"]) for row in ROW.finditer(section(title))]


def keys(model: type[BaseModel]) -> list[str]:
    """The keys of a model as authors write them; the name of a clause is its key and no field of it."""
    return [
        info.alias or name for name, info in model.model_fields.items() if not (model is Clause and name == "name")
    ]


@pytest.mark.parametrize("title", SECTIONS)
def test_each_key_of_a_part_has_a_row_in_its_table_and_no_row_is_of_a_key_that_is_gone(title: str):
    assert sorted(key for key, *_ in rows(title)) == sorted(keys(SECTIONS[title]))


@pytest.mark.parametrize("title", SECTIONS)
def test_a_row_says_that_a_key_must_be_there_exactly_where_it_must(title: str):
    required = {info.alias or name for name, info in SECTIONS[title].model_fields.items() if info.is_required()}
    if SECTIONS[title] is Clause:
        required -= {"name"}

    assert {key for key, _, last in rows(title) if last == "must be there"} == required


def test_the_keys_of_what_fills_in_a_probe_are_named():
    assert [key for key in keys(Filling) if f"`{key}`" not in section("A probe")] == []


def test_each_operator_has_a_row_and_an_example_that_uses_it_and_passes_the_checks():
    """Nobody learns a test here that the checks refuse."""
    shown = [(key, last.strip("`")) for key, _, last in rows("Patterns")]
    used = [(key, parse_patterns(read_yaml(f"it: {text}", "x")[0].value)[0].tests) for key, text in shown]
    rules = [
        f"symptom: x\ntitle: t\nsays: s\nwhen: {{module: {{kernel_module: {{}}}}, it: {text}}}"
        for _, text in shown
    ]
    faults = [str(fault) for rule in rules for fault in check(parse_rules(rule, "x.yaml"))]

    assert {key for key, _ in shown} == set(get_args(Operator))
    assert [(key, tests) for key, tests in used if key not in {test.op for test in tests}] == []
    assert [fault for fault in faults if "no cause explains" not in fault] == []


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("A cause", [*get_args(Status), *PRIORS]),
        ("A clause", [*DECIBANS, "conclusive"]),
        ("A remedy", [*get_args(Disruption), *get_args(Risk)]),
        ("An example", get_args(Verdict)),
        ("From clauses to a verdict", get_args(Verdict)),
    ],
)
def test_each_word_that_a_key_takes_is_named(title: str, words: list[str]):
    assert [word for word in words if f"`{word}`" not in section(title)] == []


def test_the_numbers_beside_the_words_are_those_that_count():
    assert all(f"`{word}` {number}" in section("A clause") for word, number in DECIBANS.items())
    assert all(f"`{word}` {MINUS}{-number}" in section("A cause") for word, number in PRIORS.items())


def test_the_confidence_of_each_sum_is_the_one_that_is_shown():
    told = re.findall(rf"^\| ([+{MINUS}]?\d+) \| `(likely|possible)` \| ([\d.]+) \|", PAGE, re.MULTILINE)

    assert len(told) == 4
    assert [float(said) for *_, said in told] == [
        round(stated(verdict, int(score.replace(MINUS, "-"))), 2) for score, verdict, _ in told
    ]


CAUSE = """\
cause: acme.x
title: t
status: experimental
prior: common
because: b
requires: {bind: {port_conflict: {}}}
"""
FRAGMENTS = re.findall(r"```yaml\n((?:for|examples):.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda text: text.split(":")[0])
def test_each_fragment_can_stand_in_a_rule(fragment: str):
    """Keys, kinds and fields in it are right; what a fragment lacks to be a rule is not held against it."""
    faults = check(parse_rules(CAUSE + fragment, "causes/acme/x.yaml"))

    assert [str(one) for one in faults if "`" in one.message and "probe" not in one.message] == []


def test_there_is_a_fragment_of_clauses_and_there_are_two_of_examples():
    assert [text.split(":")[0] for text in FRAGMENTS] == ["for", "examples", "examples"]
