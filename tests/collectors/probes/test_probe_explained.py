"""From a probe to its meaning: the journals of spoiled runs, read and explained like any other evidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from probe_support import SMALL, Ran, needs_torch

from diagnose.explain import explain, read_case

TRANSLATED = "[    0.512345] iommu: Default domain type: Translated \n"
PASSED_THROUGH_AND_REDIRECTED = """$ cd /sys/kernel/iommu_groups; grep -H ^ $PWD/*/type; ls -d $PWD/*/devices/*
/sys/kernel/iommu_groups/21/type:identity
/sys/kernel/iommu_groups/21/devices/0000:21:00.0
$ sudo lspci -vvv
20:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge (prog-if 00)
\tBus: primary=20, secondary=21, subordinate=21, sec-latency=0
\tCapabilities: [2a0 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
21:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)
"""


def first_cause(*paths: Path) -> str:
    return explain([str(path) for path in paths]).diagnosis.findings[0].cause.cause


@pytest.fixture
def beside(tmp_path):
    """Writes other evidence of the same machine."""

    def write(text: str) -> Path:
        path = tmp_path / "other.txt"
        path.write_text(text)
        return path

    return write


@needs_torch
@pytest.mark.parametrize(
    ("other", "cause"),
    [(TRANSLATED, "p2p.iommu-corruption"), (PASSED_THROUGH_AND_REDIRECTED, "p2p.acs-redirect")],
)
def test_a_spoiled_copy_that_is_right_through_the_host_leads_to_the_path_between_the_gpus(
    tmp_path, beside, other, cause
):
    """Which part of the path, the rest of the machine tells."""
    fault = {"kind": "zeros", "way": "copy", "pair": [0, 1]}
    ran = Ran(tmp_path, "p2p", **SMALL, fault=fault, ways=["host", "copy"])

    assert first_cause(ran.folder, beside(other)) == cause


@needs_torch
def test_right_copies_accuse_nobody(tmp_path, beside):
    """Also under an IOMMU that translates."""
    ran = Ran(tmp_path, "p2p", **SMALL, ways=["host", "copy"])
    report = explain([str(ran.folder), str(beside(TRANSLATED))])

    assert [one.cause.cause for one in report.diagnosis.findings if one.cause.kind == "fault"] == []


@needs_torch
def test_a_hang_becomes_facts_of_the_pair_and_of_the_step(tmp_path):
    """The copy that hung, and the run that stopped there."""
    fault = {"kind": "hang", "way": "copy", "pair": [1, 0]}
    ran = Ran(tmp_path, "p2p", **SMALL, fault=fault, ways=["host", "copy"], step_s=4.0)
    facts = [one.fact for one in read_case([str(ran.folder)]).observed]
    copies = {(fact.src, fact.dst, fact.way): fact.data for fact in facts if fact.kind == "peer_copy"}
    (stopped,) = (fact for fact in facts if fact.kind == "probe_run")

    assert copies == {
        (0, 1, "host"): "right",
        (1, 0, "host"): "right",
        (0, 1, "copy"): "right",
        (1, 0, "copy"): "hung",
    }
    assert (stopped.outcome, stopped.step, stopped.src, stopped.dst) == ("hung", "copy", 1, 0)


def test_a_probe_that_could_not_run_says_nothing_on_the_machine(tmp_path):
    """No copies were looked at, and no fault is seen in that."""
    ran = Ran(tmp_path, "p2p", python="/nowhere/python")
    case = read_case([str(ran.folder)])

    assert {one.fact.kind for one in case.observed} == {"probe_run"}
    assert "peer_copy" not in {looked.kind for looked in case.looked if looked.complete}
