"""Work that lasts longer than others may wait."""

from __future__ import annotations

import pytest
from combining import at, combined

from kb.facts.collectives import RendezvousFailure
from kb.facts.framework import RankCollective, StartMilestone
from kb.facts.progress import Activity, LongWork, Progress


def bar(activity: Activity, elapsed_s: int, **more: object) -> Progress:
    """A bar that moved."""
    fields = {"activity": activity, "what": "a bar", "elapsed_s": elapsed_s, "state": "advancing"} | more
    return Progress.model_validate(fields)


WATCHDOG = RankCollective(rank=1, operation="ALLREDUCE", sequence=2, timeout_ms=1_800_000)


def test_a_bar_that_moves_until_the_limit_outlasts_it() -> None:
    found = combined(LongWork, bar("preprocess", 1795, remaining_s=17_288, done="280/2969"), WATCHDOG)
    assert [(one.elapsed_s, one.limit_s, one.done) for one in found] == [(1795, 1800, "280/2969")]


def test_a_wait_for_the_store_is_a_limit_too_and_the_old_default_where_it_names_none() -> None:
    wait = RendezvousFailure(stage="store-key", reason="timed-out", waits_for_rank=0)
    assert [one.limit_s for one in combined(LongWork, bar("load", 1700), wait)] == [1800]


@pytest.mark.parametrize(
    "work",
    [
        bar("preprocess", 300),
        bar("preprocess", 1795, state="finished"),
        bar("train", 1795, what="Epoch 1"),
        bar("other", 1000),
    ],
)
def test_short_work_finished_work_and_the_steps_of_a_training_outlast_nothing(work: Progress) -> None:
    assert combined(LongWork, work, WATCHDOG) == []


def test_without_a_time_out_nothing_is_too_long() -> None:
    assert combined(LongWork, bar("preprocess", 1795)) == []


def test_what_a_training_followed_is_over() -> None:
    step = StartMilestone(framework="transformers", milestone="training")
    assert combined(LongWork, at(bar("preprocess", 1795), line=3), at(step, line=9), at(WATCHDOG, line=10)) == []
