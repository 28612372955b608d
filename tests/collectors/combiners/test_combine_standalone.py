"""A launch that is told to stay alone, and counts on other machines."""

from __future__ import annotations

import pytest
from combining import at, combined

from kb.facts.collectives import RendezvousFailure
from kb.facts.framework import LaunchArgument
from kb.facts.launch import LaunchConflict

WAITED = RendezvousFailure(stage="agent-join", reason="timed-out")
CASES = {
    "two machines": ([{"standalone": "true", "nnodes": "2"}], False, True),
    "a number that is not told, and waits in vain": ([{"standalone": "true"}], True, True),
    "a number that is not told": ([{"standalone": "true"}], False, False),
    "one machine": ([{"standalone": "true", "nnodes": "1"}], True, False),
    "one machine at least": ([{"standalone": "true", "nnodes": "1:4"}], True, False),
    "another launch may be the one that waits": ([{"standalone": "true"}, {"nnodes": "2"}], True, False),
    "not alone": ([{"nnodes": "2"}], True, False),
}


@pytest.mark.parametrize(("launches", "waits", "wrong"), CASES.values(), ids=CASES)
def test_alone_and_yet_waiting_for_others(launches, waits, wrong):
    """Only where machines are named, or the agent waited, and no other launch may be meant."""
    arguments = [
        at(LaunchArgument(framework="torch", name=name, value=value, origin="command"), "run.sh", line)
        for line, launch in enumerate(launches, 1)
        for name, value in launch.items()
    ]

    found = combined(LaunchConflict, *arguments, *([WAITED] if waits else []))

    assert [one.name for one in found] == (["standalone"] if wrong else [])
