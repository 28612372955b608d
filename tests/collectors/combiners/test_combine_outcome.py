"""What became of a run: an error after it was ready makes it fail, one before does not."""

from __future__ import annotations

import pytest
from combining import at, combined

from kb.facts.framework import ProcessError, ProcessExit, StartMilestone
from kb.facts.launch import RunEnd, RunOutcome
from kb.facts.problems import FrameworkError
from kb.facts.progress import Progress


def passed(milestone: str, line: int, framework: str = "vllm", path: str = "a.txt"):
    return at(StartMilestone(framework=framework, milestone=milestone), path, line)


def error(line: int, path: str = "a.txt", **fields: object):
    fact = {"error": "RuntimeError", "text": "boom", **fields}
    return at(ProcessError.model_validate(fact), path, line)


def ended(line: int, end: str = "stopped"):
    return at(RunEnd(end=end, said_by="server"), "a.txt", line)


READY = passed("ready", 10)
DEAD = {"consequence": True, "class": "remote"}
OUTCOMES = {
    "up": ([READY], "running", False),
    "not yet up": ([passed("weights-begin", 5)], "unfinished", False),
    "failed at the start": ([passed("weights-begin", 5), error(6)], "failed", False),
    "died after it was up": ([READY, error(20, **DEAD)], "failed", True),
    "CUDA error after it was up": ([READY, error(20, **{"class": "cuda"})], "failed", True),
    "the error of one request": ([READY, error(20, **{"class": "config"})], "running", False),
    "an error before it was up": ([READY, error(5, **DEAD)], "running", False),
    "a process died after it was up": (
        [READY, at(ProcessExit(exit_code=-9, reported_by="vllm"), "a.txt", 30)],
        "failed",
        True,
    ),
    "an engine that is dead": (
        [READY, at(FrameworkError(class_="engine-dead", text="x", fatal=True), "a.txt", 30)],
        "failed",
        True,
    ),
    "stopped in order": ([READY, ended(40)], "stopped", False),
    "stopped after it died": ([READY, error(20, **DEAD), ended(40)], "failed", True),
    "an end before it was up is another run's": ([READY, ended(5)], "running", False),
    "trained to the end": ([passed("training", 10, "transformers"), ended(40, "finished")], "finished", False),
    "a training does not survive an error": ([passed("training", 10, "deepspeed"), error(20)], "failed", True),
    "an error in another file": ([READY, error(3, "b.txt", **DEAD)], "failed", True),
}


@pytest.mark.parametrize(("facts", "outcome", "after"), OUTCOMES.values(), ids=OUTCOMES)
def test_the_outcome_of_a_run(facts, outcome, after):
    """By what came after it was ready, where it was."""
    (one,) = combined(RunOutcome, *facts)

    assert (one.outcome, one.failed_after_ready) == (outcome, after)


def test_a_launch_alone_is_no_run():
    """Nothing is known of it."""
    assert combined(RunOutcome, passed("launched", 1)) == []


def test_the_first_error_at_first_hand_is_named():
    """Not the consequence that stands before it."""
    (one,) = combined(RunOutcome, passed("weights-begin", 5), error(6, **DEAD), error(7, text="out of memory"))

    assert one.error == "RuntimeError: out of memory"


@pytest.mark.parametrize(("line", "outcome"), [(30, "unfinished"), (10, "failed")])
def test_a_silent_worker_whose_work_goes_on_has_not_failed(line: int, outcome: str) -> None:
    silent = error(20, error="vLLM worker silent", consequence=True, **{"class": "timeout"})
    work = at(Progress(activity="capture", what="graphs", state="advancing"), "a.txt", line)
    found = combined(RunOutcome, passed("weights-end", 5), silent, work)
    assert [one.outcome for one in found] == [outcome]
