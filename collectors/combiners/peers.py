"""How the GPUs are connected, which of the refused DMA came from a GPU, and copies that arrived empty."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Looked, Observed, Reading
from kb.facts.gpu import Gpu
from kb.facts.iommu import GpuDmaFault, IommuFault
from kb.facts.p2p import GpuInterconnect, PeerCopy, TensorMove, TensorPair, TopologyLink

DISTANCE = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")

_GPU = re.compile(r"GPU\d+")


def combine(facts: Facts) -> Iterator[Reading]:
    """GpuInterconnect of each topology matrix, GpuDmaFault of each faulting device that is a GPU, and PeerCopy."""
    yield from _empty_copies(facts)
    matrices: dict[str, list[tuple[TopologyLink, Observed]]] = defaultdict(list)
    for link, observed in facts.of(TopologyLink):
        if _GPU.fullmatch(link.src) and _GPU.fullmatch(link.dst) and link.src != link.dst:
            matrices[observed.source.path].append((link, observed))
    for links in matrices.values():
        yield _interconnect(links)
    yield from looked_at(facts, GpuInterconnect, TopologyLink)

    gpus = {gpu.bdf for gpu, _ in facts.of(Gpu) if gpu.bdf}
    for fault, observed in facts.of(IommuFault):
        # nvidia also binds the audio and USB functions of a card: only function 0 is the GPU.
        if fault.bdf in gpus or (fault.driver == "nvidia" and fault.bdf.endswith(".0")):
            fact = GpuDmaFault(bdf=fault.bdf, count=fault.count, first_s=fault.first_s)
            yield derived(fact, [observed])
    unclear = not gpus and any(fault.driver is None for fault, _ in facts.of(IommuFault))
    for looked in looked_at(facts, GpuDmaFault, IommuFault):
        # Without a list of the GPUs, a device that no driver is named for may be one.
        yield replace(looked, complete=False, reason="not-collected") if unclear and looked.complete else looked


def _empty_copies(facts: Facts) -> Iterator[Reading]:
    """A program printed a tensor on two GPUs, empty on the second, and its code moves one there: the copy."""
    for pair, printed in facts.of(TensorPair):
        for move, moved in facts.of(TensorMove):
            if move.dst == pair.dst and move.src in (None, pair.src):
                fact = PeerCopy(
                    src=pair.src,
                    dst=pair.dst,
                    data="wrong",
                    elements=pair.elements,
                    wrong=pair.elements,
                    reads=pair.reads,
                )
                yield derived(fact, [printed, moved])
                yield Looked(PeerCopy.kind, True, printed.source.path)
                return


def _interconnect(links: list[tuple[TopologyLink, Observed]]) -> Observed:
    classes = ["NV" if link.link.startswith("NV") else link.link for link, _ in links]
    on_nvlink = classes.count("NV")
    known = [name for name in classes if name in DISTANCE]
    fact = GpuInterconnect(
        gpus=len({link.src for link, _ in links} | {link.dst for link, _ in links}),
        nvlink="all" if on_nvlink == len(classes) else "some" if on_nvlink else "none",
        farthest=max(known, key=DISTANCE.index, default="SYS"),
    )
    return derived(fact, (observed for _, observed in links))
