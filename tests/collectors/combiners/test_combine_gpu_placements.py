"""A process is misplaced only where all it may run on is away from its GPUs."""

from __future__ import annotations

from combining import readings

from collectors.combiners import Facts
from collectors.combiners.gpu_placements import combine
from kb.evidence import Observed
from kb.facts.gpu import Gpu, GpuProcess
from kb.facts.gpu_bus import GpuLocalCpus, GpuOnBus, GpuPlacement
from kb.facts.storage import CpuAffinity, NumaLayout, NumaNode

GPUS = (
    GpuLocalCpus(index=0, list="0-47,96-143", numa_node=0),
    GpuLocalCpus(index=4, list="48-95,144-191", numa_node=1),
)


def bound(pid, cpus):
    """A process that may use these processors only."""
    return CpuAffinity(cpus=1, list=cpus, process=str(pid))


def combined(*facts):
    """What comes of these facts."""
    return [one.fact for one in combine(Facts(readings(*facts))) if isinstance(one, Observed)]


def near(*facts):
    """By pid, how near each process is to its GPUs."""
    return {fact.pid: fact.near for fact in combined(*facts) if isinstance(fact, GpuPlacement)}


def test_bound_to_the_other_node():
    """All that it may use lies elsewhere."""
    facts = combined(*GPUS, GpuProcess(index=4, pid=71), bound(71, "0-47"))

    assert facts == [
        GpuPlacement(pid=71, gpus="4", list="0-47", local="48-95,144-191", near="none"),
        NumaLayout(nodes=2),
    ]


def test_bound_to_its_own_node_or_not_at_all():
    """Neither is a fault."""
    processes = (GpuProcess(index=0, pid=70), GpuProcess(index=4, pid=71))

    assert near(*GPUS, *processes, bound(70, "0-15"), bound(71, "0-191")) == {70: "all", 71: "some"}


def test_one_process_with_gpus_on_both_nodes():
    """It is near to one of them wherever it runs."""
    both = (GpuProcess(index=0, pid=70), GpuProcess(index=4, pid=70))

    assert near(*GPUS, *both, bound(70, "0-47")) == {70: "all"}


def test_what_is_not_told():
    """A process without a GPU, one without a binding, a GPU without a place."""
    assert near(*GPUS, bound(70, "0-15")) == {}
    assert near(*GPUS, GpuProcess(index=4, pid=71), bound(70, "0-15")) == {}
    assert near(*GPUS, GpuProcess(index=4, pid=71), GpuProcess(index=5, pid=71), bound(71, "0-15")) == {}


def test_by_the_node_that_sysfs_names():
    """Where nobody printed the matrix, and the processes are listed by address."""
    facts = (
        GpuOnBus(bdf="0000:c1:00.0", numa_node=1),
        NumaNode(node=0, cpus=16, list="0-15"),
        NumaNode(node=1, cpus=16, list="16-31"),
        NumaLayout(nodes=2),
        GpuProcess(bdf="0000:c1:00.0", pid=71),
        bound(71, "0-7"),
    )

    assert near(*facts) == {71: "none"}
    assert near(*facts, Gpu(index=3, bdf="0000:c1:00.0")) == {71: "none"}
