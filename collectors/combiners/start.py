"""Where a start stands over all its ranks, from the milestones that each rank logged."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.framework import Framework, LaunchArgument, Milestone, Stage, StartMilestone, StartProgress

STAGES: tuple[tuple[Stage, Milestone, Milestone], ...] = (
    ("capture", "capture-begin", "capture-end"),
    ("compile", "compile-begin", "compile-end"),
    ("weights", "weights-begin", "weights-end"),
    ("communication", "distributed-begin", "distributed-end"),
)
"""The last stage first: each with the milestones that begin and end it."""
LAST_FIRST: dict[Framework, tuple[Stage, ...]] = {
    "megatron": ("weights", "compile", "communication"),
    "tensorrt-llm": ("communication", "weights"),
}
"""Frameworks whose stages have another order: Megatron-LM compiles before it loads, TensorRT-LLM loads first."""
PARALLEL = {
    "tp_size": "tensor",
    "tensor_parallel_size": "tensor",
    "pp_size": "pipeline",
    "pipeline_parallel_size": "pipeline",
}
"""Launch arguments, and the dimension whose size they give."""
DONE: tuple[Milestone, ...] = ("ready", "serving", "training")

_Passed = dict[Milestone, list[tuple[StartMilestone, Observed]]]


def combine(facts: Facts) -> Iterator[Reading]:
    """StartProgress for each framework whose milestones were seen."""
    by_framework: dict[Framework, list[tuple[StartMilestone, Observed]]] = defaultdict(list)
    for milestone, observed in facts.of(StartMilestone):
        by_framework[milestone.framework].append((milestone, observed))
    if any(one.milestone in DONE for one, _ in by_framework.get("triton", ())):
        by_framework.pop("tensorrt-llm", None)  # the server answers, so its engine is loaded
    for framework, milestones in by_framework.items():
        arguments = [(a, o) for a, o in facts.of(LaunchArgument) if a.framework == framework]
        yield from _progress(framework, milestones, _ranks_expected(arguments))
    yield from looked_at(facts, StartProgress, StartMilestone)


def _ranks_expected(arguments: Iterable[tuple[LaunchArgument, Observed]]) -> int | None:
    """The product of the parallel sizes on one node; None where no size is given or several nodes share them."""
    values = {argument.name: argument.value for argument, _ in arguments}
    if values.get("nnodes", "1") not in {"1", "None"}:
        return None
    sizes = {dimension: int(values[name]) for name, dimension in PARALLEL.items() if is_size(values.get(name, ""))}
    return prod(sizes.values()) if sizes else None


def is_size(text: str) -> bool:
    """Whether an argument is a number of processes, and no impossible one."""
    return re.fullmatch(r"[1-9]\d{0,4}", text) is not None


def _progress(
    framework: Framework, milestones: Sequence[tuple[StartMilestone, Observed]], expected: int | None
) -> Iterator[Observed]:
    passed: _Passed = defaultdict(list)
    for milestone, observed in milestones:
        passed[milestone.milestone].append((milestone, observed))
    done = [observed for name in DONE for _, observed in passed.get(name, ())]
    if done:
        everyone: set[str | None] = {m.rank for m, _ in milestones if m.rank is not None}
        fact = _fact(framework, "ready", everyone, everyone, everyone, expected, reached=True)
        yield derived(fact, done)
        return
    for stage, begin, end in _stages(framework):
        if begin in passed or end in passed:
            yield _unfinished(framework, (stage, begin, end), passed, expected)
            return


def _stages(framework: Framework) -> Sequence[tuple[Stage, Milestone, Milestone]]:
    """The stages of a start of this framework, the last one first."""
    order = LAST_FIRST.get(framework)
    return STAGES if order is None else [one for name in order for one in STAGES if one[0] == name]


def _unfinished(
    framework: Framework, stage: tuple[Stage, Milestone, Milestone], passed: _Passed, expected: int | None
) -> Observed:
    name, begin, end = stage
    begun = {m.rank for m, _ in (*passed.get(begin, ()), *passed.get(end, ()))}
    ended = {m.rank for m, _ in passed.get(end, ())}
    known = {m.rank for several in passed.values() for m, _ in several if m.rank is not None} | begun
    reached = "nccl-named" in passed or name != "communication"
    fact = _fact(framework, name, known, begun, ended, expected, reached=reached)
    waiting = [observed for m, observed in passed.get(begin, ()) if m.rank not in ended]
    basis = waiting or [observed for _, observed in (*passed.get(begin, ()), *passed.get(end, ()))]
    named = [observed for _, observed in passed.get("nccl-named", ())] if name == "communication" else []
    return derived(fact, [*basis, *named])


def _fact(
    framework: Framework,
    stage: Stage,
    known: set[str | None],
    begun: set[str | None],
    ended: set[str | None],
    expected: int | None,
    *,
    reached: bool,
) -> StartProgress:
    missing = sorted(str(rank) for rank in known - begun)
    return StartProgress(
        framework=framework,
        stage=stage,
        state="complete" if stage == "ready" or (ended >= begun and not missing) else "unfinished",
        ranks_expected=expected,
        ranks_begun=len(begun),
        ranks_ended=len(ended),
        all_begun=None if expected is None else len(begun) >= expected,
        missing=", ".join(missing) or None,
        data_path_reached=reached,
    )
