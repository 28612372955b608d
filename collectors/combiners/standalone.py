"""Launches over several machines with torchrun's --standalone, by which each machine meets itself alone."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from collectors.combiners.start import is_size
from kb.evidence import Observed, Reading
from kb.facts.collectives import RendezvousFailure
from kb.facts.framework import LaunchArgument
from kb.facts.launch import LaunchConflict


def combine(facts: Facts) -> Iterator[Reading]:
    """A LaunchConflict, where the launch names several machines, or where its agent waited for others in vain.

    An agent that is alone and expects nobody never waits. Launches without the option are looked at in `launch`.
    """
    arguments = [(one, seen) for one, seen in facts.of(LaunchArgument) if one.framework == "torch"]
    launches: dict[tuple[str, int], dict[str, tuple[str, Observed]]] = {}
    for argument, observed in arguments:
        launch = launches.setdefault((observed.source.path, observed.source.line), {})
        launch.setdefault(argument.name, (argument.value, observed))
    if not launches or any("standalone" not in launch for launch in launches.values()):
        return
    waited = [
        (f, o) for f, o in facts.of(RendezvousFailure) if f.stage == "agent-join" and f.reason == "timed-out"
    ]
    for launch in launches.values():
        value, named = launch.get("nnodes", ("1", None))
        least = value.partition(":")[0]
        nodes = int(least) if is_size(least) and int(least) > 1 else None
        others = [named] if named is not None and nodes else [observed for _, observed in waited[:1]]
        if others and (nodes or named is None):
            fact = LaunchConflict(problem="localhost-endpoint", name="standalone", value="localhost", nodes=nodes)
            yield derived(fact, [launch["standalone"][1], *others])
            return
