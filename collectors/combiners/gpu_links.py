"""Which PCIe errors and lost links concern a GPU: its own, and those of the one port that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.gpu import Gpu
from kb.facts.pcie import GpuLinkError, PcieBridge, PcieError, PcieLinkEvent
from kb.facts.xid import GpuIdentity, LoggedXid

NVIDIA = "10de"


def combine(facts: Facts) -> Iterator[Reading]:
    """GpuLinkError for each PcieError and PcieLinkEvent of a GPU or of a port above exactly one GPU."""
    gpus = _gpus(facts)
    bridges = {bridge.bdf: (bridge, observed) for bridge, observed in facts.of(PcieBridge)}
    unclear = False
    for error, observed in facts.of(PcieError):
        found = _gpu_of_error(error, gpus) or _gpu_below(error.bdf, gpus, bridges)
        unclear = unclear or (found is None and error.driver in {None, "pcieport"})
        if found is not None:
            gpu, basis = found
            fact = GpuLinkError(
                gpu=gpu,
                bdf=error.bdf,
                severity=error.severity,
                bits=error.bits,
                count=error.count,
                boot=error.boot,
                first_s=error.first_s,
            )
            yield derived(fact, [observed, *basis])
    for event, observed in facts.of(PcieLinkEvent):
        found = _gpu_below(event.bdf, gpus, bridges)
        unclear = unclear or found is None
        if found is not None:
            gpu, basis = found
            fact = GpuLinkError(
                gpu=gpu,
                bdf=event.bdf,
                severity="link-lost",
                count=event.count,
                boot=event.boot,
                first_s=event.first_s,
            )
            yield derived(fact, [observed, *basis])
    for looked in looked_at(facts, GpuLinkError, PcieError):
        # An error of a port may be that of a GPU below it, where nothing tells what is below it.
        yield replace(looked, complete=False, reason="not-collected") if unclear and looked.complete else looked


def _gpus(facts: Facts) -> dict[str, list[Observed]]:
    """Addresses that are known to be GPUs, each with who says so."""
    gpus: dict[str, list[Observed]] = {}
    named = (
        *((gpu.bdf, observed) for gpu, observed in facts.of(Gpu)),
        *((identity.bdf, observed) for identity, observed in facts.of(GpuIdentity)),
        *((xid.bdf, observed) for xid, observed in facts.of(LoggedXid)),
    )
    for bdf, observed in named:
        if bdf is not None:
            gpus.setdefault(bdf, [observed])
    return gpus


def _gpu_of_error(error: PcieError, gpus: dict[str, list[Observed]]) -> tuple[str, list[Observed]] | None:
    """The GPU whose own error it is, any function of it, or below whose port the kernel said it lies."""
    card = error.bdf[:-1] + "0"
    if card in gpus:
        return card, gpus[card]
    is_switch = (error.driver or "").startswith("nvidia-nvswitch")
    if not is_switch and (error.driver == "nvidia" or (error.vendor_id == NVIDIA and error.driver != "pcieport")):
        return card, []
    return (error.below, []) if error.below else None


def _gpu_below(
    port: str, gpus: dict[str, list[Observed]], bridges: dict[str, tuple[PcieBridge, Observed]]
) -> tuple[str, list[Observed]] | None:
    """The one GPU behind a port; None where there are several, or none is known."""
    if port not in bridges:
        return None
    bridge, observed = bridges[port]
    below = [
        gpu for gpu in gpus if gpu[:4] == port[:4] and bridge.secondary <= int(gpu[5:7], 16) <= bridge.subordinate
    ]
    return (below[0], [observed, *gpus[below[0]]]) if len(below) == 1 else None
