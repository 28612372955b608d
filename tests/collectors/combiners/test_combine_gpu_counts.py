"""GPUs on the bus that the driver does not offer."""

from __future__ import annotations

import pytest
from combining import at, combined, looked, observed

from kb.facts.gpu_bus import GpuCount, GpusMissing


def pci(count: int, **fields: int) -> GpuCount:
    return GpuCount(seen_by="pci", count=count, reported_by="lspci", **fields)


def driver(count: int) -> GpuCount:
    return GpuCount(seen_by="driver", count=count, reported_by="nvidia-smi")


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        ([pci(8), driver(8)], 0),
        ([pci(8), driver(7)], 1),
        ([driver(6), pci(8)], 2),
        ([pci(4), driver(8)], 0),
        ([pci(8), pci(16), driver(8)], 0),
        ([pci(8), driver(1), driver(8)], 0),
        ([pci(8), driver(1)], 7),
    ],
)
def test_missing(facts: list[GpuCount], missing: int) -> None:
    assert [one.missing for one in combined(GpusMissing, *facts)] == [missing]


@pytest.mark.parametrize(
    "facts",
    [
        [],
        [pci(8)],
        [driver(8)],
        [pci(8), GpuCount(seen_by="module", count=7, reported_by="procfs")],
    ],
)
def test_one_side_alone_says_nothing(facts: list[GpuCount]) -> None:
    assert combined(GpusMissing, *facts) == []
    assert looked(GpusMissing, *facts) == []


def test_what_explains_the_gap_comes_along() -> None:
    sysfs = GpuCount(seen_by="pci", count=8, reported_by="sysfs", with_other_driver=2, off_bus=0)
    fact = combined(GpusMissing, pci(8, off_bus=1), sysfs, driver(5))[0]
    assert (fact.missing, fact.with_other_driver, fact.off_bus) == (3, 2, 1)
    assert looked(GpusMissing, pci(8), driver(5)) == [True]


def test_it_rests_on_both_listings() -> None:
    one = observed(GpusMissing, at(pci(2), "lspci.txt"), at(driver(1), "smi.txt"))[0]
    assert {root.source.path for root in one.roots()} == {"lspci.txt", "smi.txt"}
