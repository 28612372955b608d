"""Checked copies between GPUs, from the journals of the probes `p2p` and `staged` of this program.

    {"diagnose_probe": "p2p", "event": "begin", "step": "copy", "src": 0, "dst": 3, "size_bytes": 4096, "limit_s": 30.0}
    {"diagnose_probe": "p2p", "event": "end", "step": "copy", "src": 0, "dst": 3, "size_bytes": 4096, "elements": 1024, "wrong": 0}
    {"diagnose_probe": "p2p", "event": "outcome", "outcome": "hung", "steps": [{"step": "copy", "src": 0, "dst": 3}]}

Follows `diagnose collect --probe` (collectors/probes). A copy hung where its probe was ended because that step took
too long; one that merely has no result, because machine or collector stopped, says nothing on the data. A journal
that is cut gives the copies that stand there.
"""  # noqa: E501 - lines of the journal as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from collectors.readers._probe_journal import Record, Run, first_at, marker, runs, text_at, whole_at
from kb.evidence import Reader, Reading, Section
from kb.facts.p2p import PeerAccess, PeerCopy

Way: TypeAlias = Literal["host", "no-access", "copy", "kernel", "ipc-read", "ipc-write"]

PROBES = ("p2p", "staged")
WAYS = ("host", "no-access", "copy", "kernel", "ipc-read", "ipc-write")
_STAGED = ("host", "no-access")
_HANGING = ("hung", "out-of-time")

_Key: TypeAlias = tuple[int, int, str]


def read(section: Section) -> Iterator[Reading]:
    """PeerCopy of each pair and way, the worst of all sizes; PeerAccess of each pair."""
    for run in runs(section, *PROBES):
        copies = _copies(run)
        for index, copy in copies.values():
            yield section.observe(copy, index)
        offers = [(index, fact) for index, record in run.of("access") if (fact := _access(record))]
        for index, access in offers:
            yield section.observe(access, index)
        if offers:
            yield section.looked(PeerAccess)
        if copies:
            direct = [fact.data for _, fact in copies.values() if fact.route == "peer"]
            # One that is wrong settles it; that all are right needs all.
            settled = any(data != "right" for data in direct) or run.outcome() == "completed"
            yield section.looked(PeerCopy, complete=bool(direct) and settled)


def _copies(run: Run) -> dict[_Key, tuple[int, PeerCopy]]:
    found: dict[_Key, tuple[int, PeerCopy]] = {}
    for index, record in run.of("end"):
        key, wrong = _key(record), whole_at(record, "wrong")
        if key is None or wrong is None:
            continue
        before = found.get(key)
        if before is None or wrong > (before[1].wrong or 0):
            found[key] = index, _fact(key, record, "wrong" if wrong else "right", wrong)
    if run.outcome() in _HANGING:
        for index, record in run.open_steps():
            key = _key(record)
            if key is not None and (key not in found or found[key][1].data == "right"):
                found[key] = index, _fact(key, record, "hung", None)
    return found


def _key(record: Record) -> _Key | None:
    """Pair and way of a step; None where it is no copy."""
    src, dst, way = whole_at(record, "src"), whole_at(record, "dst"), record.get("step")
    return (src, dst, way) if src is not None and dst is not None and way in WAYS else None


def _fact(key: _Key, record: Record, data: Literal["right", "wrong", "hung"], wrong: int | None) -> PeerCopy:
    src, dst, way = key
    return PeerCopy(
        src=src,
        dst=dst,
        data=data,
        route="staged" if way in _STAGED else "peer",
        elements=whole_at(record, "elements"),
        wrong=wrong,
        reads=text_at(record, "holds"),
        way=cast("Way", way),
        first_wrong=first_at(record, "first_wrong"),
    )


def _access(record: Record) -> PeerAccess | None:
    src, dst, offered = whole_at(record, "src"), whole_at(record, "dst"), record.get("offered")
    if src is None or dst is None or not isinstance(offered, bool):
        return None
    return PeerAccess(src=src, dst=dst, offered=offered, reported_by="torch")


READER = Reader("probe-copies", read, markers=tuple(map(marker, PROBES)))
