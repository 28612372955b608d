"""What a launch says of itself that can't be true, over the logs of all its nodes."""

from __future__ import annotations

import pytest
from combining import at, combined, complete, looked, observed

from kb.facts.framework import LaunchArgument, StartMilestone
from kb.facts.gpu_bus import GpuCount
from kb.facts.launch import AnnouncedRanks, LaunchConflict
from kb.facts.problems import FrameworkError
from kb.facts.settings import Setting


def arguments(path: str, framework: str = "torch", origin: str | None = None, **given: str) -> list:
    """The arguments of one launch, as its log or its command tells them."""
    return [
        at(LaunchArgument(framework=framework, name=name, value=value, origin=origin), path)
        for name, value in given.items()
    ]


def begun(path: str, time: str) -> object:
    return at(StartMilestone(framework="torch", milestone="launched", time=time), path)


def conflicts(*facts: object) -> list[tuple[str, str, str]]:
    return [(one.problem, one.name, one.value) for one in combined(LaunchConflict, *facts)]


ENDPOINTS = {
    "the second node calls itself": ({"nnodes": "2", "node_rank": "1", "rdzv_endpoint": "localhost:1"}, True),
    "every node by one script": ({"nnodes": "2", "rdzv_endpoint": "127.0.0.1:1"}, True),
    "IPv6": ({"nnodes": "2", "master_addr": "::1"}, True),
    "with a scheme": ({"nnodes": "2", "dist_init_addr": "tcp://127.0.0.1:5000"}, True),
    "a range of nodes": ({"nnodes": "1:4", "rdzv_endpoint": "localhost:1"}, True),
    "the first node may": ({"nnodes": "2", "node_rank": "0", "master_addr": "localhost"}, False),
    "one node": ({"nnodes": "1", "rdzv_endpoint": "localhost:1"}, False),
    "number of nodes not told": ({"rdzv_endpoint": "localhost:1"}, False),
    "another machine": ({"nnodes": "2", "node_rank": "1", "rdzv_endpoint": "localhost-5.example:1"}, False),
}


@pytest.mark.parametrize(("given", "wrong"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_several_nodes_cannot_meet_at_their_own_loopback(given, wrong):
    """Only where a node other than the first takes it, or where none is named."""
    found = [one for one in conflicts(*arguments("a.log", **given)) if one[0] == "localhost-endpoint"]

    assert bool(found) == wrong


def nodes(ranks: list[str], times: list[str]) -> list:
    facts = []
    for number, (rank, time) in enumerate(zip(ranks, times, strict=True)):
        facts += [*arguments(f"{number}.log", nnodes="2", node_rank=rank), begun(f"{number}.log", time)]
    return facts


NODES = {
    "each its own": (["0", "1"], ["12:00:00", "12:00:10"], False),
    "the same twice": (["0", "0"], ["12:00:00", "12:00:10"], True),
    "two runs of one node": (["0", "0"], ["12:00:00", "15:00:10"], False),
    "times not told": (["0", "0"], ["", ""], False),
    "one log only": (["0"], ["12:00:00"], False),
    "three logs of two nodes": (["0", "1", "0"], ["12:00:00", "12:00:01", "12:00:02"], False),
}


@pytest.mark.parametrize(("ranks", "times", "wrong"), NODES.values(), ids=NODES)
def test_a_node_rank_is_given_once(ranks, times, wrong):
    """Judged only where there is one log for each node, begun at about the same time."""
    assert (("repeated-node-rank", "node_rank", ", ".join(ranks)) in conflicts(*nodes(ranks, times))) == wrong


def test_endpoints_of_one_launch_that_differ():
    """Two nodes that wait at two addresses."""
    facts = [*nodes(["0", "1"], ["12:00:00", "12:00:10"])]
    facts += [*arguments("0.log", rdzv_endpoint="a:1"), *arguments("1.log", rdzv_endpoint="b:1")]

    assert conflicts(*facts) == [("endpoints-differ", "rdzv_endpoint", "a:1, b:1")]


def ranks(**fields: object) -> AnnouncedRanks:
    return AnnouncedRanks.model_validate(
        {"framework": "lightning", "ranks": 4, "announcements": 4, "world_size": 4, **fields}
    )


ANNOUNCED = {
    "each rank once": (ranks(), []),
    "twice": (ranks(repeated="0, 1"), [("repeated-rank", "rank", "0, 1")]),
    "more than are visible": (
        ranks(local_ranks=4, visible_devices=2),
        [("more-ranks-than-devices", "CUDA_VISIBLE_DEVICES", "2")],
    ),
    "one device for all": (ranks(local_ranks=4, devices=1), [("shared-device", "device", "1")]),
    "a device each": (ranks(local_ranks=4, devices=4, visible_devices=4), []),
    "of one rank only a device is known": (ranks(ranks=1, local_ranks=4, devices=1), []),
}


@pytest.mark.parametrize(("announced", "found"), ANNOUNCED.values(), ids=ANNOUNCED)
def test_what_the_ranks_announce(announced, found):
    """Twice the same rank, and more ranks on a node than devices."""
    assert conflicts(announced) == found


def test_fewer_tasks_than_ranks():
    """Slurm started two tasks, which announce ranks of eight, each twice."""
    task = Setting(name="SLURM_NTASKS", value="2", origin="launch")

    assert conflicts(task, ranks(repeated="0", world_size=8)) == [
        ("repeated-rank", "rank", "0"),
        ("slurm-tasks-differ", "SLURM_NTASKS", "2"),
    ]
    assert conflicts(task, ranks(world_size=8)) == []  # torchrun starts the others


DEVICES = {
    "as many": ({"nproc_per_node": "2"}, "0,1", False),
    "more processes": ({"nproc_per_node": "4"}, "0,1", True),
    "as many as there are": ({"nproc_per_node": "gpu"}, "0,1", False),
    "tensor parallel": ({"tensor_parallel_size": "4"}, "0,1", True),
    "tensor and pipeline": ({"tp_size": "2", "pp_size": "2"}, "0,1,2,3", False),
    "over Ray": ({"tensor_parallel_size": "16", "distributed_executor_backend": "ray"}, "0,1", False),
    "over several nodes": ({"tp_size": "16", "nnodes": "2"}, "0,1,2,3,4,5,6,7", False),
}


@pytest.mark.parametrize(("given", "visible", "wrong"), DEVICES.values(), ids=DEVICES)
def test_more_processes_than_visible_devices(given, visible, wrong):
    """What one node of a launch needs against CUDA_VISIBLE_DEVICES."""
    setting = Setting(name="CUDA_VISIBLE_DEVICES", value=visible, origin="launch")

    assert bool(conflicts(setting, *arguments("a.log", **given))) == wrong


def test_two_values_of_visible_devices_tell_nothing():
    """One may be another process's."""
    two = [Setting(name="CUDA_VISIBLE_DEVICES", value=value, origin="launch") for value in ("0", "0,1")]

    assert conflicts(*two, *arguments("a.log", nproc_per_node="4")) == []


def test_heads_that_the_parallel_size_does_not_divide():
    """By the arguments, or as the framework says."""
    given = arguments("a.log", "megatron", num_attention_heads="28", tensor_model_parallel_size="8")
    error = FrameworkError(class_="heads-not-divisible", text="x", wanted=28, available=8)

    assert conflicts(*given) == [("heads-not-divisible", "tensor_parallel_size", "8")]
    assert conflicts(error) == [("heads-not-divisible", "tensor_parallel_size", "8")]
    assert (
        conflicts(*arguments("a.log", "megatron", num_attention_heads="32", tensor_model_parallel_size="8")) == []
    )


def test_a_conflict_rests_on_what_it_was_made_from():
    """Endpoint and number of nodes."""
    (one,) = observed(LaunchConflict, *arguments("a.log", nnodes="2", rdzv_endpoint="localhost:1"))

    assert {basis.fact.name for basis in one.basis} == {"nnodes", "rdzv_endpoint"}


def test_it_was_looked_for_where_arguments_were():
    """As completely as they were."""
    assert looked(LaunchConflict, complete(LaunchArgument)) == [True]


@pytest.mark.parametrize(
    ("given", "counts", "wrong"),
    [
        ({"nproc_per_node": "8"}, [4], True),
        ({"num_processes": "4"}, [1], True),
        ({"num_processes": "16", "nnodes": "2"}, [8], False),
        ({"nproc_per_node": "4"}, [4], False),
        ({"nproc_per_node": "8"}, [4, 8], False),
    ],
)
def test_more_processes_than_the_driver_offers(given, counts, wrong):
    arguments = [LaunchArgument(framework="torch", name=name, value=value) for name, value in given.items()]
    listings = [GpuCount(seen_by="driver", count=count, reported_by="nvidia-smi") for count in counts]
    found = combined(LaunchConflict, *arguments, *listings)
    assert [one.problem for one in found] == (["more-gpus-asked-than-present"] if wrong else [])


def test_vllm_may_use_other_machines_and_a_gpu_that_is_gone_is_no_fault_of_the_launch():
    wanted = LaunchArgument(framework="vllm", name="tensor_parallel_size", value="16")
    here = GpuCount(seen_by="driver", count=8, reported_by="nvidia-smi")
    assert combined(LaunchConflict, wanted, here) == []
    asked = LaunchArgument(framework="torch", name="nproc_per_node", value="8")
    bus = GpuCount(seen_by="pci", count=8, reported_by="lspci")
    offered = GpuCount(seen_by="driver", count=7, reported_by="nvidia-smi")
    assert combined(LaunchConflict, asked, bus, offered) == []


@pytest.mark.parametrize(
    ("nodes", "address", "wrong"), [("4", "localhost", True), ("1", "localhost", False), ("4", "10.0.0.4", False)]
)
def test_a_batch_job_over_several_nodes_does_not_meet_at_localhost(nodes, address, wrong):
    found = combined(
        LaunchConflict,
        Setting(name="SLURM_NNODES", value=nodes, origin="launch"),
        Setting(name="MASTER_ADDR", value=address, origin="launch"),
        LaunchArgument(framework="slurm", name="job_name", value="x"),
    )
    assert [one.problem for one in found] == (["localhost-endpoint"] if wrong else [])
