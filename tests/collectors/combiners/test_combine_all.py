"""What holds for every combiner: nothing from nothing, every conclusion with its basis, looks passed on."""

from __future__ import annotations

from combining import at, complete, in_part, readings

from collectors.combine import combine
from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Looked, Observed
from kb.facts.driver import KernelModule, LibraryLink, LinkerEntry, NvidiaSmi, ResolvedLibrary
from kb.facts.framework import LaunchArgument, ModelFiles, StartMilestone
from kb.facts.gpu import Gpu, GpuMemorySample
from kb.facts.iommu import IommuFault
from kb.facts.machine import Boot
from kb.facts.nccl import NcclCommunicator, NcclInit
from kb.facts.p2p import TopologyLink
from kb.facts.packages import Package
from kb.facts.settings import EffectiveSetting, Setting

EVERYTHING = readings(
    NvidiaSmi(driver_version="550.90.07"),
    KernelModule(version="535.1"),
    LinkerEntry(soname="libcuda.so.1", path="/lib/x86_64-linux-gnu/libcuda.so.1", abi="x86-64"),
    LibraryLink(
        path="/usr/lib/x86_64-linux-gnu/libcuda.so.1", target="/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07"
    ),
    Package(name="p", version="1", state="installed"),
    GpuMemorySample(index=0, used_mib=1, total_mib=10, order=0),
    GpuMemorySample(index=0, used_mib=1, total_mib=10, order=1),
    NcclInit(rank=0, nranks=2, state="started"),
    StartMilestone(framework="vllm", milestone="weights-begin", rank="TP0"),
    LaunchArgument(framework="vllm", name="tp_size", value="2"),
    Setting(name="N", value="1", origin="launch"),
    TopologyLink(src="GPU0", dst="GPU1", link="SYS"),
    Gpu(bdf="0000:41:00.0", memory_total_mib=100),
    IommuFault(bdf="0000:41:00.0", vendor="amd"),
    ModelFiles(size_gib=1.0),
)


def test_nothing_follows_from_nothing():
    """Neither a fact nor that anything was looked for."""
    assert combine([]) == []
    assert combine(readings(Boot(kernel="k"))) == []


def test_every_new_fact_rests_on_facts_that_were_read():
    """It cites the first of them, and its roots are among what was given."""
    new = [one for one in combine(EVERYTHING) if isinstance(one, Observed)]

    assert {one.fact.kind for one in new} == {
        "kernel_module",
        "disagreement",
        "resolved_library",
        "gpu_memory_trend",
        "gpu_memory_pattern",
        "nccl_communicator",
        "start_progress",
        "run_outcome",
        "effective_setting",
        "gpu_interconnect",
        "gpu_dma_fault",
        "model_fit",
    }
    assert all(one.basis and one.source == one.basis[0].source for one in new)
    assert all(set(one.roots()) <= set(EVERYTHING) for one in new)


def test_the_result_holds_only_what_is_new():
    """Nothing that was given is repeated."""
    assert set(combine(EVERYTHING)) & set(EVERYTHING) == set()


def test_one_complete_look_is_enough():
    """The combined kind was looked for as far as one of those that it comes from."""
    facts = Facts([in_part(LibraryLink), complete(LinkerEntry)])

    assert looked_at(facts, ResolvedLibrary, LinkerEntry, LibraryLink) == [
        Looked("resolved_library", True, "a.txt")
    ]


def test_a_look_in_part_stays_one():
    """With its reason and its place."""
    facts = Facts([in_part(NcclInit)])

    assert looked_at(facts, NcclCommunicator, NcclInit) == [
        Looked("nccl_communicator", False, "b.txt", "truncated")
    ]


def test_where_nobody_looked_nothing_is_said():
    """A kind that nothing was looked for stays unknown."""
    assert looked_at(Facts([complete(LinkerEntry)]), EffectiveSetting, Setting) == []


def test_a_basis_holds_each_fact_once():
    """In the order in which they count."""
    one, other = at(Boot(kernel="a")), at(Boot(kernel="b"))

    assert derived(Boot(), [one, other, one]).basis == (one, other)
