"""A Flight Recorder dump, once it is plain values: where its rank stands in each process group. No reader.

Formats 2.1 to 2.10 of PyTorch 2.3 to 2.14 (c10d/FlightRecorder.hpp): `entries` with `collective_seq_id`,
`pg_config` by group, `pg_status` by the rank's own number of the group. Nothing is taken for granted: a field
that is missing or of another type is unknown, an entry without group and number is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from collectors.readers._regex import regex
from kb.facts import Fact
from kb.facts.collectives import FlightDump, FlightRecord

MOST_ENTRIES = 200_000
MOST_GROUPS = 2000
MOST_TEXT = 120

_RANK = regex(r"(?:^|[/_.-])(?:\w*?(?:rank|dump|trace|fr)_?)(?P<rank>\d{1,7})(?:\.(?:json|pkl|pickle|txt))?$")
_MEMBERS = regex(r"\[\d{1,7}(?:, ?\d{1,7}){0,100000}\]$")
_STATES = ("scheduled", "started", "completed")

State = Literal["scheduled", "started", "completed"]


class Placed(NamedTuple):
    """A fact, the number of the entry it comes from (from 1; 1 for the whole), and that entry in short."""

    fact: Fact
    entry: int
    text: str
    record_id: int | None


@dataclass(slots=True)
class _Entry:
    number: int
    record_id: int | None
    sequence: int
    operation: str
    shape: str | None
    state: State
    between_two: bool


@dataclass(slots=True)
class _Group:
    """The entries of one process group that matter: the first that is not completed, and the last."""

    description: str | None
    handle: str | None
    first_pending: _Entry | None = None
    last: _Entry | None = None
    pending: int = 0
    last_sequence: int = -1


def is_dump(value: Any) -> bool:
    """Whether the value has the form of a dump."""
    return isinstance(value, dict) and isinstance(value.get("entries"), list) and "version" in value


def rank_of(path: str) -> int | None:
    """The rank that the name of a dump ends in: `_dump_12`, `nccl_trace_rank_3`, `fr_0.json`."""
    match = _RANK.search(path[-300:])
    return int(match["rank"]) if match else None


def facts_of(dump: dict[str, Any], rank: int | None) -> Iterator[Placed]:
    """One FlightRecord for each process group that the buffer still holds, then the dump as a whole."""
    entries = dump["entries"][:MOST_ENTRIES]
    groups: dict[str, _Group] = {}
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, dict):
            _take(groups, number, entry)
    members = _members(dump.get("pg_config"))
    status = dump.get("pg_status") if isinstance(dump.get("pg_status"), dict) else {}
    for name, group in groups.items():
        entry = group.first_pending or group.last
        if entry is not None:
            fact = _record(name, group, entry, rank, members.get(name), (status or {}).get(group.handle))
            yield Placed(fact, entry.number, _short(name, entry), entry.record_id)
    version = dump.get("nccl_version") or dump.get("comm_lib_version")
    whole = FlightDump(
        rank=rank,
        version=str(dump["version"])[:20],
        nccl_version=version[:20] if isinstance(version, str) and version else None,
        entries=len(entries),
        groups=len(groups),
        pending=sum(group.pending for group in groups.values()),
    )
    yield Placed(whole, 1, f"Flight Recorder dump, version {whole.version}, {whole.entries} entries", None)


def _take(groups: dict[str, _Group], number: int, entry: dict[str, Any]) -> None:
    name, description = _group_of(entry)
    found = _entry(number, entry)
    if name is None or found is None or (name not in groups and len(groups) >= MOST_GROUPS):
        return
    handle = entry.get("pg_id")
    group = groups.setdefault(name, _Group(description, str(handle) if isinstance(handle, int | str) else None))
    if group.last is None or not found.between_two or group.last.between_two:
        group.last = found
    if not found.between_two:
        group.last_sequence = max(group.last_sequence, found.sequence)
    if found.state == "completed" or entry.get("retired") is True:
        return
    group.pending += 1
    # A collective is what the ranks of a group must agree in; a send or receive counts where there is none.
    if group.first_pending is None or (group.first_pending.between_two and not found.between_two):
        group.first_pending = found


def _group_of(entry: dict[str, Any]) -> tuple[str | None, str | None]:
    group = entry.get("process_group")
    if (
        isinstance(group, tuple | list)
        and len(group) == 2
        and isinstance(group[0], str)
        and isinstance(group[1], str)
    ):
        return group[0][:MOST_TEXT], group[1][:MOST_TEXT] or None
    handle = entry.get("pg_id")
    return (str(handle), None) if isinstance(handle, int) else (None, None)


def _entry(number: int, entry: dict[str, Any]) -> _Entry | None:
    between_two = entry.get("is_p2p") is True
    keys = ("p2p_seq_id", "collective_seq_id") if between_two else ("collective_seq_id", "seq_id")
    sequence = next((value for key in keys if type(value := entry.get(key)) is int), None)
    operation = entry.get("profiling_name")
    if sequence is None or not isinstance(operation, str):
        return None
    state = entry.get("state")
    record_id = entry.get("record_id")
    return _Entry(
        number=number,
        record_id=record_id if type(record_id) is int else None,
        sequence=sequence,
        operation=operation.removeprefix("nccl:")[:MOST_TEXT],
        shape=_shape(entry.get("input_sizes")),
        state=state if state in _STATES else "scheduled",
        between_two=between_two,
    )


def _shape(sizes: Any) -> str | None:
    """The sizes of the first few tensors; never more of a value than numbers within two lists."""
    if not isinstance(sizes, list) or not sizes:
        return None
    tensors = []
    for tensor in sizes[:4]:
        if not isinstance(tensor, list) or len(tensor) > 8 or not all(type(size) is int for size in tensor):
            return None
        tensors.append("[" + ", ".join(map(str, tensor)) + "]")
    more = ", …" if len(sizes) > 4 else ""
    return "[" + ", ".join(tensors) + more + "]"


def _members(config: Any) -> dict[str, str]:
    """The ranks of each group by its name."""
    found: dict[str, str] = {}
    for key, group in config.items() if isinstance(config, dict) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(key, str) and isinstance(ranks, str) and _MEMBERS.match(ranks):
            name = group.get("name")
            found[name if isinstance(name, str) else key] = ", ".join(re.findall(r"\d+", ranks))
    return found


def _record(
    name: str, group: _Group, entry: _Entry, rank: int | None, members: str | None, status: Any
) -> FlightRecord:
    completed, enqueued = (_status(status, f"last_{word}_collective") for word in ("completed", "enqueued"))
    last = group.last_sequence if group.last_sequence >= 0 else entry.sequence
    return FlightRecord(
        rank=rank,
        group=name,
        group_description=group.description,
        members=members,
        sequence=entry.sequence,
        operation=entry.operation,
        shape=entry.shape,
        state=entry.state if group.first_pending is not None else "completed",
        pending=group.pending,
        last_sequence=last if entry.between_two else max(last, enqueued or 0),
        last_completed=completed,
        between_two=entry.between_two,
    )


def _status(status: Any, key: str) -> int | None:
    value = status.get(key) if isinstance(status, dict) else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value):
        return int(value)
    return value if type(value) is int else None


def _short(name: str, entry: _Entry) -> str:
    return f"group {name}: {entry.operation} #{entry.sequence} {entry.shape or ''} {entry.state}".replace(
        "  ", " "
    )
