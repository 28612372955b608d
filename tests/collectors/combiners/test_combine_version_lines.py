"""Lines on NCCL's version that one rank prints."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts import Fact
from kb.facts.framework import LaunchArgument, StartMilestone
from kb.facts.nccl import NcclCommunicator, NcclVersion
from kb.facts.nccl_run import OneRankLine
from kb.facts.progress import Progress

LINE = NcclVersion(version="2.21.5", processes=1)
STEPS = Progress(activity="train", what="step", state="advancing")


def communicator(state: str) -> NcclCommunicator:
    return NcclCommunicator.model_validate(
        {"nranks": 4, "ranks_started": 4, "ranks_complete": 4, "state": state, "comm_id": "0x1"}
    )


@pytest.mark.parametrize(
    ("facts", "ranks"),
    [
        ([LINE, communicator("complete")], [4]),
        ([LINE, communicator("unfinished")], []),
        ([LINE], []),
        ([NcclVersion(version="2.21.5", processes=4), communicator("complete")], []),
        (
            [LINE, LaunchArgument(framework="torch", name="nproc_per_node", value="8", origin="command"), STEPS],
            [8],
        ),
        ([LINE, LaunchArgument(framework="torch", name="nproc_per_node", value="8", origin="command")], []),
    ],
)
def test_the_line_of_nccl_itself(facts: list[Fact], ranks: list[int]) -> None:
    assert [one.ranks for one in combined(OneRankLine, *facts)] == ranks


@pytest.mark.parametrize(("named", "others"), [(["TP0"], ["TP1"]), (["TP0", "TP1"], []), ([], [])])
def test_a_framework_that_names_it_on_one_rank(named: list[str], others: list[str]) -> None:
    points = [StartMilestone(framework="vllm", milestone="nccl-named", rank=rank) for rank in named]
    begun = [StartMilestone(framework="vllm", milestone="weights-begin", rank=rank) for rank in ("TP0", "TP1")]
    assert [one.others for one in combined(OneRankLine, *points, *begun)] == others
