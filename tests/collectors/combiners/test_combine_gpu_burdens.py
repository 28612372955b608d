"""What burdens a GPU from outside: programs, heat and power, a poor link."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts import Fact
from kb.facts.environment import CudaError
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import PcieErrorCounts
from kb.facts.gpu_state import GpuPcieLink, GpuPower, GpuTemperature, GpuThrottle
from kb.facts.gpu_trouble import DegradedLink, HeldDownGpu, ProgramFault
from kb.facts.pcie import PcieBandwidth, PcieError
from kb.facts.xid import LoggedXid

GPU = "0000:41:00.0"
OTHER = "0000:42:00.0"


def xid(code: int, bdf: str = GPU, **more) -> LoggedXid:
    return LoggedXid(**{"code": code, "bdf": bdf, "process": "train", **more})


def cuda(class_: str) -> CudaError:
    return CudaError.model_validate({"class": class_, "where": "runtime", "text": "CUDA error"})


def test_a_fault_that_follows_a_program():
    """One fact for the program, with how many GPUs it was on."""
    (fault,) = combined(ProgramFault, xid(31), xid(31, OTHER), xid(13, OTHER), cuda("illegal-address"))

    assert (fault.name, fault.xids, fault.gpus, fault.bdf, fault.cuda) == (
        "program train", "13, 31", 2, None, "access",
    )  # fmt: skip


def test_a_fault_that_stays_on_a_gpu():
    """Over several programs, of earlier boots too."""
    (fault,) = combined(
        ProgramFault, xid(13, processes="blender, train"), xid(13, process="ollama", boot="earlier")
    )

    assert (fault.gpus, fault.bdf, fault.programs) == (1, GPU, 3)


def test_a_gpu_with_trouble_of_its_own_is_named():
    """An ECC error explains the program's end better."""
    assert [fault.gpu_ill for fault in combined(ProgramFault, xid(31), xid(48))] == [True]
    assert [fault.gpu_ill for fault in combined(ProgramFault, xid(31), xid(48, OTHER))] == [False]


NO_FAULT = {
    "a channel that was reset": [xid(43), xid(45)],
    "of an earlier boot": [xid(31, boot="earlier")],
    "an unspecified launch failure": [cuda("launch-failed")],
}


@pytest.mark.parametrize("facts", NO_FAULT.values(), ids=NO_FAULT)
def test_no_fault_of_a_program(facts: list[Fact]):
    """None of these accuses one."""
    assert combined(ProgramFault, *facts) == []


HELD = {
    "thermal slowdown": ([GpuThrottle(index=1, sw_thermal=True, utilisation_percent=98)], "heat", False),
    "power brake": ([GpuThrottle(index=1, hw_slowdown=True, hw_power_brake=True)], "power-brake", False),
    "hardware slowdown while idle": ([GpuThrottle(index=1, hw_slowdown=True, idle=True)], "slowdown", True),
    "a lowered limit": (
        [GpuThrottle(bdf=GPU, sw_power_cap=True), GpuPower(bdf=GPU, limit="lowered", at_limit=True, limit_w=150)],
        "lowered-limit",
        False,
    ),
    "over the slowdown temperature": (
        [GpuTemperature(index=1, state="at-slowdown", temperature_c=95)],
        "heat",
        False,
    ),
    "capped far below its limit": (
        [
            GpuThrottle(bdf=GPU, sw_power_cap=True, utilisation_percent=100),
            GpuPower(bdf=GPU, limit="default", at_limit=False, draw_w=240, limit_w=400),
        ],
        "capped-below-limit",
        False,
    ),
    "a missing power cable": ([xid(54)], "power-cable", False),
}


@pytest.mark.parametrize(("facts", "reason", "idle"), HELD.values(), ids=HELD)
def test_held_down(facts: list[Fact], reason: str, idle: bool):
    """By what, and whether it had work."""
    assert [(one.reason, one.idle) for one in combined(HeldDownGpu, *facts)] == [(reason, idle)]


def test_a_power_cap_at_the_default_limit_holds_nothing_down():
    """That is what full load looks like."""
    assert (
        combined(
            HeldDownGpu,
            GpuThrottle(bdf=GPU, sw_power_cap=True, utilisation_percent=100),
            GpuPower(bdf=GPU, limit="default", at_limit=True),
            GpuTemperature(bdf=GPU, state="at-limit", temperature_c=85),
        )
        == []
    )


LINKS = {
    "four of sixteen lanes": (
        [GpuPcieLink(bdf=GPU, state="narrower", lanes=4, lanes_max=16)],
        {"narrow": True, "very_narrow": True},
    ),
    "eight of sixteen lanes": ([GpuPcieLink(bdf=GPU, state="narrower", lanes=8, lanes_max=16)], {"narrow": True}),
    "fewer than both ends have": (
        [GpuPcieLink(bdf=GPU, state="narrower", lanes=8, lanes_max=16, reported_by="sysfs")],
        {"narrow": True, "very_narrow": True},
    ),
    "slow under load": (
        [GpuPcieLink(bdf=GPU, state="slower-under-load", generation=1, generation_max=4)],
        {"slow_under_load": True},
    ),
    "many corrected errors": (
        [PcieError(bdf=GPU, severity="corrected", driver="nvidia", count=40)],
        {"many_errors": True},
    ),
    "narrow from boot on": (
        [Gpu(bdf=GPU), PcieBandwidth(bdf=GPU, width=4, speed_gts=16.0, capable_width=16)],
        {"narrow": True, "very_narrow": True},
    ),
}
FLAGS = ("narrow", "very_narrow", "slow_under_load", "many_errors")


@pytest.mark.parametrize(("facts", "flags"), LINKS.values(), ids=LINKS)
def test_a_degraded_link(facts: list[Fact], flags: dict[str, bool]):
    """How it is degraded."""
    (link,) = combined(DegradedLink, *facts)

    assert {name: True for name in FLAGS if getattr(link, name)} == flags


SOUND = {
    "an idle GPU": [GpuPcieLink(bdf=GPU, state="slower-idle", generation=1, generation_max=4)],
    "by lspci, which does not know": [GpuPcieLink(bdf=GPU, state="slower", generation=1, reported_by="lspci")],
    "slow at boot": [Gpu(bdf=GPU), PcieBandwidth(bdf=GPU, width=16, speed_gts=2.5, capable_width=16)],
    "errors of a disk": [Gpu(bdf=GPU), PcieError(bdf="0000:04:00.0", severity="corrected", driver="nvme")],
}  # fmt: skip


@pytest.mark.parametrize("facts", SOUND.values(), ids=SOUND)
def test_a_sound_link(facts: list[Fact]):
    """None of these degrades it."""
    assert combined(DegradedLink, *facts) == []


@pytest.mark.parametrize(
    ("power", "found"),
    [
        (GpuPower(index=0, limit="lowered", at_limit=True, draw_w=149, limit_w=150, default_limit_w=300), [True]),
        (GpuPower(index=0, limit="lowered", at_limit=True, draw_w=279, limit_w=280, default_limit_w=300), [False]),
        (GpuPower(index=0, limit="lowered", at_limit=False, draw_w=90, limit_w=150, default_limit_w=300), []),
        (GpuPower(index=0, limit="default", at_limit=True, draw_w=299, limit_w=300, default_limit_w=300), []),
    ],
)
def test_a_lowered_limit_that_is_reached(power: GpuPower, found: list[bool]) -> None:
    assert [one.far_below for one in combined(HeldDownGpu, power)] == found


@pytest.mark.parametrize(("gpus", "names"), [([GPU], [f"GPU {GPU}"]), ([GPU, OTHER], ["GPU number 0"])])
def test_a_link_by_number_is_that_of_the_only_gpu(gpus: list[str], names: list[str]) -> None:
    link = GpuPcieLink(index=0, state="narrower", lanes=8, lanes_max=16)
    found = combined(DegradedLink, link, *[Gpu(bdf=bdf, reported_by="lspci") for bdf in gpus])
    assert [one.name for one in found] == names


def test_errors_that_counters_hold() -> None:
    """Those of the bus count by themselves, repeated packets only beside an error that the kernel logged."""
    replays = GpuPcieLink(bdf=GPU, replays=20_000)
    logged = PcieError(bdf=GPU, severity="corrected", driver="nvidia", vendor_id="10de")
    counted = PcieErrorCounts(bdf=GPU, device="gpu", correctable=48_000)

    assert [link.many_errors for link in combined(DegradedLink, replays, logged)] == [True]
    assert [link.many_errors for link in combined(DegradedLink, Gpu(bdf=GPU), counted)] == [True]
    assert combined(DegradedLink, Gpu(bdf=GPU), replays) == []
