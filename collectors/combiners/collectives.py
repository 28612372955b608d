"""Whether the ranks of a job stand in one collective: by watchdogs, fingerprints and Flight Recorder dumps."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.collectives import Agreement, CollectiveAgreement, CollectiveTimeout, FlightRecord
from kb.facts.framework import ProcessError, ProcessExit, RankCollective
from kb.facts.launch import AnnouncedRanks
from kb.facts.nccl import NcclInit

MOST_NAMED = 32
MOST_GROUPS = 300
MOST_RANKS = 1 << 16
SYMMETRIC = frozenset(
    ("allreduce", "broadcast", "reduce", "allgatherbase", "reducescatterbase", "allreducecoalesced", "barrier")
)
"""Operations for which each rank must give as much as any other."""

ReportedBy = Literal["watchdog", "fingerprint", "flight-recorder"]


class _Standing(NamedTuple):
    """Where one rank stands in one group."""

    rank: int
    operation: str
    sequence: int | None
    size: str | None
    last_completed: int | None
    last_put_in: int | None
    observed: Observed


class _Ranks(NamedTuple):
    """Which ranks there should be, and which the evidence shows by anything."""

    expected: int | None
    members: frozenset[int] | None
    seen: frozenset[int]


def combine(facts: Facts) -> Iterator[Reading]:
    """CollectiveTimeout for each collective that watchdogs name; CollectiveAgreement for each process group."""
    for reported_by in ("watchdog", "fingerprint"):
        groups = _by_group([(one, o) for one, o in facts.of(RankCollective) if one.reported_by == reported_by])
        for group, standings in list(groups.items())[:MOST_GROUPS]:
            if reported_by == "watchdog":
                yield from _timeouts(group, standings, facts)
            ranks = _job(facts, standings, default=group is None or group.startswith("0"))
            yield _agreement(group, standings, ranks, "watchdog" if reported_by == "watchdog" else "fingerprint")
    yield from _from_dumps(facts)
    yield from looked_at(facts, CollectiveTimeout, RankCollective)
    yield from looked_at(facts, CollectiveAgreement, FlightRecord, RankCollective)


def _by_group(members: Sequence[tuple[RankCollective, Observed]]) -> dict[str | None, list[_Standing]]:
    """The ranks by process group. Who names no group joins the only one that stands at the same number."""
    groups: dict[str | None, list[_Standing]] = defaultdict(list)
    numbers: dict[int | None, set[str]] = defaultdict(set)
    for one, _ in members:
        if one.group is not None:
            numbers[one.sequence].add(one.group)
    for one, observed in members:
        same = numbers.get(one.sequence, set())
        group = next(iter(same)) if one.group is None and len(same) == 1 else one.group
        size = one.shape or (str(one.elements) if one.elements is not None else None)
        standing = _Standing(one.rank, one.operation, one.sequence, size, one.last_completed, None, observed)
        groups[group].append(standing)
    return groups


def _job(facts: Facts, standings: Sequence[_Standing], *, default: bool) -> _Ranks:
    """The ranks of the whole job, which are those of its default group; of a smaller group nothing is known."""
    texts = [one.rank for one, _ in facts.of(ProcessError)] + [one.rank for one, _ in facts.of(ProcessExit)]
    seen = {int(match[1]) for text in texts if text and (match := re.fullmatch(r"rank (\d{1,7})", text))}
    seen |= {init.rank for init, _ in facts.of(NcclInit)}
    if not default:
        return _Ranks(None, None, frozenset(seen))
    reported = {standing.rank for standing in standings}
    sizes = [init.nranks for init, _ in facts.of(NcclInit)]
    sizes += [one.world_size for one, _ in facts.of(AnnouncedRanks) if one.world_size]
    world = max(sizes, default=0)
    if max(reported) < world <= MOST_RANKS:
        return _Ranks(world, frozenset(range(world)), frozenset(seen))
    if len(reported) > 1 and min(reported) <= 1 and max(reported) < MOST_RANKS:
        return _Ranks(None, frozenset(range(max(reported) + 1)), frozenset(seen))
    return _Ranks(None, None, frozenset(seen))


def _timeouts(group: str | None, standings: Sequence[_Standing], facts: Facts) -> Iterator[Observed]:
    limits = {id(observed): one for one, observed in facts.of(RankCollective)}
    collectives: dict[tuple[str, int | None], list[_Standing]] = defaultdict(list)
    for standing in standings:
        collectives[standing.operation, standing.sequence].append(standing)
    for (operation, sequence), alike in collectives.items():
        originals = [limits[id(standing.observed)] for standing in alike]
        sizes = {one.elements for one in originals if one.elements is not None}
        completed = [one.last_completed for one in originals if one.last_completed is not None]
        timeouts = [one.timeout_ms for one in originals if one.timeout_ms is not None]
        ranks = {standing.rank for standing in alike}
        fact = CollectiveTimeout(
            operation=operation,
            sequence=sequence,
            group=group,
            ranks=len(ranks),
            ranks_named=_named(ranks) or "",
            elements=sizes.pop() if len(sizes) == 1 else None,
            timeout_ms=min(timeouts, default=None),
            last_completed_least=min(completed, default=None),
            last_completed_most=max(completed, default=None),
        )
        yield derived(fact, (standing.observed for standing in alike))


def _from_dumps(facts: Facts) -> Iterator[Observed]:
    groups: dict[tuple[str, str | None], list[tuple[FlightRecord, Observed]]] = defaultdict(list)
    for record, observed in facts.of(FlightRecord):
        if record.rank is not None and not record.between_two:
            groups[record.group, record.members].append((record, observed))
    for (group, members), records in list(groups.items())[:MOST_GROUPS]:
        if not any(record.pending for record, _ in records):
            continue
        belong = {int(rank) for rank in members.split(", ")} if members else set()
        belong = belong or {record.rank for record, _ in records if record.rank is not None}
        standings = [_of_record(record, observed) for record, observed in records]
        description = next((r.group_description for r, _ in records if r.group_description), None)
        name = f"{group} ({description})" if description else group
        ranks = _Ranks(len(belong) or None, frozenset(belong) or None, frozenset())
        yield _agreement(name, standings, ranks, "flight-recorder")


def _of_record(record: FlightRecord, observed: Observed) -> _Standing:
    return _Standing(
        rank=record.rank or 0,
        operation=record.operation,
        sequence=record.sequence if record.pending else None,
        size=record.shape,
        last_completed=record.last_completed,
        last_put_in=record.last_sequence,
        observed=observed,
    )


def _agreement(
    group: str | None, standings: Sequence[_Standing], ranks: _Ranks, reported_by: ReportedBy
) -> Observed:
    waiting = [one for one in standings if one.sequence is not None or reported_by != "flight-recorder"]
    numbers = Counter(one.sequence for one in waiting if one.sequence is not None)
    sequence = max(numbers, key=lambda number: (numbers[number], number), default=None)
    here = [one for one in waiting if one.sequence == sequence]
    behind = {one.rank for one in waiting if one.sequence is not None and sequence and one.sequence < sequence}
    late = {one.rank for one in standings if one.last_put_in is not None and one.last_put_in < (sequence or 0)}
    operation, operations = _odd([(one.rank, _kind(one.operation)) for one in here])
    sizes: set[int] = set()
    if not operations and (operation in SYMMETRIC or reported_by == "fingerprint"):
        _, sizes = _odd([(one.rank, one.size) for one in here if one.size is not None])
    told = {one.rank for one in standings}
    clear = len(told) > 1 and _one_run(waiting) and (group is not None or len(numbers) < 2)
    silent = (ranks.members or frozenset()) - told
    fact = CollectiveAgreement(
        agreement=_word(operations, behind | late or len(numbers) > 1, sizes) if clear else "unclear",
        reported_by=reported_by,
        group=group,
        operation=here[0].operation if here and len({one.operation for one in here}) == 1 else None,
        sequence=sequence,
        ranks_expected=ranks.expected,
        ranks_waiting=len({one.rank for one in waiting}),
        behind=_named(behind) if clear else None,
        not_joined=_named(late),
        different=_named(operations or sizes) if clear else None,
        silent=_named(silent),
        silent_seen=_named(silent & ranks.seen),
        none_completed=_none_completed(standings),
    )
    return derived(fact, (one.observed for one in standings))


def _word(operations: set[int], numbers: set[int] | bool, sizes: set[int]) -> Agreement:
    if operations:
        return "operations-differ"
    if sizes:
        return "shapes-differ"
    return "sequences-differ" if numbers else "same"


def _one_run(standings: Iterable[_Standing]) -> bool:
    """Whether no rank stands at two numbers, as it does where logs of several runs lie together."""
    numbers: dict[int, set[int | None]] = defaultdict(set)
    for one in standings:
        numbers[one.rank].add(one.sequence)
    return all(len(several) == 1 for several in numbers.values())


def _kind(operation: str) -> str:
    """The operation whichever way it is written: ALLREDUCE, all_reduce, _ALLGATHER_BASE."""
    return operation.lower().replace("_", "").removeprefix("nccl:")


def _odd(said: Sequence[tuple[int, str | None]]) -> tuple[str | None, set[int]]:
    """What most ranks say, and the ranks that say otherwise; all of them where no more than half agree."""
    counts = Counter(word for _, word in said)
    if not counts:
        return None, set()
    word, most = counts.most_common(1)[0]
    if len(counts) > 1 and 2 * most <= len(said):
        return word, {rank for rank, _ in said}
    return word, {rank for rank, other in said if other != word}


def _none_completed(standings: Sequence[_Standing]) -> bool | None:
    completed = [one.last_completed for one in standings if one.last_completed is not None]
    if completed:
        return max(completed) <= 0
    return True if standings and all(one.sequence in {0, 1} for one in standings) else None


def _named(ranks: Iterable[int]) -> str | None:
    ordered = sorted(set(ranks))
    text = ", ".join(map(str, ordered[:MOST_NAMED]))
    return (text if len(ordered) <= MOST_NAMED else f"{text} and {len(ordered) - MOST_NAMED} more") or None
