"""Communicators over all their ranks: who is missing, who waits, who is done."""

from __future__ import annotations

import pytest
from combining import combined, complete, looked, observed

from kb.facts.nccl import NcclCommunicator, NcclInit


def ranks(*states: str | None, nranks: int | None = None, **more) -> list[NcclInit]:
    """One rank after another in these states; None for one that logged nothing."""
    size = len(states) if nranks is None else nranks
    return [
        NcclInit(**{"rank": rank, "nranks": size, "state": state, "comm_id": "0x1", **more})
        for rank, state in enumerate(states)
        if state
    ]


STATES = {
    "all complete": (["complete"] * 4, "complete", 4, 4, None),
    "all started": (["started"] * 4, "unfinished", 4, 0, None),
    "all met": (["met"] * 4, "unfinished", 4, 0, None),
    "one not complete": (["complete", "complete", "met", "complete"], "unfinished", 4, 3, None),
    "one missing": (["started", None, "started", "started"], "ranks-missing", 3, 0, "1"),
    "several missing": ([None, "started", None, "started"], "ranks-missing", 2, 0, "0, 2"),
    "one not in the log, and the others met": (["met", None, "met", "met"], "unfinished", 3, 0, None),
    "one not in the log, and the others are done": (["complete", None, "complete"], "complete", 2, 2, None),
    "one aborted": (["complete", "aborted", "met"], "aborted", 3, 1, None),
    "one aborted and one missing": (["started", "aborted", None], "aborted", 2, 0, None),
    "one rank alone": (["complete"], "complete", 1, 1, None),
}


@pytest.mark.parametrize(("states", "state", "started", "done", "missing"), STATES.values(), ids=STATES)
def test_the_state_of_a_communicator(states, state, started, done, missing):
    """Ranks are missing only where no line shows that they all met."""
    found = combined(NcclCommunicator, *ranks(*states))

    assert found == [
        NcclCommunicator(
            comm_id="0x1",
            nranks=len(states),
            ranks_started=started,
            ranks_complete=done,
            state=state,
            missing=missing,
            hosts=1,
        )
    ]


def test_a_rank_that_is_logged_twice_counts_once():
    """As complete, if one of its lines says so."""
    found = combined(NcclCommunicator, *ranks("started", "started"), *ranks("complete"), *ranks("met", "complete"))

    assert [(one.ranks_started, one.ranks_complete, one.state) for one in found if one.nranks == 2] == [
        (2, 1, "unfinished")
    ]


def test_each_communicator_stands_for_itself():
    """Told apart by id; without one, by their number of ranks."""
    facts = [
        *ranks("complete", "complete", comm_id="0x1"),
        *ranks("started", None, comm_id="0x2"),
        *ranks("met", "met", "met", comm_id=None),
        *ranks("complete", "complete", comm_id=None),
    ]

    found = combined(NcclCommunicator, *facts)

    assert [(one.comm_id, one.nranks, one.state) for one in found] == [
        ("0x1", 2, "complete"),
        ("0x2", 2, "ranks-missing"),
        (None, 3, "unfinished"),
        (None, 2, "complete"),
    ]


def test_many_missing_ranks_are_counted():
    """Sixteen are named, the rest is a number."""
    found = combined(NcclCommunicator, *ranks("started", nranks=512))

    assert found[0].missing == f"{', '.join(map(str, range(1, 17)))} and 495 more"


def test_an_absurd_number_of_ranks_is_survived():
    """A damaged line costs neither time nor memory."""
    found = combined(NcclCommunicator, *ranks("started", nranks=10**15))

    assert (found[0].ranks_started, found[0].state) == (1, "ranks-missing")


def test_hosts_are_counted_where_they_are_known():
    """One, where no line names any."""
    named = [
        NcclInit(rank=rank, nranks=4, state="met", host=host) for rank, host in enumerate(["a", "b", "a", None])
    ]

    assert [one.hosts for one in combined(NcclCommunicator, *named)] == [2]


def test_a_communicator_cites_every_rank():
    """In the order in which they were read."""
    one = observed(NcclCommunicator, *ranks("started", None, "started"))[0]

    assert [part.fact.rank for part in one.basis] == [0, 2]


def test_communicators_were_looked_for_where_ranks_were():
    """A log without them tells that there are none."""
    assert looked(NcclCommunicator, complete(NcclInit)) == [True]
