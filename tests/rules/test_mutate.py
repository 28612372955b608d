"""Mutants of a rule: what no example notices is listed, and what one notices is not."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from diagnose.rules_command import app
from diagnose.rules_mutate import mutants, survivors
from diagnose.rules_propose import proposals
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
    return [
        one.change for one in survivors(RuleBase(causes={cause.cause: cause}, symptoms={}, probes={}), cause)[0]
    ]


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


def test_a_test_that_requires_makes_already_is_not_left_out():
    """Such a mutant is the same rule: nothing could notice it. Nor is `known` beside a test of the same field."""
    cause = rule()
    here, anywhere = {"it": {"port_conflict": {"port": 80}}}, {"it": {"port_conflict": {}}}
    again = {"when": {"it": {"port_conflict": {"port": [80]}}}, "weight": "strong", "says": "s"}
    known = {"when": {"it": {"port_conflict": {"port": {"known": True, "ge": 3}}}}, "weight": "weak", "says": "s"}
    fields = cause.model_dump(exclude={"for_", "against", "requires", "remedies", "examples"})

    changes = [
        [one.change for one in mutants(Cause.model_validate({**fields, **update}))]
        for update in (
            {"requires": here, "for": {"seen": again}},
            {"requires": anywhere, "for": {"seen": known}},
        )
    ]

    assert "seen: when it.port not tested" not in changes[0]
    assert "seen: when it.port not instead of is" in changes[0]
    assert [one for one in changes[1] if "not tested" in one] == ["seen: when it.port not tested"]


def test_the_example_that_would_notice_the_rest_is_proposed_with_its_verdict():
    """It can be pasted as it is."""
    cause = rule(example(80, "confirmed"))
    base = RuleBase(causes={cause.cause: cause}, symptoms={}, probes={})
    (proposal,) = proposals(base, cause, survivors(base, cause)[0])
    better = cause.model_copy(update={"examples": (*cause.examples, proposal.example)})

    assert proposal.example.expect == "unlikely"
    assert proposal.notices == ("seen: when it.port not tested",)
    assert next(iter(proposal.lines())) == "- name: port 80, port_conflict with port 0"
    assert survivors(base, better)[0] == []


def test_the_command_lists_what_is_not_noticed_and_the_share_of_what_is():
    result = CliRunner().invoke(app, ["test", "--mutate", "rules/causes/net/port-conflict.yaml"])

    assert result.exit_code == 0
    assert "net.port-conflict: " in result.stdout
    assert "changes are noticed" in result.stdout
    assert "% noticed" in result.stderr
