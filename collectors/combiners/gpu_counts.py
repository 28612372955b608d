"""Whether the driver offers as many GPUs as are on the PCI bus."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Looked, Observed, Reading
from kb.facts.gpu_bus import GpuCount, GpusMissing

_Counted = list[tuple[GpuCount, Observed]]


def combine(facts: Facts) -> Iterator[Reading]:
    """One GpusMissing where both the bus and the driver were counted.

    Listings of one kind may disagree: a container shows some of the GPUs, an evidence folder holds two machines.
    """
    counts = facts.of(GpuCount)
    on_bus: _Counted = [one for one in counts if one[0].seen_by == "pci"]
    in_driver: _Counted = [one for one in counts if one[0].seen_by == "driver"]
    if not on_bus or not in_driver:
        return
    bus, of_bus = min(on_bus, key=lambda one: one[0].count)
    driver, of_driver = max(in_driver, key=lambda one: one[0].count)
    same = [one for one in on_bus if one[0].count == bus.count]
    fact = GpusMissing(
        missing=max(bus.count - driver.count, 0),
        on_bus=bus.count,
        in_driver=driver.count,
        with_other_driver=next(
            (one.with_other_driver for one, _ in same if one.with_other_driver is not None), None
        ),
        off_bus=max((one.off_bus for one, _ in same if one.off_bus is not None), default=None),
    )
    yield derived(fact, [of_bus, of_driver, *(observed for _, observed in same)])
    yield Looked(GpusMissing.kind, complete=True, where=of_driver.source.path)
