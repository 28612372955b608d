"""Whether processes that use GPUs may run on the processors next to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from collectors.combiners import Facts, derived, looked_at
from kb.cpu_lists import cpus_in, ranges
from kb.evidence import Observed, Reading
from kb.facts.gpu import Gpu, GpuProcess
from kb.facts.gpu_bus import GpuLocalCpus, GpuOnBus, GpuPlacement
from kb.facts.storage import CpuAffinity, NumaLayout, NumaNode


class _Local(NamedTuple):
    """The processors next to one GPU, and what tells them."""

    cpus: frozenset[int]
    basis: tuple[Observed, ...]


def combine(facts: Facts) -> Iterator[Reading]:
    """GpuPlacement of each process whose GPUs and binding are both told.

    NumaLayout, as far as the GPUs show it, where no tool lists the nodes.
    """
    local = _local(facts)
    bound = {one.process: (one, observed) for one, observed in facts.of(CpuAffinity) if one.process}
    placed = False
    for pid, gpus in _gpus_of_processes(facts).items():
        affinity = bound.get(str(pid))
        if affinity is None or any(name not in local for name in gpus):
            continue
        placed = True
        yield _placement(pid, gpus, {name: local[name] for name in gpus}, affinity)
    yield from looked_at(facts, GpuPlacement, CpuAffinity)
    nodes = {one.numa_node: observed for one, observed in facts.of(GpuLocalCpus) if one.numa_node is not None}
    if (placed or bound) and nodes and not facts.of(NumaLayout):
        yield derived(NumaLayout(nodes=len(nodes)), nodes.values())


def _placement(
    pid: int, gpus: dict[str, Observed], local: dict[str, _Local], affinity: tuple[CpuAffinity, Observed]
) -> Observed:
    allowed = cpus_in(affinity[0].list)
    nearest = frozenset[int]().union(*(one.cpus for one in local.values()))
    fact = GpuPlacement(
        pid=pid,
        gpus=",".join(gpus),
        list=affinity[0].list,
        local=ranges(nearest),
        near="none" if not allowed & nearest else "all" if allowed <= nearest else "some",
    )
    return derived(fact, [affinity[1], *gpus.values(), *(part for one in local.values() for part in one.basis)])


def _gpus_of_processes(facts: Facts) -> dict[int, dict[str, Observed]]:
    """By pid the GPUs that it uses, by number where one is told, else by address."""
    numbers = {gpu.bdf: gpu.index for gpu, _ in facts.of(Gpu) if gpu.bdf and gpu.index is not None}
    found: dict[int, dict[str, Observed]] = defaultdict(dict)
    for process, observed in facts.of(GpuProcess):
        index = process.index if process.index is not None else numbers.get(process.bdf or "")
        name = str(index) if index is not None else process.bdf
        if name:
            found[process.pid].setdefault(name, observed)
    return found


def _local(facts: Facts) -> dict[str, _Local]:
    """By number and by address of the GPU: as nvidia-smi says, else those of its NUMA node."""
    found: dict[str, _Local] = {}
    for one, observed in facts.of(GpuLocalCpus):
        found.setdefault(str(one.index), _Local(cpus_in(one.list), (observed,)))
    nodes = {node.node: (cpus_in(node.list), observed) for node, observed in facts.of(NumaNode) if node.list}
    for on_bus, observed in facts.of(GpuOnBus):
        if on_bus.numa_node is not None and on_bus.numa_node in nodes:
            cpus, listed = nodes[on_bus.numa_node]
            found.setdefault(on_bus.bdf, _Local(cpus, (observed, listed)))
    for gpu, observed in facts.of(Gpu):
        if gpu.bdf and gpu.index is not None and gpu.bdf in found:
            cpus, basis = found[gpu.bdf]
            found.setdefault(str(gpu.index), _Local(cpus, (*basis, observed)))
    return found
