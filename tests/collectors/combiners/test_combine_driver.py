"""The loaded kernel module, whoever reports it, and where the reports disagree."""

from __future__ import annotations

import pytest
from combining import at, combined, complete, looked, observed

from kb.facts.conclusion import Disagreement
from kb.facts.driver import ApiMismatch, KernelModule, NvidiaSmi, NvmlError


def module(version: str | None, **more) -> KernelModule:
    return KernelModule(**{"version": version, "reported_by": "procfs", **more})


def test_the_header_of_the_tool_reports_the_module():
    """Its second number."""
    smi = NvidiaSmi(tool_version="535.1", driver_version="550.90.07")

    assert combined(KernelModule, smi) == [KernelModule(version="550.90.07", reported_by="nvidia-smi")]
    assert looked(KernelModule, smi, complete(NvidiaSmi)) == [True]


@pytest.mark.parametrize(
    "smi", [NvidiaSmi(tool_version="1"), NvidiaSmi(driver_version="550.90.07", wsl=True)], ids=["no number", "WSL"]
)
def test_a_header_that_tells_nothing_of_the_module(smi):
    """On WSL the number is that of the Windows driver."""
    assert combined(KernelModule, smi) == []


DISAGREE = {
    "one report": ([module("1.0")], None),
    "two that agree": ([module("1.0"), module("1.0", reported_by="sysfs")], None),
    "two that differ": ([module("1.0"), module("2.0", reported_by="sysfs")], ("1.0 (procfs)", "2.0 (sysfs)")),
    "the tool differs": ([module("1.0"), NvidiaSmi(driver_version="2.0")], ("1.0 (procfs)", "2.0 (nvidia-smi)")),
    "three, the last differs": (
        [module("1.0"), module("1.0", reported_by="sysfs"), module("3.0", reported_by="kernel-log")],
        ("1.0 (procfs)", "3.0 (kernel-log)"),
    ),
    "another module": ([module("1.0"), module("2.0", name="nvidia_uvm")], None),
    "one that is not loaded": ([module("1.0"), module("2.0", loaded=False)], None),
    "one of no version": ([module("1.0"), module(None)], None),
}


@pytest.mark.parametrize(("facts", "sides"), DISAGREE.values(), ids=DISAGREE)
def test_two_sources_that_name_two_versions_disagree(facts, sides):
    """Said once, with who said what; never settled silently."""
    found = combined(Disagreement, *facts)

    assert [(one.one, one.other) for one in found] == ([sides] if sides else [])
    assert {one.question for one in found} <= {"version of the loaded kernel module"}


def test_a_disagreement_leads_to_what_was_read():
    """Also where one side was combined itself."""
    facts = at(module("1.0"), "version.txt"), at(NvidiaSmi(driver_version="2.0"), "smi.txt")

    assert [part.source.path for part in observed(Disagreement, *facts)[0].roots()] == ["version.txt", "smi.txt"]


def test_a_module_that_refuses_a_client_names_itself():
    """Where nobody else names its version."""
    refusal = ApiMismatch(client_version="535.1", module_version="550.2")

    assert combined(KernelModule, refusal) == [KernelModule(version="550.2", reported_by="kernel-log")]
    assert combined(KernelModule, module("550.2"), refusal) == []


def test_nvml_that_finds_another_version_tells_that_a_module_is_loaded():
    """Of which version, it does not tell."""
    mismatch = NvmlError(problem="version-mismatch")

    assert combined(KernelModule, mismatch) == [KernelModule(reported_by="other")]
    assert combined(KernelModule, NvmlError(problem="driver-not-loaded")) == []
    assert combined(KernelModule, module("550.2"), mismatch) == []
