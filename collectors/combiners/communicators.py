"""NCCL communicators over all their ranks, from what each rank logged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.nccl import CommunicatorState, NcclCommunicator, NcclInit

MOST_NAMED = 16
"""Missing ranks that are named one by one."""


def combine(facts: Facts) -> Iterator[Reading]:
    """NcclCommunicator for each communicator id; ranks without an id are told apart by their number of ranks."""
    groups: dict[tuple[str | None, int], list[tuple[NcclInit, Observed]]] = defaultdict(list)
    for init, observed in facts.of(NcclInit):
        groups[init.comm_id, init.nranks].append((init, observed))
    for (comm_id, nranks), members in groups.items():
        yield _communicator(comm_id, nranks, members)
    yield from looked_at(facts, NcclCommunicator, NcclInit)


def _communicator(comm_id: str | None, nranks: int, members: Sequence[tuple[NcclInit, Observed]]) -> Observed:
    started = {init.rank for init, _ in members}
    complete = {init.rank for init, _ in members if init.state == "complete"}
    absent = sorted(set(range(min(nranks, 1 << 16))) - started)
    state: CommunicatorState
    if any(init.state == "aborted" for init, _ in members):
        state = "aborted"
    elif len(started) < nranks and not any(init.state in {"met", "complete"} for init, _ in members):
        state = "ranks-missing"
    else:
        state = "complete" if len(complete) >= len(started) else "unfinished"
    fact = NcclCommunicator(
        comm_id=comm_id,
        nranks=nranks,
        ranks_started=len(started),
        ranks_complete=len(complete),
        state=state,
        missing=_named(absent) if state == "ranks-missing" else None,
        hosts=len({init.host for init, _ in members if init.host}) or 1,
    )
    return derived(fact, (observed for _, observed in members))


def _named(ranks: Sequence[int]) -> str:
    text = ", ".join(map(str, ranks[:MOST_NAMED]))
    return text if len(ranks) <= MOST_NAMED else f"{text} and {len(ranks) - MOST_NAMED} more"
