"""The same test of NCCL with direct copies between the GPUs and without them."""

from __future__ import annotations

import pytest
from combining import at, combined

from kb.facts.nccl import NcclSetting
from kb.facts.nccl_tools import NcclTestResult
from kb.facts.p2p import DirectCopiesGain
from kb.facts.settings import Setting


def run(gbps: float | None, *, off: bool = False, **more) -> object:
    """A test of 256 MiB that passed."""
    fields = {"outcome": "passed", "operation": "all_reduce", "ranks": 2, "last_size_bytes": 1 << 28, **more}
    return at(NcclTestResult(last_busbw_gbps=gbps, direct_copies_off=off or None, **fields))


PAIRS = {
    "twice as fast": (run(12.0), run(6.0, off=True), [(12.0, 6.0, "faster")]),
    "30 percent are clear": (run(13.0), run(10.0, off=True), [(13.0, 10.0, "faster")]),
    "a little less is chance": (run(12.9), run(10.0, off=True), [(12.9, 10.0, "same")]),
    "slower": (run(6.0), run(12.0, off=True), [(6.0, 12.0, "slower")]),
    "the operation is not known of one": (run(12.0, operation=None), run(6.0, off=True), [(12.0, 6.0, "faster")]),
    "another operation": (run(12.0, operation="alltoall"), run(6.0, off=True), []),
    "other ranks": (run(12.0, ranks=4), run(6.0, off=True), []),
    "another size": (run(12.0, last_size_bytes=1 << 20), run(6.0, off=True), []),
    "both with direct copies": (run(12.0), run(6.0), []),
    "no bandwidth": (run(None), run(6.0, off=True), []),
    "nothing measured": (run(0.0), run(0.0, off=True), []),
    "one failed": (run(12.0, outcome="failed"), run(6.0, off=True), []),
}


@pytest.mark.parametrize(("on", "off", "gains"), PAIRS.values(), ids=PAIRS)
def test_what_direct_copies_are_worth(on, off, gains):
    """Only runs that are alike are compared."""
    found = combined(DirectCopiesGain, on, off)

    assert [gain.job_is_without for gain in found] == [False] * len(gains)
    assert [(gain.with_gbps, gain.without_gbps, gain.effect) for gain in found] == gains


SAID = {
    "by NCCL in the job's log": (at(NcclSetting(name="NCCL_P2P_DISABLE", value="1"), "job.log"), True),
    "in the job's start": (at(Setting(name="NCCL_P2P_DISABLE", value="1", origin="launch"), "start.sh"), True),
    "beside the test": (at(NcclSetting(name="NCCL_P2P_DISABLE", value="1")), False),
    "that it is not off": (at(NcclSetting(name="NCCL_P2P_DISABLE", value="0"), "job.log"), False),
    "of another setting": (at(NcclSetting(name="NCCL_IB_DISABLE", value="1"), "job.log"), False),
}


@pytest.mark.parametrize(("said", "without"), SAID.values(), ids=SAID)
def test_whether_the_job_is_without_them(said, without):
    """What the test alone was given says nothing of the job."""
    found = combined(DirectCopiesGain, run(12.0), run(6.0, off=True), said)

    assert [gain.job_is_without for gain in found] == [without]
