"""Launches that can't work: node ranks and endpoints of nodes, sizes against devices, ranks announced twice."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.combiners import Facts, derived, looked_at
from collectors.combiners.start import PARALLEL, is_size
from kb.evidence import Observed, Reading
from kb.facts.framework import LaunchArgument, StartMilestone
from kb.facts.gpu_bus import GpuCount
from kb.facts.launch import AnnouncedRanks, LaunchConflict
from kb.facts.problems import FrameworkError
from kb.facts.settings import Setting

ENDPOINTS = ("rdzv_endpoint", "master_addr", "dist_init_addr")
LOOPBACK = re.compile(r"(?:\w{2,5}://)?(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)(?::\d+)?$")
TENSOR = ("tensor_model_parallel_size", "tensor_parallel_size", "tp_size")
NODES = frozenset(("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "NNODES"))
APART_S = 900
"""Starts that lie further apart than this are different runs, not nodes of one."""

_CLOCK = re.compile(r"(?<![\d:])(\d\d):(\d\d):(\d\d)")


@dataclass(slots=True)
class _Launch:
    """The arguments of one launch: those of one log, or of one command line."""

    path: str
    arguments: dict[str, tuple[str, Observed]] = field(default_factory=dict)

    def value(self, name: str) -> str | None:
        given = self.arguments.get(name)
        return given[0] if given else None

    @property
    def nodes(self) -> int:
        """How many machines it is for: the most, where a range is given."""
        value = (self.value("nnodes") or "1").rpartition(":")[2]
        return int(value) if is_size(value) else 1


def combine(facts: Facts) -> Iterator[Reading]:
    """LaunchConflict for each contradiction or impossible setting."""
    launches = _launches(facts)
    yield from _localhost(launches)
    yield from _localhost_of_scheduler(facts)
    yield from _of_nodes(facts, launches)
    yield from _of_devices(facts, launches)
    yield from _announced(facts)
    yield from _heads(facts, launches)
    yield from looked_at(facts, LaunchConflict, LaunchArgument, AnnouncedRanks)


def _launches(facts: Facts) -> list[_Launch]:
    found: dict[tuple[str, int], _Launch] = {}
    for argument, observed in facts.of(LaunchArgument):
        source = observed.source
        line = source.line if argument.origin in {"command", "script"} else 0
        launch = found.setdefault((source.path, line), _Launch(source.path))
        launch.arguments.setdefault(argument.name, (argument.value, observed))
    return list(found.values())


def _localhost(launches: list[_Launch]) -> Iterator[Observed]:
    """Several nodes that are to meet at an address which each takes for itself.

    The first node may call itself so, if the others know its address.
    """
    found: dict[tuple[str, str], list[Observed]] = defaultdict(list)
    nodes: dict[tuple[str, str], int] = {}
    wrong: set[tuple[str, str]] = set()
    for launch in launches:
        for name in ENDPOINTS if launch.nodes > 1 else ():
            value = launch.value(name) or ""
            if LOOPBACK.match(value):
                found[name, value] += [launch.arguments[name][1], launch.arguments["nnodes"][1]]
                nodes[name, value] = launch.nodes
                wrong.update([(name, value)] if launch.value("node_rank") != "0" else ())
    for (name, value), basis in ((key, found[key]) for key in found if key in wrong):
        fact = LaunchConflict(problem="localhost-endpoint", name=name, value=value, nodes=nodes[name, value])
        yield derived(fact, basis)


def _localhost_of_scheduler(facts: Facts) -> Iterator[Observed]:
    """A batch job over several nodes whose script sets one meeting point for all, and it is each one's own."""
    nodes = [(s, o) for s, o in facts.of(Setting) if s.name in NODES and is_size(s.value) and int(s.value) > 1]
    for setting, observed in facts.of(Setting):
        if nodes and setting.name == "MASTER_ADDR" and setting.mode == "set" and LOOPBACK.match(setting.value):
            fact = LaunchConflict(
                problem="localhost-endpoint", name="MASTER_ADDR", value=setting.value, nodes=int(nodes[0][0].value)
            )
            yield derived(fact, [observed, nodes[0][1]])
            return


def _of_nodes(facts: Facts, launches: list[_Launch]) -> Iterator[Observed]:
    """Logs of several nodes of one launch: as many as there are nodes, begun at about the same time."""
    several = [one for one in launches if one.nodes > 1 and one.value("node_rank") is not None]
    nodes = max((one.nodes for one in several), default=0)
    if (
        not several
        or len(several) != nodes
        or len({one.path for one in several}) != nodes
        or not _together(facts, several)
    ):
        return
    ranks = [one.value("node_rank") or "" for one in several]
    basis = [observed for one in several for name in ("node_rank", *ENDPOINTS) if (observed := _given(one, name))]
    if len(set(ranks)) < nodes:
        fields = {"expected": nodes, "found": len(set(ranks)), "nodes": nodes}
        fact = LaunchConflict(problem="repeated-node-rank", name="node_rank", value=", ".join(ranks), **fields)
        yield derived(fact, basis)
    for name in ENDPOINTS:
        values = sorted({one.value(name) or "" for one in several} - {""})
        if len(values) > 1 and not any(LOOPBACK.match(value) for value in values):
            fact = LaunchConflict(problem="endpoints-differ", name=name, value=", ".join(values), nodes=nodes)
            yield derived(fact, basis)


def _given(launch: _Launch, name: str) -> Observed | None:
    given = launch.arguments.get(name)
    return given[1] if given else None


def _together(facts: Facts, launches: list[_Launch]) -> bool:
    """Whether the logs began at about the same time; or, where none has a clock, whether all name one endpoint."""
    paths = {launch.path for launch in launches}
    clocked = [o for m, o in facts.of(StartMilestone) if m.time is not None and o.source.path in paths]
    if not clocked:
        endpoints = {launch.value(name) for launch in launches for name in ENDPOINTS} - {None}
        return len(endpoints) == 1 and all(any(map(launch.value, ENDPOINTS)) for launch in launches)
    first: dict[str, int] = {}
    for milestone, observed in facts.of(StartMilestone):
        clock = _CLOCK.search(milestone.time or "")
        if clock is not None and observed.source.path in paths:
            seconds = int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3])
            first.setdefault(observed.source.path, seconds)
    return len(first) == len(paths) and max(first.values()) - min(first.values()) <= APART_S


def _of_devices(facts: Facts, launches: list[_Launch]) -> Iterator[Observed]:
    """More processes on a node than the devices that they may see, or than the driver offers them."""
    yield from _of_present(facts, launches)
    visible = [(s, o) for s, o in facts.of(Setting) if s.name == "CUDA_VISIBLE_DEVICES" and s.mode == "set"]
    if len({setting.value for setting, _ in visible}) != 1:
        return
    setting, observed = visible[0]
    devices = sum(1 for device in setting.value.split(",") if device.strip())
    for launch in launches:
        wanted = _processes(launch)
        if wanted is not None and wanted[0] > devices:
            fact = LaunchConflict(
                problem="more-ranks-than-devices",
                name="CUDA_VISIBLE_DEVICES",
                value=setting.value[:200],
                expected=wanted[0],
                found=devices,
            )
            yield derived(fact, [observed, *wanted[1]])
            return


def _of_present(facts: Facts, launches: list[_Launch]) -> Iterator[Observed]:
    """More processes than GPUs, where all listings of the driver's agree and no GPU of the bus is missing."""
    counts = [(count, observed) for count, observed in facts.of(GpuCount) if count.seen_by != "pci"]
    if len({count.count for count, _ in counts}) != 1 or not counts[0][0].count:
        return
    present, observed = counts[0][0].count, counts[0][1]
    if any(count.count > present for count, _ in facts.of(GpuCount)):
        return
    for launch in launches:
        wanted = _processes(launch)
        if wanted is not None and wanted[0] > present and not _may_span(launch):
            fact = LaunchConflict(
                problem="more-gpus-asked-than-present",
                name=next(name for name in launch.arguments if launch.arguments[name][1] in wanted[1]),
                value=str(wanted[0]),
                expected=wanted[0],
                found=present,
            )
            yield derived(fact, [*wanted[1], observed])
            return


def _may_span(launch: _Launch) -> bool:
    """Whether the launch may use other machines without saying so, as vLLM does over Ray."""
    return any(_framework(launch, name) not in {"torch", "sglang"} for name in (*PARALLEL, "nproc_per_node"))


def _framework(launch: _Launch, name: str) -> str:
    """Whose argument it is; `torch` where it is not given."""
    given = launch.arguments.get(name)
    return given[1].fact.framework if given and isinstance(given[1].fact, LaunchArgument) else "torch"


def _processes(launch: _Launch) -> tuple[int, list[Observed]] | None:
    """How many GPUs one node of a launch needs, where it says so."""
    per_node = launch.value("nproc_per_node")
    if per_node is not None and is_size(per_node):
        return int(per_node), [launch.arguments["nproc_per_node"][1]]
    total = launch.value("num_processes")
    if (
        total is not None
        and is_size(total)
        and launch.nodes == 1
        and _framework(launch, "num_processes") == "torch"
    ):
        return int(total), [launch.arguments["num_processes"][1]]
    if launch.nodes > 1 or launch.value("distributed_executor_backend") == "ray":
        return None
    needed, basis = 1, []
    for dimension in set(PARALLEL.values()):
        names = [name for name, of in PARALLEL.items() if of == dimension and is_size(launch.value(name) or "")]
        if names:
            needed *= int(launch.value(names[0]) or 1)
            basis.append(launch.arguments[names[0]][1])
    return (needed, basis) if basis else None


def _announced(facts: Facts) -> Iterator[Observed]:
    """What the ranks themselves announce: twice the same, more than there are devices, one device for several."""
    tasks = [
        (s, o) for s, o in facts.of(Setting) if s.name in {"SLURM_NTASKS", "SLURM_NPROCS"} and is_size(s.value)
    ]
    for ranks, observed in facts.of(AnnouncedRanks):
        world = ranks.world_size
        if ranks.repeated is not None:
            fact = LaunchConflict(
                problem="repeated-rank", name="rank", value=ranks.repeated, expected=world, found=ranks.ranks
            )
            yield derived(fact, [observed])
            for task, told in tasks[:1]:
                if world is not None and world > int(task.value):
                    fact = LaunchConflict(
                        problem="slurm-tasks-differ",
                        name=task.name,
                        value=task.value,
                        expected=world,
                        found=int(task.value),
                    )
                    yield derived(fact, [observed, told])
        if ranks.local_ranks is not None:
            yield from _shared(ranks, ranks.local_ranks, observed)


def _shared(ranks: AnnouncedRanks, local: int, observed: Observed) -> Iterator[Observed]:
    if ranks.visible_devices is not None and local > ranks.visible_devices:
        fact = LaunchConflict(
            problem="more-ranks-than-devices",
            name="CUDA_VISIBLE_DEVICES",
            value=str(ranks.visible_devices),
            expected=local,
            found=ranks.visible_devices,
        )
        yield derived(fact, [observed])
    if ranks.devices is not None and ranks.ranks >= local > ranks.devices:
        fact = LaunchConflict(
            problem="shared-device", name="device", value=str(ranks.devices), expected=local, found=ranks.devices
        )
        yield derived(fact, [observed])


def _heads(facts: Facts, launches: list[_Launch]) -> Iterator[Observed]:
    """Attention heads that the tensor parallel size does not divide: by the arguments, or by the error."""
    for error, observed in facts.of(FrameworkError):
        if error.class_ == "heads-not-divisible" and error.wanted is not None:
            yield _undivided(error.wanted, error.available, [observed])
            return
    for launch in launches:
        heads, tensor = launch.value("num_attention_heads") or "", next(filter(launch.value, TENSOR), None)
        size = launch.value(tensor) if tensor else None
        if tensor and is_size(heads) and size and is_size(size) and int(heads) % int(size):
            basis = [launch.arguments["num_attention_heads"][1], launch.arguments[tensor][1]]
            yield _undivided(int(heads), int(size), basis)
            return


def _undivided(heads: int, size: int | None, basis: list[Observed]) -> Observed:
    fact = LaunchConflict(
        problem="heads-not-divisible",
        name="tensor_parallel_size",
        value=str(size or ""),
        expected=heads,
        found=size,
    )
    return derived(fact, basis)
