"""Examples inside rules become evidence."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from kb.evidence import Looked, Observed, Source
from kb.examples import example_readings
from kb.facts.driver import KernelModule
from kb.facts.gpu import Gpu, GpuMemorySample
from kb.facts.iommu import IommuGroup
from kb.rule import Example


def readings(*facts: dict[str, object]) -> list[Observed | Looked]:
    """The evidence of an example with these facts."""
    return example_readings(Example(name="x", facts=facts, expect="possible"))


def test_a_fact_is_observed_at_its_number_and_its_kind_counts_as_looked_for() -> None:
    """The source names the example and shows the fact as it is written."""
    found = readings(
        {"kernel_module": {"version": "550.54", "loaded": True}}, {"gpu": None}, {"gpu": {"index": 1}}
    )

    text = "kernel_module: {version: 550.54, loaded: true}"
    assert found == [
        Observed(KernelModule(version="550.54"), Source("example: x", 1, 1, text)),
        Observed(Gpu(), Source("example: x", 2, 2, "gpu: {}")),
        Observed(Gpu(index=1), Source("example: x", 3, 3, "gpu: {index: 1}")),
        Looked("kernel_module", complete=True, where="example: x"),
        Looked("gpu", complete=True, where="example: x"),
    ]


@pytest.mark.parametrize("partly_first", [True, False])
def test_partly_outweighs_the_fact(partly_first: bool) -> None:
    """A kind with a fact may still have been looked for in part only."""
    entries: list[dict[str, object]] = [{"partly": ["gpu"]}, {"gpu": {"index": 0}}]
    found = readings(*(entries if partly_first else reversed(entries)))

    assert [one for one in found if isinstance(one, Looked)] == [
        Looked("gpu", complete=False, where="example: x", reason="truncated")
    ]


def test_looked_takes_one_kind_or_several() -> None:
    """Without a fact: looked for, and nothing there."""
    found = readings({"looked": "gpu"}, {"looked": ["boot", "container"]}, {"partly": "iommu_fault"})

    assert [(one.kind, one.complete) for one in found if isinstance(one, Looked)] == [
        ("gpu", True), ("boot", True), ("container", True), ("iommu_fault", False)
    ]  # fmt: skip


def test_decimals_are_numbers_where_a_number_is_wanted() -> None:
    """Rule files know no decimals, so they arrive as text."""
    (sample, *_) = readings({"gpu_memory_sample": {"index": 0, "used_mib": 5, "order": 0, "at_s": "1.5"}})

    assert isinstance(sample, Observed)
    assert sample.fact == GpuMemorySample(index=0, used_mib=5, order=0, at_s=1.5)


def test_addresses_are_normal() -> None:
    """As from a reader."""
    (group, *_) = readings({"iommu_group": {"group": 1, "bdf": "41:00.0", "domain": "DMA"}})

    assert isinstance(group, Observed)
    assert group.fact == IommuGroup(group=1, bdf="0000:41:00.0", domain="DMA")


def test_a_fact_that_is_none_is_refused() -> None:
    """The checks say so first; here it is an error."""
    with pytest.raises(ValidationError):
        readings({"gpu": {"index": "zero"}})
    with pytest.raises(KeyError):
        readings({"gpuu": {}})
