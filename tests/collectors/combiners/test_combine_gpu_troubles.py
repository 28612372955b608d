"""What is wrong with each GPU, from all that speak of it."""

from __future__ import annotations

import pytest
from combining import combined, complete, in_part, looked, observed

from kb.facts import Fact
from kb.facts.diagnostics import DiagResult
from kb.facts.driver import NvmlError
from kb.facts.environment import CudaError
from kb.facts.fabric import NvlinkErrors, NvlinkLinks
from kb.facts.gpu import Gpu
from kb.facts.gpu_state import GpuEccCounts, GpuMemoryRepair, GpuRecovery
from kb.facts.gpu_trouble import FaultyGpuMemory, GpuResetDue, GspTrouble, LostGpu, NvlinkTrouble
from kb.facts.module_load import DriverTrouble, ModuleLoadProblem
from kb.facts.xid import GpuIdentity, LoggedXid, NvlinkFault, SxidEvent

GPU = "0000:41:00.0"
OTHER = "0000:42:00.0"


def xid(code: int, bdf: str = GPU, **more) -> LoggedXid:
    return LoggedXid(**{"code": code, "bdf": bdf, **more})


def ecc_error(class_: str) -> CudaError:
    return CudaError.model_validate({"class": class_, "where": "runtime", "text": "CUDA error"})


def test_all_that_speak_of_a_lost_gpu_come_together():
    """Whether they name it by address or by number, and the fact rests on each of them."""
    lost = observed(
        LostGpu,
        Gpu(index=2, bdf=GPU),
        xid(79),
        NvmlError(problem="gpu-lost", bdf=GPU, vague=True),
        DiagResult.model_validate({"test": "x", "status": "fail", "gpu": 2, "class": "off-bus"}),
        Gpu(bdf=GPU, off_bus=True, reported_by="lspci"),
    )

    assert [one.fact for one in lost] == [
        LostGpu(name=f"GPU {GPU}", bdf=GPU, index=2, by_driver=True, by_bus=True, by_tools="diagnostic")
    ]
    assert len(lost[0].basis) == 4


LOST = {
    "an Xid of an earlier boot": [xid(79, boot="earlier")],
    "another Xid": [xid(31)],
    "a GPU that answers": [Gpu(bdf=GPU, reported_by="lspci")],
    "found missing in an earlier boot": [ModuleLoadProblem(problem="fell-off-bus", bdf=GPU, boot="earlier")],
}


@pytest.mark.parametrize("facts", LOST.values(), ids=LOST)
def test_no_gpu_is_lost_by(facts: list[Fact]):
    """None of these says that a GPU is gone now."""
    assert combined(LostGpu, *facts) == []


MEMORY = {
    "one error whose remap waits": ([xid(48), xid(63, detail="reset-to-remap")], ("pending", True, False)),
    "an error without a remap": ([xid(94)], (None, True, False)),
    "an error again after a boot": ([xid(48), xid(48, boot="earlier")], (None, True, True)),
    "three of them": ([xid(48, count=3)], (None, True, True)),
    "a remap that failed": ([xid(48), xid(64)], ("failed", True, False)),
    "only a counter of this boot": ([GpuEccCounts(bdf=GPU, scope="volatile", uncorrected=1)], (None, True, False)),
    "rows that pile up": (
        [GpuMemoryRepair(bdf=GPU, mechanism="row-remapping", uncorrected=12, pending=True)],
        ("pending", False, True),
    ),
    "a bank without a spare row": (
        [GpuMemoryRepair(bdf=GPU, mechanism="row-remapping", uncorrected=1, exhausted_banks=1)],
        ("exhausted", False, False),
    ),
}


@pytest.mark.parametrize(("facts", "said"), MEMORY.values(), ids=MEMORY)
def test_bad_memory_and_its_repair(facts: list[Fact], said: tuple[str | None, bool, bool]):
    """What became of it, whether it was an error of this boot, and whether it is no single row."""
    (memory,) = combined(FaultyGpuMemory, *facts)

    assert (memory.repair, memory.uncorrected, memory.repeated) == said


SOUND = {
    "rows remapped long ago": [GpuMemoryRepair(bdf=GPU, mechanism="row-remapping", uncorrected=2, pending=False)],
    "errors in the life of the board": [GpuEccCounts(bdf=GPU, scope="aggregate", uncorrected=14)],
    "errors of an earlier boot only": [xid(48, boot="earlier")],
}


@pytest.mark.parametrize("facts", SOUND.values(), ids=SOUND)
def test_memory_is_sound_with(facts: list[Fact]):
    """History is no fault."""
    assert combined(FaultyGpuMemory, *facts) == []


def test_an_error_that_names_no_gpu_belongs_to_the_one_that_has_the_same_trouble():
    """With two of them it stays without a name."""
    (one,) = combined(FaultyGpuMemory, xid(94), ecc_error("ecc-uncorrectable"))
    three = combined(FaultyGpuMemory, xid(94), xid(94, OTHER), ecc_error("ecc-uncorrectable"))

    assert one.bdf == GPU
    assert {memory.name for memory in three} == {f"GPU {GPU}", f"GPU {OTHER}", "a GPU"}


@pytest.mark.parametrize(
    ("lost", "before"),
    [
        (xid(79, first_s=100.0), True),
        (xid(79, first_s=300.0), False),
        (xid(79), True),
        (xid(79, OTHER, first_s=100.0), False),
    ],
    ids=["left before", "left afterwards", "unknown when", "another GPU left"],
)
def test_firmware_is_silent_where_the_gpu_had_left(lost: LoggedXid, before: bool):
    """Then the time-out is no trouble of its own."""
    (gsp,) = combined(GspTrouble, xid(119, first_s=200.0, process="nvidia-smi"), lost)

    assert (gsp.xid, gsp.caller, gsp.lost_before) == (119, "nvidia-smi", before)


def test_a_mark_for_reset_alone_is_no_firmware_trouble():
    """Beside time-outs it is."""
    mark = DriverTrouble(problem="marked-for-reset")

    assert combined(GspTrouble, mark) == []
    assert combined(GspTrouble, mark, DriverTrouble(problem="gsp-heartbeat")) == [
        GspTrouble(name="a GPU", timeout=True, marked_for_reset=True)
    ]


NVLINK = {
    "Xid 74": ([xid(74), NvlinkFault(bdf=GPU, code=74, link=5, severity="fatal")], True, "5"),
    "a link that is down by NVLink 5": (
        [
            xid(149, detail="fatal"),
            NvlinkFault(bdf=GPU, code=149, link=1, severity="fatal", action="reset-gpu", inspect="peer"),
        ],
        True,
        "1",
    ),
    "an error whose cause a channel names": ([xid(45, caused_by=149)], True, None),
    "an error that CUDA reports": ([ecc_error("nvlink-uncorrectable")], True, None),
    "a fatal error of a switch": ([SxidEvent(code=20034, bdf="0000:c1:00.0", link=30, fatal=True)], True, "30"),
    "some links inactive": (
        [NvlinkLinks(index=3, state="some-inactive", links=6, active=4, inactive="3, 5")],
        False,
        "3, 5",
    ),
}


@pytest.mark.parametrize(("facts", "fatal", "links"), NVLINK.values(), ids=NVLINK)
def test_nvlink_trouble(facts: list[Fact], fatal: bool, links: str | None):
    """From the kernel, CUDA, a switch, or nvidia-smi."""
    (trouble,) = combined(NvlinkTrouble, *facts)

    assert (trouble.fatal, trouble.links, trouble.peer_lost) == (fatal, links, False)


NO_NVLINK = {
    "a nonfatal event": [
        xid(149, detail="nonfatal"),
        NvlinkFault(bdf=GPU, code=149, link=5, severity="nonfatal", action="ignore"),
    ],
    "all links inactive": [NvlinkLinks(index=0, state="all-inactive", links=12, active=0)],
    "a few retransmissions": [NvlinkErrors(index=0, replays=3, total=3)],
}


@pytest.mark.parametrize("facts", NO_NVLINK.values(), ids=NO_NVLINK)
def test_no_nvlink_trouble(facts: list[Fact]):
    """None of these is a fault of a link."""
    assert combined(NvlinkTrouble, *facts) == []


def test_a_lost_gpu_takes_the_links_of_its_peers_with_it():
    """It is said of the peer."""
    (trouble,) = combined(NvlinkTrouble, xid(74, OTHER), xid(79))

    assert (trouble.bdf, trouble.peer_lost) == (OTHER, True)


def test_a_link_that_is_down_is_named_by_the_uuid_of_its_gpu():
    """nvidia-smi nvlink -s gives number and UUID, and the kernel says the address."""
    links = NvlinkLinks(index=3, uuid="GPU-1", state="some-inactive", links=6, active=4, inactive="3")
    full = NvlinkLinks(index=0, uuid="GPU-0", state="all-active", links=6, active=6)
    (trouble,) = combined(NvlinkTrouble, GpuIdentity(bdf=GPU, uuid="GPU-1"), links, full)

    assert (trouble.bdf, trouble.down, trouble.others_full) == (GPU, True, True)


RESETS = {
    "the tool says so": ([GpuRecovery(bdf=GPU, action="reset")], "reset", False),
    "an old tool says so": ([GpuRecovery(bdf=GPU, reset_required=True)], "reset", False),
    "Xid 154": ([xid(154, detail="reboot")], "reboot", False),
    "allocations are refused": ([DriverTrouble(problem="reset-required")], "reset", False),
    "nvidia-smi refuses": ([NvmlError(problem="reset-required", bdf=GPU)], "reset", False),
    "after a time-out of the firmware": ([xid(154, detail="reset"), xid(119)], "reset", True),
    "with bad memory": (
        [
            GpuRecovery(bdf=GPU, action="reset"),
            GpuMemoryRepair(bdf=GPU, mechanism="row-remapping", pending=True),
        ],
        "reset",
        True,
    ),
}


@pytest.mark.parametrize(("facts", "action", "known"), RESETS.values(), ids=RESETS)
def test_a_reset_that_is_due(facts: list[Fact], action: str, known: bool):
    """What is asked for, and whether the reason is in evidence."""
    (due,) = combined(GpuResetDue, *facts)

    assert (due.action, due.cause_known) == (action, known)


def test_a_recovery_that_is_over_is_not_due():
    """The driver logs the way back as well."""
    assert combined(GpuResetDue, xid(154, detail="none"), GpuRecovery(bdf=GPU, action="none")) == []


def test_looked_for_as_far_as_one_of_their_sources_was():
    """A log that is cut proves no absence."""
    assert looked(LostGpu, in_part(LoggedXid)) == [False]
    assert looked(FaultyGpuMemory, in_part(LoggedXid), complete(GpuMemoryRepair)) == [True]


def test_a_micro_controller_that_halted_first_silences_the_firmware():
    """In that order only."""
    halted = [xid(62, first_s=100.0), xid(119, first_s=145.0)]
    silent = [xid(62, first_s=145.0), xid(119, first_s=100.0)]

    assert [one.halted_before for one in combined(GspTrouble, *halted)] == [True]
    assert [one.halted_before for one in combined(GspTrouble, *silent)] == [False]


@pytest.mark.parametrize(
    ("name", "other", "links"),
    [
        ("NVIDIA H200", "all-active", ["all"]),
        ("NVIDIA H200", "all-inactive", []),
        ("NVIDIA A100 80GB PCIe", "all-active", []),
    ],
)
def test_all_links_of_one_module_are_down(name: str, other: str, links: list[str]) -> None:
    gpus = [Gpu(index=index, name=name) for index in (0, 1)]
    states = [NvlinkLinks(index=0, state="all-inactive", links=18, active=0)]
    states.append(NvlinkLinks.model_validate({"index": 1, "state": other, "links": 18, "active": 18}))
    assert [one.links for one in combined(NvlinkTrouble, *gpus, *states)] == links
