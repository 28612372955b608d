"""In what machines differ, and what of it splits the sick from the well."""

from __future__ import annotations

from diagnose.differences import differences, with_faults
from kb.evidence import Looked, Observed, Reading, Source
from kb.facts import Fact
from kb.facts.driver import KernelModule
from kb.facts.machine import KernelParameter


def part(*facts: Fact, looked: tuple[str, ...] = ()) -> list[Reading]:
    readings: list[Reading] = [Observed(one, Source("file", 1, 1, "text")) for one in facts]
    return [*readings, *(Looked(kind, True, "file") for kind in looked)]


def module(version: str) -> KernelModule:
    return KernelModule(version=version, reported_by="procfs")


def told(parts: dict[str, list[Reading]], sick: set[str]) -> list[tuple[str, dict[str, tuple[str, ...]], bool]]:
    return [(one.subject, dict(one.machines), one.splits) for one in differences(parts, sick)]


def test_the_odd_one_out_is_first_and_splits_the_sick_from_the_well():
    parts = {"a": part(module("550.1")), "b": part(module("550.1")), "c": part(module("535.2"))}

    assert told(parts, {"c"}) == [("kernel module nvidia", {"535.2": ("c",), "550.1": ("a", "b")}, True)]


def test_what_sick_and_well_ones_share_does_not_split_them():
    parts = {"a": part(module("550.1")), "b": part(module("550.1")), "c": part(module("535.2"))}

    assert told(parts, {"a"})[0][2] is False


def test_what_is_the_same_everywhere_is_no_difference():
    assert told({"a": part(module("550.1")), "b": part(module("550.1"))}, set()) == []


def test_what_each_machine_has_for_itself_tells_nothing():
    parts = {name: part(KernelParameter(name="crashkernel", value=name)) for name in ("a", "b", "c")}

    assert told(parts, set()) == []
    assert told({name: part(KernelParameter(name="root", value=name)) for name in ("a", "b")}, set()) == []


def test_what_was_looked_for_and_is_not_there_differs_from_what_is():
    iommu = KernelParameter(name="iommu", value="pt")
    parts = {"a": part(iommu), "b": part(looked=("kernel_parameter",)), "c": part()}

    assert told(parts, set()) == [("kernel parameter iommu", {"none": ("b",), "pt": ("a",)}, False)]


def test_one_machine_alone_differs_from_none():
    assert told({"": part(module("550.1"), module("535.2"))}, set()) == []


def test_a_machine_is_sick_when_a_fault_is_about_it_or_about_a_part_of_it():
    abouts = ["host a", "GPU 0000:41:00.0 on host b", "rank 3"]

    assert list(with_faults(abouts, ["host a", "host b", "host c"])) == ["host a", "host b"]
