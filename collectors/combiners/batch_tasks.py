"""Batch jobs that ask for several machines, and for a task on some of them alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from collectors.combiners import Facts, derived
from collectors.combiners.start import is_size
from kb.evidence import Observed, Reading
from kb.facts.framework import LaunchArgument
from kb.facts.launch import AnnouncedRanks, LaunchConflict


def combine(facts: Facts) -> Iterator[Reading]:
    """LaunchConflict where a script's tasks can't be on all of its machines, and ranks are missing.

    Most frameworks start the processes of their own machine alone: the others' are started by nobody.
    """
    missing = [(ranks, o) for ranks, o in facts.of(AnnouncedRanks) if ranks.missing and ranks.world_size]
    for script in _scripts(facts).values() if missing else ():
        nodes, tasks = script.get("nnodes"), script.get("num_processes")
        if nodes is None or tasks is None or tasks[0] >= nodes[0]:
            continue
        ranks, announced = missing[0]
        fact = LaunchConflict(
            problem="slurm-tasks-differ",
            name="ntasks",
            value=str(tasks[0]),
            expected=ranks.world_size,
            found=tasks[0],
            nodes=nodes[0],
        )
        yield derived(fact, [tasks[1], nodes[1], announced])
        break


def _scripts(facts: Facts) -> dict[str, dict[str, tuple[int, Observed]]]:
    """What each batch script asks of Slurm, in numbers."""
    found: dict[str, dict[str, tuple[int, Observed]]] = defaultdict(dict)
    for argument, observed in facts.of(LaunchArgument):
        if argument.framework == "slurm" and argument.origin == "script" and is_size(argument.value):
            found[observed.source.path].setdefault(argument.name, (int(argument.value), observed))
    return found
