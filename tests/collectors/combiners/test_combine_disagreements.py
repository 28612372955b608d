"""Sources that answer one question differently are told apart, and nothing else is called a contradiction."""

from __future__ import annotations

from combining import combined

from kb.facts import Fact
from kb.facts.conclusion import Disagreement
from kb.facts.diagnostics import DiagResult
from kb.facts.nccl import NcclSetting
from kb.facts.settings import Setting
from kb.facts.xid import LoggedXid

XID = LoggedXid(code=79, bdf="0000:41:00.0")
PASSED = DiagResult(test="GPU Memory", status="pass")


def put(value: str, origin: str = "launch", mode: str = "set") -> Setting:
    return Setting(name="NCCL_X", value=value, origin=origin, mode=mode)


def told(*facts: Fact) -> list[tuple[str, str, str]]:
    return [(one.question, one.one, one.other) for one in combined(Disagreement, *facts)]


def test_a_value_that_nccl_does_not_report_is_a_disagreement():
    assert told(put("1"), NcclSetting(name="NCCL_X", value="0")) == [
        ("value of NCCL_X", "1 (launch)", "0 (NCCL's own report)")
    ]


def test_one_place_that_agrees_with_nccl_is_enough():
    assert told(put("1"), put("0", "process"), NcclSetting(name="NCCL_X", value="0")) == []


def test_defaults_and_far_places_may_differ():
    reported = NcclSetting(name="NCCL_X", value="0")

    assert told(put("1", "image"), reported) == []
    assert told(put("1", "sitecustomize", "default"), reported) == []


def test_a_passed_diagnosis_disagrees_with_an_xid_of_this_boot():
    assert told(PASSED, XID) == [
        ("health of the GPUs", "all tests passed (DCGM)", "Xid 79 of GPU 0000:41:00.0 (kernel log)")
    ]


def test_an_xid_of_an_earlier_boot_or_of_an_application_does_not_disagree_with_it():
    assert told(PASSED, XID.model_copy(update={"boot": "earlier"})) == []
    assert told(PASSED, XID.model_copy(update={"code": 45})) == []


def test_a_diagnosis_that_failed_agrees_with_an_xid():
    assert told(PASSED, DiagResult(test="PCIe", status="fail"), XID) == []
