"""Batch jobs with more machines than tasks."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.framework import LaunchArgument
from kb.facts.launch import AnnouncedRanks, LaunchConflict


def given(name: str, value: str) -> LaunchArgument:
    return LaunchArgument(framework="slurm", name=name, value=value, origin="script")


@pytest.mark.parametrize(
    ("nodes", "tasks", "missing", "found"),
    [
        ("2", "1", "4, 5, 6, 7", ["1"]),
        ("2", "2", "4, 5, 6, 7", []),  # torchrun on each
        ("2", "1", None, []),
        ("1", "1", "4, 5, 6, 7", []),
    ],
)
def test_fewer_tasks_than_nodes(nodes: str, tasks: str, missing: str | None, found: list[str]) -> None:
    """They differ where ranks are missing, and some machines have no task."""
    ranks = AnnouncedRanks(framework="lightning", world_size=8, ranks=4, announcements=4, missing=missing)
    conflicts = combined(LaunchConflict, given("nnodes", nodes), given("num_processes", tasks), ranks)
    assert [one.value for one in conflicts] == found
