"""How GPUs are connected, and which refused DMA came from one of them."""

from __future__ import annotations

from itertools import combinations

import pytest
from combining import at, combined, complete, in_part, looked

from kb.facts.gpu import Gpu
from kb.facts.iommu import GpuDmaFault, IommuFault
from kb.facts.p2p import GpuInterconnect, PeerCopy, TensorMove, TensorPair, TopologyLink

CARD = "0000:41:00.0"
AUDIO = "0000:41:00.1"


def matrix(*links: str, path: str = "topo.txt") -> list:
    """The links among GPUs, pair after pair."""
    size = next(n for n in range(2, 20) if n * (n - 1) // 2 >= len(links))
    pairs = combinations(range(size), 2)
    return [
        at(TopologyLink(src=f"GPU{a}", dst=f"GPU{b}", link=link), path)
        for (a, b), link in zip(pairs, links, strict=False)
    ]


LINKS = {
    "all on NVLink": (["NV18", "NV18", "NV4"], 3, "all", "NV"),
    "some on NVLink": (["NV4", "PHB", "PIX"], 3, "some", "PHB"),
    "some on NVLink, the rest far": (["NV4", "SYS", "PIX"], 3, "some", "SYS"),
    "none": (["PIX", "PXB", "NODE"], 3, "none", "NODE"),
    "near": (["PIX"], 2, "none", "PIX"),
    "far": (["SYS"], 2, "none", "SYS"),
    "a link of no known kind is taken as far": (["???"], 2, "none", "SYS"),
    "a link of no known kind among others": (["PIX", "???", "PXB"], 3, "none", "PXB"),
}


@pytest.mark.parametrize(("links", "gpus", "nvlink", "farthest"), LINKS.values(), ids=LINKS)
def test_the_links_of_a_matrix_together(links, gpus, nvlink, farthest):
    """NVLink between all, some or no pairs; and the worst way among the others."""
    assert combined(GpuInterconnect, *matrix(*links)) == [
        GpuInterconnect(gpus=gpus, nvlink=nvlink, farthest=farthest)
    ]


def test_only_links_between_gpus_count():
    """Network cards are of no matter here, nor is a GPU to itself."""
    others = [
        TopologyLink(src="GPU0", dst="NIC0", link="SYS"),
        TopologyLink(src="NIC0", dst="NIC1", link="SYS"),
        TopologyLink(src="GPU0", dst="GPU0", link="SYS"),
        TopologyLink(src="xGPU0", dst="GPU1", link="SYS"),
    ]

    assert [one.farthest for one in combined(GpuInterconnect, *matrix("PIX"), *others)] == ["PIX"]
    assert combined(GpuInterconnect, *others) == []


def test_each_matrix_is_of_its_own_machine():
    """Two files are two machines, or two moments."""
    facts = [*matrix("NV4", path="node1/topo.txt"), *matrix("SYS", path="node2/topo.txt")]

    assert [one.nvlink for one in combined(GpuInterconnect, *facts)] == ["all", "none"]


def fault(bdf: str, driver: str | None = None) -> IommuFault:
    return IommuFault(bdf=bdf, driver=driver, vendor="amd", count=3, first_s=1.5)


FAULTS = {
    "a listed GPU": ([Gpu(bdf=CARD), fault(CARD)], [CARD]),
    "the audio function of a listed GPU": ([Gpu(bdf=CARD), fault(AUDIO)], []),
    "the driver names a GPU": ([fault(CARD, "nvidia")], [CARD]),
    "the driver is bound to the audio function too": ([fault(AUDIO, "nvidia")], []),
    "another driver": ([fault(CARD, "nvme")], []),
    "another driver over a listed GPU": ([Gpu(bdf=CARD), fault(CARD, "vfio-pci")], [CARD]),
    "another device": ([Gpu(bdf=CARD), fault("0000:01:00.0")], []),
    "nobody says what it is": ([fault(CARD)], []),
    "a GPU without an address": ([Gpu(index=0), fault(CARD)], []),
    "two devices, one of them a GPU": ([Gpu(bdf=CARD), fault("0000:01:00.0"), fault(CARD)], [CARD]),
}


@pytest.mark.parametrize(("facts", "gpus"), FAULTS.values(), ids=FAULTS)
def test_which_faults_are_of_a_gpu(facts, gpus):
    """By a list of the GPUs, or by the driver that the line names."""
    found = combined(GpuDmaFault, *facts)

    assert found == [GpuDmaFault(bdf=bdf, count=3, first_s=1.5) for bdf in gpus]


LOOKS = {
    "no fault at all": ([], True),
    "a fault of a listed GPU": ([Gpu(bdf=CARD), fault(CARD)], True),
    "a fault of another device than those listed": ([Gpu(bdf=CARD), fault("0000:01:00.0")], True),
    "a fault of a device with another driver": ([fault(CARD, "nvme")], True),
    "a fault of a device that nobody names": ([fault(CARD)], False),
}


@pytest.mark.parametrize(("facts", "whole"), LOOKS.values(), ids=LOOKS)
def test_that_no_gpu_was_refused_is_known_only_where_the_devices_are(facts, whole):
    """A fault of an unknown device may be one of a GPU."""
    assert looked(GpuDmaFault, *facts, complete(IommuFault)) == [whole]


def test_a_log_that_was_cut_proves_nothing():
    """Neither way."""
    assert looked(GpuDmaFault, in_part(IommuFault)) == [False]
    assert looked(GpuInterconnect, in_part(TopologyLink)) == [False]


def test_an_empty_print_is_a_copy_where_code_moves_a_tensor_there():
    """And only there."""
    pair = TensorPair(src=0, dst=1, elements=2, reads="0, 0")

    assert combined(PeerCopy, pair, TensorMove(src=0, dst=1)) == [
        PeerCopy(src=0, dst=1, data="wrong", elements=2, wrong=2, reads="0, 0")
    ]
    assert combined(PeerCopy, pair) == combined(PeerCopy, pair, TensorMove(dst=2)) == []
