"""All-reduces and the start of a communicator, by gloo in the place of NCCL."""

from __future__ import annotations

from probe_support import SMALL, Ran, needs_torch

pytestmark = needs_torch

SIZES = {**SMALL, "sizes_bytes": [4096, 12000]}


def test_right_sums_are_right_on_every_rank_with_and_without_peers(tmp_path):
    """First with peer-to-peer off, so that the contrast is known when the other hangs."""
    ran = Ran(tmp_path, "allreduce", **SIZES)
    for name, direct in (("allreduce-p2p-off", False), ("allreduce", True)):
        sums = [(one["rank"], one["size_bytes"]) for one in ran.ends(name) if one.get("wrong") == 0]

        assert sorted(sums) == [(0, 4096), (0, 12000), (1, 4096), (1, 12000)]
        assert next(one["direct"] for one in ran.journal(name) if one["event"] == "plan") is direct
        assert ran.outcome(name) == {"outcome": "completed"}
    environ = {name: ran.journal(name)[0]["environ"] for name in ("allreduce-p2p-off", "allreduce")}

    assert environ["allreduce-p2p-off"]["NCCL_P2P_DISABLE"] == "1"
    assert environ["allreduce"]["NCCL_P2P_DISABLE"] is None
    assert [line.split(":")[0] for line in ran.said[::2]] == ["probe allreduce-p2p-off", "probe allreduce"]


def test_one_wrong_element_on_one_rank_is_found(tmp_path):
    """Sums of whole numbers are exact."""
    ran = Ran(tmp_path, "nccl-init", **SIZES, fault={"kind": "one element", "way": "allreduce", "rank": 1})
    wrong = [
        (one["rank"], one["size_bytes"], one["first_wrong"]) for one in ran.ends("nccl-init") if one.get("wrong")
    ]

    assert sorted(wrong) == [(1, 4096, [511]), (1, 12000, [1499])]


def test_a_hanging_rank_is_named(tmp_path):
    """Those that wait for it hang as well, and are named too."""
    fault = {"kind": "hang", "way": "allreduce", "rank": 1}
    ran = Ran(tmp_path, "nccl-init", **SIZES, fault=fault, step_s=4.0)
    end = ran.outcome("nccl-init")

    assert end["outcome"] == "hung"
    assert {"step": "allreduce", "rank": 1, "size_bytes": 4096} in end["steps"]


def test_a_crashing_rank_ends_the_others(tmp_path):
    """It is named, by the signal that ended it."""
    ran = Ran(tmp_path, "nccl-init", **SIZES, fault={"kind": "crash", "way": "allreduce", "rank": 1})
    end = ran.outcome("nccl-init")

    assert (end["outcome"], end["signal"]) == ("crashed", "SIGSEGV")
    assert end["why"] == "rank 1 ended by signal 11"
    assert {"step": "allreduce", "rank": 1, "size_bytes": 4096} in end["steps"]


def test_the_start_alone_moves_no_data(tmp_path):
    """`nccl-init` as it is asked for has no sizes; NCCL is told to log."""
    ran = Ran(tmp_path, "nccl-init", **{key: one for key, one in SMALL.items() if key != "sizes_bytes"})

    assert {one["step"] for one in ran.ends("nccl-init") if "rank" in one} == {"start", "init"}
    assert ran.journal("nccl-init")[0]["environ"]["NCCL_DEBUG"] == "INFO"
