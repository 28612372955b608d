"""A known defect of NCCL is named only where the release has it and everything else fits."""

from __future__ import annotations

from combining import readings

from collectors.combiners import Facts
from collectors.combiners.nccl_defects import combine
from kb.evidence import Observed
from kb.facts.collectives import CollectiveTimeout
from kb.facts.environment import CudaError, PythonPackage
from kb.facts.gpu import Gpu
from kb.facts.nccl import NcclVersion
from kb.facts.nccl_tools import NcclDefect, NcclDefectLine, NcclTestResult
from kb.facts.settings import Setting
from kb.facts.stacks import ProcessStack

LEAK = ProcessStack(where="nccl-wait", tool="py-spy", frames="sched_yield < waitWorkFifoAvailable < uploadWork")


def named(*facts):
    """The ids of the defects that these facts show."""
    found = [one.fact for one in combine(Facts(readings(*facts))) if isinstance(one, Observed)]
    return [fact.id for fact in found if isinstance(fact, NcclDefect)]


def test_a_stack_in_a_release_that_has_the_defect():
    """The frame is seen and the version in the range."""
    assert named(LEAK, NcclVersion(version="2.21.5")) == ["work-fifo-leak"]


def test_the_same_stack_in_a_release_without_it():
    """Then it is something else."""
    assert named(LEAK, NcclVersion(version="2.22.3")) == []


def test_nobody_knows_the_release():
    """Then nothing is said."""
    assert named(LEAK) == []


def test_what_runs_counts_before_what_is_installed():
    """The list of packages may be of another environment."""
    installed = PythonPackage(name="nvidia-nccl-cu12", version="2.21.5", role="nccl")

    assert named(LEAK, installed) == ["work-fifo-leak"]
    assert named(LEAK, installed, NcclVersion(version="2.27.3")) == []


def test_all_that_an_entry_asks_for_must_be_seen():
    """An illegal access on another GPU has another cause."""
    error = CudaError(class_="illegal-address", where="runtime", text="an illegal memory access was encountered")
    version = NcclVersion(version="2.26.2")

    assert named(error, version, Gpu(name="NVIDIA RTX PRO 6000 Blackwell Workstation Edition")) == [
        "illegal-access-on-consumer-blackwell"
    ]
    assert named(error, version, Gpu(name="NVIDIA H100 80GB HBM3")) == []


def test_builds_that_are_free_of_it():
    """Only a build with an older CUDA has no code for the GPU."""
    error = CudaError(class_="illegal-address", where="runtime", text="an illegal memory access was encountered")
    gpu = Gpu(name="NVIDIA GeForce RTX 5090")

    assert named(error, gpu, NcclVersion(version="2.26.2", cuda="12.2")) == [
        "illegal-access-on-consumer-blackwell"
    ]
    assert named(error, gpu, NcclVersion(version="2.26.2", cuda="12.8")) == []


def test_collnet_by_its_setting_and_its_error():
    """The setting alone does no harm, nor does it in the release before."""
    error = CudaError(class_="illegal-address", where="runtime", text="an illegal memory access was encountered")
    on = Setting(name="NCCL_COLLNET_ENABLE", value="1", origin="launch")

    assert named(on, error, NcclVersion(version="2.10.3")) == ["collnet-broken"]
    assert named(on, NcclVersion(version="2.10.3")) == []
    assert named(on, error, NcclVersion(version="2.9.6")) == []


def test_lines_and_settings():
    """Of the log and of the environment."""
    line = NcclDefectLine(id="shared-memory-of-consumer-blackwell", text="exceeds device/fn maxSharedMem 79856")
    blocking = Setting(name="CUDA_LAUNCH_BLOCKING", value="1", origin="launch")

    assert named(line, NcclVersion(version="2.25.1")) == ["shared-memory-of-consumer-blackwell"]
    assert named(blocking, NcclVersion(version="2.14.3")) == ["launch-blocking"]
    assert (
        named(Setting(name="CUDA_LAUNCH_BLOCKING", value="0", origin="launch"), NcclVersion(version="2.14.3"))
        == []
    )


def test_an_all_to_all_that_did_not_end():
    """PyTorch's name of the operation is the same as that of nccl-tests; another operation is not."""
    line = NcclDefectLine(id="all-to-all-with-cumem", text="via P2P/CUMEM/read")
    version = NcclVersion(version="2.19.3")

    for operation, ids in (("alltoall", ["all-to-all-with-cumem"]), ("all_reduce", [])):
        stuck = NcclTestResult(outcome="unfinished", operation=operation)
        assert named(line, version, stuck) == ids
    late = CollectiveTimeout(operation="ALLTOALL_BASE", sequence=1, ranks=8, ranks_named="0")
    assert named(line, version, late) == ["all-to-all-with-cumem"]
    assert named(line, version, NcclTestResult(outcome="passed", operation="alltoall")) == []
