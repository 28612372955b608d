"""Mutants of a rule: what no example notices is listed, and what one notices is not."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from diagnose.rules_command import app
from diagnose.rules_mutate import mutants, survivors
from kb.rule import Cause, RuleBase

PORT: dict[str, Any] = {"it": {"port_conflict": {"port": 80}}}


def rule(*examples: dict[str, Any], weight: str = "conclusive") -> Cause:
    return Cause.model_validate(
        {
            "cause": "net.port-conflict",
            "title": "t",
            "status": "stable",
            "prior": "common",
            "because": "b",
            "requires": {"it": {"port_conflict": {}}},
            "for": {"seen": {"when": PORT, "weight": weight, "says": "s"}},
            "examples": list(examples),
        }
    )


def alive(cause: Cause) -> list[str]:
    return survivors(RuleBase(causes={cause.cause: cause}, symptoms={}, probes={}), cause)[0]


def example(port: int, expect: str) -> dict[str, Any]:
    return {"name": f"port {port}", "facts": [{"port_conflict": {"port": port}}], "expect": expect}


def test_each_change_is_made_once():
    assert [one.change for one in mutants(rule())] == [
        "seen: left out",
        "seen: strong instead of conclusive",
        "seen: when it.port not instead of is",
        "seen: when it.port not tested",
        "seen: moved to the other side",
    ]


def test_without_examples_nothing_is_noticed():
    assert len(alive(rule())) == 5


def test_an_example_on_each_side_notices_every_change():
    assert alive(rule(example(80, "confirmed"), example(81, "unlikely"))) == []


def test_a_test_that_no_example_fails_is_listed():
    assert alive(rule(example(80, "confirmed"))) == ["seen: when it.port not tested"]


def test_the_command_lists_what_is_not_noticed_and_the_share_of_what_is():
    result = CliRunner().invoke(app, ["test", "--mutate", "rules/causes/net/port-conflict.yaml"])

    assert result.exit_code == 0
    assert "net.port-conflict: " in result.stdout
    assert "changes are noticed" in result.stdout
    assert "% noticed" in result.stderr
