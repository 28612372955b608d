"""Lines on NCCL's version that one rank of a job prints, while its other ranks are seen to be there."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Observed, Reading
from kb.facts.framework import Framework, LaunchArgument, Milestone, StartMilestone
from kb.facts.gpu import GpuMemorySample
from kb.facts.nccl import NcclCommunicator, NcclVersion
from kb.facts.nccl_run import OneRankLine
from kb.facts.nccl_tools import NcclTestResult
from kb.facts.progress import Progress

_SIZES = frozenset({"nproc_per_node", "num_processes", "world_size"})
_BUSY_PERCENT = 50
_FRAMEWORKS: tuple[Framework, ...] = ("sglang", "vllm")
_OTHERS: tuple[Milestone, ...] = ("distributed-begin", "distributed-end", "weights-begin")


def combine(facts: Facts) -> Iterator[Reading]:
    """OneRankLine for each framework, and for NCCL itself."""
    for framework in _FRAMEWORKS:
        yield from _of_framework(facts, framework)
    versions = [(one, seen) for one, seen in facts.of(NcclVersion) if one.said_by == "nccl"]
    found = _at_work(facts) if len(versions) == 1 and versions[0][0].processes == 1 else None
    if found is not None:
        ranks, seen = found
        yield derived(OneRankLine(by="one process", others=f"{ranks} ranks", ranks=ranks), [versions[0][1], *seen])


def _of_framework(facts: Facts, framework: Framework) -> Iterator[Observed]:
    """A framework that names NCCL on the first rank of each group."""
    points = [(one, seen) for one, seen in facts.of(StartMilestone) if one.framework == framework and one.rank]
    named = {one.rank: seen for one, seen in reversed(points) if one.milestone == "nccl-named"}
    others = [(one, seen) for one, seen in points if one.milestone in _OTHERS and one.rank not in named]
    if len(named) == 1 and others:
        by, said = next(iter(named.items()))
        other, seen = others[0]
        yield derived(OneRankLine(by=str(by), others=str(other.rank)), [said, seen])


def _at_work(facts: Facts) -> tuple[int, list[Observed]] | None:
    """How many ranks are at work, and what shows it."""
    for communicator, seen in facts.of(NcclCommunicator):
        if communicator.state == "complete" and communicator.nranks >= 2:
            return communicator.nranks, [seen]
    for test, seen in facts.of(NcclTestResult):
        if test.outcome == "passed" and (test.ranks or 0) >= 2:
            return test.ranks or 0, [seen]
    steps = [seen for work, seen in facts.of(Progress) if work.activity == "train" and work.state != "begun"]
    for argument, seen in facts.of(LaunchArgument):
        if argument.name in _SIZES and argument.value.isdecimal() and int(argument.value) >= 2 and steps:
            return int(argument.value), [seen, steps[0]]
    busy = {
        sample.index: seen
        for sample, seen in facts.of(GpuMemorySample)
        if (sample.utilisation_percent or 0) >= _BUSY_PERCENT
    }
    return (len(busy), [*list(busy.values())[:4], steps[0]]) if len(busy) >= 2 and steps else None
