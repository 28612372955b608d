"""Which PCIe errors concern a GPU."""

from __future__ import annotations

import pytest
from combining import combined, complete, looked

from kb.facts.gpu import Gpu
from kb.facts.pcie import GpuLinkError, PcieBridge, PcieError, PcieLinkEvent
from kb.facts.xid import GpuIdentity

GPU = "0000:41:00.0"
PORT = "0000:40:01.1"
BRIDGE = PcieBridge(bdf=PORT, secondary=0x41, subordinate=0x41)


def error(bdf: str, **more) -> PcieError:
    return PcieError(**{"bdf": bdf, "severity": "corrected", "driver": "pcieport", **more})


CASES = {
    "of a listed GPU": ([Gpu(bdf=GPU), error(GPU, driver=None)], GPU),
    "of the audio function of a listed GPU": ([Gpu(bdf=GPU), error("0000:41:00.1", driver="snd_hda_intel")], GPU),
    "of a device bound to nvidia": ([error(GPU, driver="nvidia")], GPU),
    "of a device that NVIDIA made": ([error(GPU, driver="vfio-pci", vendor_id="10de")], GPU),
    "of a port above a GPU": ([GpuIdentity(bdf=GPU, uuid="GPU-1"), BRIDGE, error(PORT)], GPU),
    "of a port, and the kernel told the GPU below": ([error(PORT, below=GPU)], GPU),
    "of an NVSwitch": ([error("0000:05:00.0", driver="nvidia-nvswitch", vendor_id="10de")], None),
    "of a disk": ([Gpu(bdf=GPU), error("0000:04:00.0", driver="nvme", vendor_id="144d")], None),
    "of a port above a disk": (
        [Gpu(bdf=GPU), PcieBridge(bdf="0000:00:1d.0", secondary=4, subordinate=4), error("0000:00:1d.0")],
        None,
    ),
    "of a port above two GPUs": (
        [
            Gpu(bdf=GPU),
            Gpu(bdf="0000:42:00.0"),
            PcieBridge(bdf=PORT, secondary=0x41, subordinate=0x42),
            error(PORT),
        ],
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_errors(case):
    """The GPU itself, or the one below the port."""
    facts, gpu = CASES[case]

    assert [one.gpu for one in combined(GpuLinkError, *facts)] == ([gpu] if gpu else [])


def test_a_lost_link():
    """It is told like an error, by the port."""
    event = PcieLinkEvent(bdf=PORT, event="link-down", slot="4", count=2)
    found = combined(GpuLinkError, Gpu(bdf=GPU), BRIDGE, event)

    assert [(one.gpu, one.bdf, one.severity, one.count) for one in found] == [(GPU, PORT, "link-lost", 2)]


def test_an_unclear_port_leaves_the_question_open():
    """It may lead to a GPU."""
    assert looked(GpuLinkError, complete(PcieError)) == [True]
    assert looked(GpuLinkError, complete(PcieError), error(PORT)) == [False]
    assert looked(GpuLinkError, complete(PcieError), error("0000:04:00.0", driver="nvme")) == [True]
