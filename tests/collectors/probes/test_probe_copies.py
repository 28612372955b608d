"""Copies between GPUs, with the CPU in their place: what is wrong, hangs or crashes is told apart, and named."""

from __future__ import annotations

import pytest
from probe_support import SMALL, Ran, needs_torch
from processes import gone

pytestmark = needs_torch

WAYS = ["host", "no-access", "copy", "kernel", "ipc-read", "ipc-write"]


def test_right_copies_are_right_by_every_way_in_every_direction(tmp_path):
    """Every ordered pair, several sizes; the plan stands before the first of them."""
    ran = Ran(tmp_path, "p2p", **{**SMALL, "devices": 3, "sizes_bytes": [4096, 20000]})
    copies = [record for record in ran.ends("p2p") if "wrong" in record]
    plan = next(at for at, record in enumerate(ran.journal("p2p")) if record["event"] == "plan")
    first = next(at for at, record in enumerate(ran.journal("p2p")) if record.get("step") in WAYS)

    assert ran.outcome("p2p") == {"outcome": "completed"}
    assert [(one["step"], one["src"], one["dst"], one["size_bytes"]) for one in copies] == [
        (way, src, dst, size)
        for way in WAYS
        for src in range(3)
        for dst in range(3)
        if src != dst
        for size in (4096, 20000)
    ]
    assert {one["wrong"] for one in copies} == {0}
    assert {one["elements"] for one in copies} == {1024, 5000}
    assert plan < first
    assert ran.entry("p2p")["outcome"] == "ok"


@pytest.mark.parametrize(
    ("kind", "way", "pair", "wrong", "offsets", "holds"),
    [
        ("zeros", "copy", [0, 1], 1024, list(range(8)), "zeros"),
        ("stale", "kernel", [1, 0], 1024, list(range(8)), "what was there before"),
        ("one element", "host", [0, 1], 1, [7], None),
        ("zeros", "ipc-read", [1, 0], 1024, list(range(8)), "zeros"),
        ("stale", "ipc-write", [0, 1], 1024, list(range(8)), "what was there before"),
    ],
)
def test_a_spoiled_copy_is_counted_and_no_other(tmp_path, kind, way, pair, wrong, offsets, holds):
    """Neither zeros nor what was there before pass; the number and the first offsets are exact."""
    ran = Ran(tmp_path, "p2p", **SMALL, fault={"kind": kind, "way": way, "pair": pair}, ways=["host", way])
    (spoiled,) = ran.wrong("p2p").values()

    assert (spoiled["step"], spoiled["src"], spoiled["dst"]) == (way, *pair)
    assert (spoiled["wrong"], spoiled["first_wrong"]) == (wrong, offsets)
    assert holds is None or spoiled["holds"] == holds
    assert ran.outcome("p2p") == {"outcome": "completed"}


def test_without_an_offer_nothing_is_tried_between_peers(tmp_path):
    """The ways that need peer access are left out for that pair alone, and it is said which."""
    ran = Ran(tmp_path, "p2p", **SMALL, without_access=[[0, 1]], ways=["no-access", "copy"])
    tried = [(record["step"], record["src"], record["dst"]) for record in ran.ends("p2p") if "wrong" in record]

    assert tried == [("no-access", 0, 1), ("no-access", 1, 0), ("copy", 1, 0)]
    assert [one["offered"] for one in ran.journal("p2p") if one["event"] == "access"] == [False, True]


@pytest.mark.parametrize("way", ["copy", "ipc-read"])
def test_a_copy_that_hangs_is_named_by_pair_and_step(tmp_path, way):
    """Its processes are gone afterwards, those that it had started too."""
    ran = Ran(
        tmp_path,
        "p2p",
        **SMALL,
        fault={"kind": "hang", "way": way, "pair": [1, 0]},
        ways=["host", way],
        step_s=4.0,
    )
    end = ran.outcome("p2p")
    pids = [record["pid"] for record in ran.journal("p2p") if "pid" in record]

    assert end["outcome"] == "hung"
    assert end["steps"] == [{"step": way, "src": 1, "dst": 0, "size_bytes": 4096}]
    assert f"process {pids[0]}, state " in end["why"]
    assert [pid for pid in pids if not gone(pid)] == []
    assert ran.entry("p2p")["outcome"] == "timed-out"
    assert ran.said[-1].startswith(f"probe p2p: hung in step {way} 1 -> 0, 4096 bytes: process ")


@pytest.mark.parametrize("way", ["copy", "ipc-write"])
def test_a_copy_that_crashes_is_named_by_pair_and_step(tmp_path, way):
    """Also where it is a process of the probe's own that dies."""
    ran = Ran(tmp_path, "p2p", **SMALL, fault={"kind": "crash", "way": way, "pair": [0, 1]}, ways=["host", way])
    end = ran.outcome("p2p")

    assert (end["outcome"], end["signal"]) == ("crashed", "SIGSEGV")
    assert end["steps"] == [{"step": way, "src": 0, "dst": 1, "size_bytes": 4096}]
    assert ran.entry("p2p")["outcome"] == "failed"


@pytest.mark.parametrize("kind", ["hang", "crash", "error"])
def test_after_a_pair_that_stops_it_the_others_are_tried_without_its_gpus(tmp_path, kind):
    """A new process, from which both are hidden, takes the later pairs of that way and all of the next ways."""
    fault = {"kind": kind, "way": "copy", "pair": [0, 2]}
    ran = Ran(tmp_path, "p2p", **{**SMALL, "devices": 4}, fault=fault, ways=["host", "copy", "kernel"], step_s=4.0)
    records = ran.journal("p2p")
    second = next(at for at, record in enumerate(records) if record["event"] == "outcome") + 1
    asked, plan = records[second], next(record for record in records[second:] if record["event"] == "plan")
    tried = [(one["step"], one["src"], one["dst"]) for one in records[second:] if "wrong" in one]

    assert records[second - 1]["steps"][0] == {"step": "copy", "src": 0, "dst": 2, "size_bytes": 4096}
    assert (asked["event"], asked["environ"]["CUDA_VISIBLE_DEVICES"]) == ("asked", "1,3")
    assert (plan["pairs"], plan["without"], plan["after"]) == ([[1, 3], [3, 1]], [0, 2], [0, 2])
    assert tried == [("copy", 1, 3), ("copy", 3, 1), ("kernel", 1, 3), ("kernel", 3, 1)]
    assert ran.outcome("p2p") == {"outcome": "completed"}
    assert "copy 0 -> 2" in ran.entry("p2p")["error"]
    assert ran.entry("p2p")["error"].endswith("without those GPUs: completed")
    assert any(line.endswith("; goes on without GPUs 0 and 2") for line in ran.said)


def test_a_second_pair_that_stops_it_is_left_out_too(tmp_path):
    """Until fewer than two GPUs are left; of a way that is through for all others the next one is taken."""
    fault = {"kind": "crash", "way": "kernel", "pair": [[1, 0], [5, 4]]}
    ran = Ran(tmp_path, "p2p", **{**SMALL, "devices": 6}, fault=fault, ways=["kernel", "copy"])
    plans = [record for record in ran.journal("p2p") if record["event"] == "plan"]
    ends = [record for record in ran.journal("p2p") if record["event"] == "outcome"]

    assert [plan.get("without") for plan in plans] == [None, [0, 1], [0, 1, 4, 5]]
    assert [plan["ways"] for plan in plans] == [["kernel", "copy"], ["kernel", "copy"], ["copy"]]
    assert [end["outcome"] for end in ends] == ["crashed", "crashed", "completed"]
    assert [(one["step"], one["src"], one["dst"]) for one in ran.journal("p2p")[-4:-2] if "wrong" in one] == [
        ("copy", 3, 2)
    ]


def test_an_error_of_cuda_ends_the_probe_in_its_own_words(tmp_path):
    """After such an error every call fails; the traceback is kept beside the journal."""
    ran = Ran(tmp_path, "p2p", **SMALL, fault={"kind": "error", "way": "copy", "pair": [0, 1]}, ways=["copy"])
    end = ran.outcome("p2p")

    assert end["outcome"] == "failed"
    assert end["why"] == "RuntimeError: CUDA error: an illegal memory access was encountered"
    assert end["steps"] == [{"step": "copy", "src": 0, "dst": 1, "size_bytes": 4096}]
    assert "RuntimeError: CUDA error: an illegal" in (ran.folder / "probes" / "p2p.stderr.txt").read_text()


def test_one_gpu_has_nobody_to_copy_to(tmp_path):
    """It is said, and is no failure."""
    ran = Ran(tmp_path, "staged", **{**SMALL, "devices": 1})

    assert ran.outcome("staged")["outcome"] == "cannot"
    assert ran.outcome("staged")["why"].endswith("sees 1 GPU(s); copies need two")
    assert ran.entry("staged")["outcome"] == "skipped"


def test_staged_copies_never_go_between_peers(tmp_path):
    """What `staged` does is harmless."""
    ran = Ran(tmp_path, "staged", **SMALL)

    assert {record["step"] for record in ran.ends("staged") if "wrong" in record} == {"host"}
