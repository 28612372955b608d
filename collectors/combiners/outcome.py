"""What became of a run: ready is no health where an error or an end came after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.framework import Framework, Milestone, ProcessError, ProcessExit, StartMilestone
from kb.facts.launch import Outcome, RunEnd, RunOutcome
from kb.facts.problems import FrameworkError
from kb.facts.progress import Progress

REACHED: tuple[Milestone, ...] = ("ready", "serving", "training")
SERVERS: tuple[Framework, ...] = ("sglang", "vllm", "tensorrt-llm", "triton")
DEADLY = frozenset(("cuda", "nccl", "gpu-memory", "host-memory", "timeout", "remote"))
"""Classes of errors after which no server answers. Of another class it may be the error of one request."""
DEADLY_WORDS = frozenset(("engine-dead", "scheduler-watchdog", "health-check-failed"))
SILENT = "vLLM worker silent"
"""Said every minute while a worker loads, compiles or captures: no failure where that work is seen to go on."""
MOST_TEXT = 200


def combine(facts: Facts) -> Iterator[Reading]:
    """RunOutcome for each framework that came further than its launch."""
    points: dict[Framework, list[tuple[StartMilestone, Observed]]] = defaultdict(list)
    for milestone, observed in facts.of(StartMilestone):
        points[milestone.framework].append((milestone, observed))
    for framework, milestones in points.items():
        if any(milestone.milestone != "launched" for milestone, _ in milestones):
            yield _outcome(facts, framework, milestones)
    yield from looked_at(facts, RunOutcome, StartMilestone)


def _outcome(
    facts: Facts, framework: Framework, milestones: Sequence[tuple[StartMilestone, Observed]]
) -> Observed:
    reached = [observed for milestone, observed in milestones if milestone.milestone in REACHED]
    since = {observed.source.path: observed.source.line for observed in reversed(reached)}
    failures = [one for one in _failures(facts, framework, ready=bool(reached)) if _is_after(one, since)]
    ends = [(end, observed) for end, observed in facts.of(RunEnd) if _is_after(observed, since)]
    basis = [*reached[:1], *failures[:4], *(observed for _, observed in ends[:1])]
    finished = any(end.end == "finished" for end, _ in ends)
    error = None if finished else next((one.fact for one in failures if isinstance(one.fact, ProcessError)), None)
    fact = RunOutcome(
        framework=framework,
        outcome=_word(finished=finished, failed=bool(failures), ended=bool(ends), ready=bool(reached)),
        ready=bool(reached),
        failed_after_ready=bool(failures and reached) and not finished,
        error=f"{error.error}: {error.text}"[:MOST_TEXT] if error and not error.consequence else None,
    )
    return derived(fact, basis or [observed for _, observed in milestones[-1:]])


def _word(*, finished: bool, failed: bool, ended: bool, ready: bool) -> Outcome:
    if finished:
        return "finished"
    if failed:
        return "failed"
    if ended:
        return "stopped"
    return "running" if ready else "unfinished"


def _is_after(observed: Observed, since: dict[str, int]) -> bool:
    """Whether it comes after the readiness, as far as one file tells; nothing tells the order of two files."""
    return observed.source.line > since.get(observed.source.path, 0)


def _goes_on(facts: Facts, silent: Observed) -> bool:
    """Whether the same file shows work that advances after the complaint."""
    return any(
        work.state != "begun" and seen.source.path == silent.source.path and seen.source.line > silent.source.line
        for work, seen in facts.of(Progress)
    )


def _failures(facts: Facts, framework: Framework, *, ready: bool) -> list[Observed]:
    """What ends a run, errors at first hand first. A server that is up survives errors of its requests."""
    serving = ready and framework in SERVERS
    errors = [(e, o) for e, o in facts.of(ProcessError) if e.consequence or not serving or e.class_ in DEADLY]
    errors = [(e, o) for e, o in errors if not (e.error == SILENT and _goes_on(facts, o))]
    ordered = [observed for _, observed in sorted(errors, key=lambda one: one[0].consequence)]
    exits = [o for one, o in facts.of(ProcessExit) if one.exit_code != 0]
    words = [o for one, o in facts.of(FrameworkError) if one.class_ in DEADLY_WORDS and serving]
    return [*ordered, *exits, *words]
