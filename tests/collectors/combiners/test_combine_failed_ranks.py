"""The same error of several ranks."""

from __future__ import annotations

from combining import combined, complete, looked, observed

from kb.facts.framework import FailedRanks, ProcessError


def error(rank: str | None, name: str = "KeyError", **more: object) -> ProcessError:
    return ProcessError.model_validate({"rank": rank, "error": name, "text": f"{name} of {rank}", **more})


def test_ranks_with_the_same_error_are_told_together() -> None:
    found = combined(FailedRanks, *(error(f"rank {number}") for number in range(5)), error("rank 9", "TypeError"))

    assert [(one.error, one.ranks, one.rank, one.named) for one in found] == [
        ("KeyError", 5, None, "rank 0, rank 1, rank 2 and 2 more"),
        ("TypeError", 1, "rank 9", "rank 9"),
    ]


def test_what_one_says_of_itself_and_of_another_is_told_apart() -> None:
    own, of_another = error("rank 0"), error("rank 1", consequence=True)

    assert [one.consequence for one in combined(FailedRanks, own, of_another)] == [False, True]


def test_a_rank_counts_once_and_one_that_is_not_known_counts_for_nothing() -> None:
    found = combined(FailedRanks, error("rank 0"), error("rank 0", time="10:00:00"), error(None))

    assert [(one.ranks, one.rank) for one in found] == [(1, "rank 0")]


def test_a_few_lines_prove_it() -> None:
    found = observed(FailedRanks, *(error(f"rank {number}") for number in range(100)))

    assert [[line.source.line for line in one.roots()] for one in found] == [list(range(1, 9))]


def test_it_was_looked_for_as_far_as_errors_were() -> None:
    assert looked(FailedRanks, complete(ProcessError)) == [True]
