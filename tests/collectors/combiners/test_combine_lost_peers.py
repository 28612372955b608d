"""A service that was killed on the machine of a lost peer is what the others lost."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.framework import ProcessError
from kb.facts.nccl_failures import ConnectionFailure
from kb.facts.services import UnitKilled

KILLED = UnitKilled(name="train", signal="KILL", host="node-2")


def lost(peer: str | None, *, consequence: bool = True) -> ConnectionFailure:
    """A connection that the other side closed."""
    return ConnectionFailure(reason="closed", peer=peer, step="transfer", consequence=consequence)


CASES = {
    "the same name": (lost("node-2"), ["on node-2"]),
    "its name with a domain": (lost("node-2.gpu.internal"), ["on node-2"]),
    "another machine": (lost("node-3"), []),
    "an address, which may be anybody's": (lost("10.0.0.2"), []),
    "a connection that was never made": (lost("node-2", consequence=False), []),
    "no peer": (lost(None), []),
}


@pytest.mark.parametrize(("failure", "ranks"), CASES.values(), ids=CASES)
def test_who_was_killed(failure, ranks):
    """Only where the machine is the one to which the connection was lost."""
    assert [one.rank for one in combined(ProcessError, KILLED, failure)] == ranks
