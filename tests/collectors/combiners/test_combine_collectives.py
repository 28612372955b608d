"""Whether ranks stand in one collective, told from what each of them says."""

from __future__ import annotations

from typing import Any

from combining import combined, complete, looked

from kb.facts.collectives import CollectiveAgreement, CollectiveTimeout, FlightRecord
from kb.facts.framework import ProcessError, RankCollective
from kb.facts.nccl import NcclInit


def watchdog(rank: int, operation: str = "ALLREDUCE", sequence: int = 50, **more: Any) -> RankCollective:
    return RankCollective(rank=rank, operation=operation, sequence=sequence, **more)


def record(rank: int, sequence: int, last: int, operation: str = "all_reduce", **more: Any) -> FlightRecord:
    fields: dict[str, Any] = {"group": "74", "members": "12, 13, 14, 15", "state": "scheduled", "pending": 2}
    return FlightRecord(
        **fields | {"rank": rank, "sequence": sequence, "last_sequence": last, "operation": operation} | more
    )


def test_all_ranks_wait_in_the_same_collective() -> None:
    """No rank is behind, different or silent."""
    (agreement,) = combined(
        CollectiveAgreement, *(watchdog(rank, group="0 (default_pg)", last_completed=49) for rank in range(4))
    )

    assert agreement == CollectiveAgreement(
        agreement="same",
        reported_by="watchdog",
        group="0 (default_pg)",
        operation="ALLREDUCE",
        sequence=50,
        ranks_waiting=4,
        none_completed=False,
    )


def test_a_timeout_counts_the_ranks_that_name_it() -> None:
    """One fact for each collective, with how far its ranks had come."""
    (timeout,) = combined(
        CollectiveTimeout,
        *(watchdog(rank, elements=8, timeout_ms=600_000, last_completed=48 + rank) for rank in (0, 1)),
    )

    assert timeout == CollectiveTimeout(
        operation="ALLREDUCE",
        sequence=50,
        ranks=2,
        ranks_named="0, 1",
        elements=8,
        timeout_ms=600_000,
        last_completed_least=48,
        last_completed_most=49,
    )


def test_a_rank_that_says_nothing_is_silent_and_may_be_seen_elsewhere() -> None:
    """Its own error stands in the same evidence."""
    error = ProcessError(rank="rank 2", error="OutOfMemoryError", text="CUDA out of memory")
    (agreement,) = combined(CollectiveAgreement, error, *(watchdog(rank) for rank in (0, 1, 3)))

    assert (agreement.silent, agreement.silent_seen) == ("2", "2")


def test_the_number_of_ranks_comes_from_nccl_where_it_tells() -> None:
    """A rank above all that speak is missed only where something says that there is one."""
    inits = [NcclInit(rank=0, nranks=4, state="complete"), NcclInit(rank=3, nranks=4, state="complete")]
    without = combined(CollectiveAgreement, watchdog(0), watchdog(1))
    with_size = combined(CollectiveAgreement, *inits, watchdog(0), watchdog(1))

    assert (without[0].ranks_expected, without[0].silent) == (None, None)
    assert (with_size[0].ranks_expected, with_size[0].silent, with_size[0].silent_seen) == (4, "2, 3", "3")


def test_one_rank_of_a_second_node_says_nothing_of_the_first() -> None:
    """Ranks 8 to 11 speak in their node's log; whether others do is not known."""
    (agreement,) = combined(CollectiveAgreement, *(watchdog(rank) for rank in (8, 9, 10, 11)))

    assert agreement.silent is None


def test_another_operation_at_the_same_number() -> None:
    """The odd one is named; where no more than half agree, all are."""
    three = combined(CollectiveAgreement, watchdog(1), watchdog(2), watchdog(3, "BROADCAST"))
    two = combined(CollectiveAgreement, watchdog(0), watchdog(1, "ALLGATHER"))

    assert (three[0].agreement, three[0].different) == ("operations-differ", "3")
    assert (two[0].agreement, two[0].different, two[0].operation) == ("operations-differ", "0, 1", None)


def test_sizes_count_only_where_they_must_be_equal() -> None:
    """An all-to-all may be uneven; an all-reduce may not."""
    uneven = [watchdog(0, "ALLTOALL_BASE", elements=8), watchdog(1, "ALLTOALL_BASE", elements=9)]
    wrong = [watchdog(0, elements=8), watchdog(1, elements=8), watchdog(2, elements=9)]

    assert combined(CollectiveAgreement, *uneven)[0].agreement == "same"
    assert [(one.agreement, one.different) for one in combined(CollectiveAgreement, *wrong)] == [
        ("shapes-differ", "2")
    ]


def test_fingerprints_differ_in_shape() -> None:
    """What torch's own check refuses is a mismatch whatever the operation."""
    prints = [
        RankCollective(rank=rank, operation="ALLGATHER", shape=shape, reported_by="fingerprint")
        for rank, shape in enumerate(("[41, 256]", "[40, 256]", "[40, 256]"))
    ]
    (agreement,) = combined(CollectiveAgreement, *prints)

    assert (agreement.agreement, agreement.different, agreement.reported_by) == (
        "shapes-differ",
        "0",
        "fingerprint",
    )


def test_numbers_of_unnamed_groups_prove_nothing() -> None:
    """Two tensor-parallel groups count apart: without their names the difference is unclear."""
    unnamed = [watchdog(0, sequence=7), watchdog(1, sequence=9)]
    named = [
        watchdog(0, sequence=7, group="3"),
        watchdog(1, sequence=9, group="3"),
        watchdog(2, sequence=9, group="3"),
    ]
    apart = [watchdog(0, sequence=7, group="3"), watchdog(1, sequence=9, group="4")]

    assert combined(CollectiveAgreement, *unnamed)[0].agreement == "unclear"
    assert [(one.agreement, one.behind) for one in combined(CollectiveAgreement, *named)] == [
        ("sequences-differ", "0")
    ]
    assert [one.agreement for one in combined(CollectiveAgreement, *apart)] == ["unclear", "unclear"]


def test_logs_of_two_runs_are_not_held_against_each_other() -> None:
    """One rank at two numbers: nothing is said of the others."""
    facts = [
        watchdog(0, sequence=7, group="0"),
        watchdog(0, sequence=9, group="0"),
        watchdog(1, sequence=9, group="0"),
    ]

    assert combined(CollectiveAgreement, *facts)[0].agreement == "unclear"


def test_nothing_ever_finished() -> None:
    """By the number, or by what ranks say that they completed."""
    first = combined(CollectiveAgreement, watchdog(0, sequence=1), watchdog(1, sequence=1))
    said = combined(CollectiveAgreement, watchdog(0, sequence=3, last_completed=0), watchdog(1, sequence=3))
    later = combined(CollectiveAgreement, watchdog(0, sequence=3), watchdog(1, sequence=3))

    assert [first[0].none_completed, said[0].none_completed, later[0].none_completed] == [True, True, None]


def test_dumps_tell_who_stands_still_and_who_never_joined() -> None:
    """Two ranks are stuck seven collectives earlier; one of them has not even put the later one in."""
    records = [record(12, 30, 36), record(13, 37, 38), record(14, 30, 38), record(15, 37, 38)]
    (agreement,) = combined(CollectiveAgreement, *records)

    assert agreement == CollectiveAgreement(
        agreement="sequences-differ",
        reported_by="flight-recorder",
        group="74",
        operation="all_reduce",
        sequence=37,
        ranks_expected=4,
        ranks_waiting=4,
        behind="12, 14",
        not_joined="12",
    )


def test_a_rank_whose_dump_is_missing_is_silent() -> None:
    """And one that has finished all it put in has not joined."""
    records = [record(12, 36, 36, state="completed", pending=0), record(13, 37, 38), record(14, 37, 38)]
    (agreement,) = combined(CollectiveAgreement, *records)

    assert (agreement.not_joined, agreement.silent, agreement.ranks_waiting) == ("12", "15", 2)


def test_sends_and_idle_groups_are_left_out() -> None:
    """Their numbers concern two ranks only; and where nothing waits there is nothing to agree on."""
    sends = [record(rank, 4, 4, "recv 0<-1", between_two=True) for rank in (12, 13)]
    idle = [record(rank, 4, 4, state="completed", pending=0) for rank in (12, 13)]

    assert combined(CollectiveAgreement, *sends, *idle) == []


def test_that_it_was_looked_for_is_told() -> None:
    """As far as watchdogs or dumps were looked for."""
    assert looked(CollectiveTimeout, complete(RankCollective)) == [True]
    assert looked(CollectiveAgreement, complete(FlightRecord)) == [True]
    assert looked(CollectiveAgreement) == []
