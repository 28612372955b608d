"""Runs of a job that one log holds are told apart."""

from __future__ import annotations

import pytest

from collectors.content import Content
from collectors.open import File
from collectors.runs import count_runs, only_run
from kb.errors import InputError

FIRST = "server_args=ServerArgs(model_path='m')\nRuntimeError: a\nReceived sigquit from a child process.\n"
SECOND = "server_args=ServerArgs(model_path='m')\nThe server is fired up and ready to roll!\n"


def log(text: str) -> File:
    return File("job.log", Content(text.encode()))


def lines(file: File) -> list[str]:
    return file.content.data.decode().split("\n")


def test_a_start_after_an_end_begins_another_run():
    assert count_runs(log(FIRST + SECOND)) == 2
    assert count_runs(log(FIRST + FIRST + SECOND)) == 3


def test_a_second_start_without_an_end_is_another_rank_of_the_same_run():
    assert count_runs(log(SECOND + SECOND)) == 1


def test_only_the_lines_of_one_run_are_left_and_keep_their_numbers():
    both = log(FIRST + SECOND)

    assert lines(only_run([both], 1)[0])[:3] == FIRST.split("\n")[:3]
    assert lines(only_run([both], 2)[0]) == ["", "", "", *SECOND.split("\n")[:2]]


def test_a_file_that_is_no_log_of_runs_stays_whole():
    other = log("anything\n")

    assert only_run([log(FIRST + SECOND), other], 1)[1] is other


def test_a_log_with_fewer_runs_than_another_says_nothing_of_a_later_one():
    assert only_run([log(FIRST + SECOND), log(FIRST + FIRST + SECOND)], 3)[0].content.data == b""


def test_a_run_that_is_nowhere_is_refused():
    with pytest.raises(InputError, match="--run, found 3: the evidence holds 2 runs"):
        only_run([log(FIRST + SECOND)], 3)
    with pytest.raises(InputError, match=r"the evidence holds 1 run$"):
        only_run([log(FIRST)], 2)
