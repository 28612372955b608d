"""Where a start stands over all its ranks: the furthest stage that one began, and who is not there yet."""

from __future__ import annotations

import pytest
from combining import combined, complete, looked, observed

from kb.facts.framework import LaunchArgument, StartMilestone, StartProgress


def passed(*names: str, rank: str | None = "TP0", framework: str = "sglang") -> list[StartMilestone]:
    return [StartMilestone(framework=framework, milestone=name, rank=rank) for name in names]


def argument(name: str, value: str, framework: str = "sglang") -> LaunchArgument:
    return LaunchArgument(framework=framework, name=name, value=value)


def progress(*facts) -> StartProgress:
    (one,) = combined(StartProgress, *facts)
    return one


STAGES = {
    "launched only": (["launched"], None),
    "communication begun": (["launched", "distributed-begin"], ("communication", "unfinished")),
    "communication ended": (["distributed-begin", "distributed-end"], ("communication", "complete")),
    "only its end was seen": (["distributed-end"], ("communication", "complete")),
    "weights begun": (["distributed-end", "weights-begin"], ("weights", "unfinished")),
    "weights ended": (["weights-begin", "weights-end"], ("weights", "complete")),
    "compiling": (["weights-end", "compile-begin"], ("compile", "unfinished")),
    "capturing": (["weights-end", "compile-end", "capture-begin"], ("capture", "unfinished")),
    "captured": (["capture-begin", "capture-end"], ("capture", "complete")),
    "ready": (["capture-begin", "ready"], ("ready", "complete")),
    "serving": (["distributed-begin", "serving"], ("ready", "complete")),
    "training": (["distributed-begin", "training"], ("ready", "complete")),
}


@pytest.mark.parametrize(("milestones", "stage"), STAGES.values(), ids=STAGES)
def test_the_furthest_stage_that_was_begun(milestones, stage):
    """And whether it ended; nothing, where no stage was begun."""
    found = combined(StartProgress, *passed(*milestones))

    assert [(one.stage, one.state) for one in found] == ([stage] if stage else [])


def test_a_stage_is_complete_when_all_ended_it():
    """One rank that began and did not end keeps it unfinished."""
    one = progress(*passed("weights-begin", "weights-end", rank="TP0"), *passed("weights-begin", rank="TP1"))

    assert (one.state, one.ranks_begun, one.ranks_ended, one.missing) == ("unfinished", 2, 1, None)


def test_a_rank_that_was_seen_before_and_did_not_begin_is_missing():
    """By name; the stage is unfinished for its sake."""
    facts = [
        *passed("distributed-end", "weights-begin", "weights-end", rank="TP0"),
        *passed("distributed-end", rank="TP1"),
        *passed("distributed-begin", rank="TP2"),
    ]

    one = progress(*facts)

    assert (one.stage, one.state, one.missing) == ("weights", "unfinished", "TP1, TP2")


EXPECTED = {
    "one size": ([("tp_size", "4")], 4),
    "two dimensions": ([("tp_size", "4"), ("pp_size", "2")], 8),
    "two names of one dimension": ([("tp_size", "4"), ("tensor_parallel_size", "4")], 4),
    "one argument seen twice": ([("tp_size", "4"), ("tp_size", "4")], 4),
    "the longer names": ([("tensor_parallel_size", "2"), ("pipeline_parallel_size", "3")], 6),
    "one node": ([("tp_size", "4"), ("nnodes", "1")], 4),
    "no number of nodes": ([("tp_size", "4"), ("nnodes", "None")], 4),
    "several nodes": ([("tp_size", "16"), ("nnodes", "2")], None),
    "no size": ([("model_path", "/m")], None),
    "a size that is none": ([("tp_size", "auto")], None),
    "zero": ([("tp_size", "0")], None),
    "absurdly many": ([("tp_size", "9" * 5000)], None),
}


@pytest.mark.parametrize(("arguments", "ranks"), EXPECTED.values(), ids=EXPECTED)
def test_how_many_ranks_belong_to_a_start(arguments, ranks):
    """The product of the parallel sizes on one node; not known where several nodes share them."""
    one = progress(*passed("distributed-begin"), *(argument(*pair) for pair in arguments))

    assert (one.ranks_expected, one.all_begun) == (ranks, None if ranks is None else False)


def test_all_have_begun_when_as_many_as_expected_did():
    """Whoever they are."""
    ranks = [one for number in range(2) for one in passed("distributed-begin", rank=f"TP{number}")]

    assert progress(*ranks, argument("tp_size", "2")).all_begun is True


def test_the_size_of_another_framework_does_not_count():
    """Two services in one body of evidence are two starts."""
    facts = [
        *passed("distributed-begin"),
        *passed("ready", framework="vllm"),
        argument("tp_size", "8", framework="vllm"),
    ]

    found = {one.framework: one for one in combined(StartProgress, *facts)}

    assert (found["sglang"].ranks_expected, found["vllm"].ranks_expected) == (None, 8)
    assert (found["sglang"].stage, found["vllm"].stage) == ("communication", "ready")


@pytest.mark.parametrize(
    ("milestones", "reached"),
    [
        (["distributed-begin"], False),
        (["distributed-begin", "nccl-named"], True),
        (["weights-begin"], True),
        (["ready"], True),
    ],
)
def test_whether_the_rendezvous_is_over(milestones, reached):
    """A line that names the library, or any later stage, proves it."""
    assert progress(*passed(*milestones)).data_path_reached is reached


def test_a_start_cites_those_who_wait():
    """Not the ranks that are done; and the line that proves that the rendezvous is over."""
    facts = [
        *passed("distributed-begin", "distributed-end", "nccl-named", rank="TP0"),
        *passed("distributed-begin", rank="TP1"),
    ]

    one = observed(StartProgress, *facts)[0]

    assert [(part.fact.rank, part.fact.milestone) for part in one.basis] == [
        ("TP1", "distributed-begin"),
        ("TP0", "nccl-named"),
    ]


def test_the_main_process_counts_as_one():
    """A service without ranks starts too."""
    one = progress(*passed("weights-begin", rank=None))

    assert (one.ranks_begun, one.ranks_ended, one.missing) == (1, 0, None)


def test_progress_was_looked_for_where_milestones_were():
    """A log without any tells that no start is in it."""
    assert looked(StartProgress, complete(StartMilestone)) == [True]


ORDERS = {
    "Megatron-LM compiles before it loads": (
        "megatron",
        ["distributed-end", "compile-begin", "compile-end", "weights-begin"],
        ("weights", "unfinished"),
    ),
    "TensorRT-LLM loads before it connects": (
        "tensorrt-llm",
        ["weights-begin", "weights-end", "distributed-begin"],
        ("communication", "unfinished"),
    ),
}


@pytest.mark.parametrize(("framework", "milestones", "stage"), ORDERS.values(), ids=ORDERS)
def test_frameworks_with_another_order_of_stages(framework, milestones, stage):
    """The last stage is the one that comes last in that framework."""
    one = progress(*passed(*milestones, framework=framework))

    assert (one.stage, one.state) == stage
