"""How far each rank came in each communicator, from the lines of NCCL's Inspector plugin.

    {"header":{"id":"0xbc6e","rank":3,"n_ranks":4,"nnodes":1},"metadata":{…},"coll_perf":{"coll":"AllReduce","coll_sn":7,"coll_msg_size_bytes":4096,"coll_exec_time_us":38,"coll_busbw_gbs":0.161684}}

Follows output format v4.0 of NCCL 2.28 to 2.30 (plugins/profiler/inspector/inspector_json.cc). It writes a
collective when it has ended, so that a rank whose last number is low is late or stuck. A line that is cut or torn
is left out; lines of point-to-point operations carry other numbers and are not counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from collectors.readers._json_text import at
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_tools import CollectiveProgress

MOST_RANKS = 20_000
MOST_COLUMNS = 20_000


@dataclass(slots=True)
class _Rank:
    """One rank of one communicator, with the line of its last collective."""

    fields: dict[str, Any]
    index: int
    records: int = 0
    busbw: float | None = None


def read(section: Section) -> Iterator[Reading]:
    """One fact for each rank of each communicator."""
    ranks: dict[tuple[str, int], _Rank] = {}
    for index, line in section.matching('"coll_perf"'):
        fields, busbw = _fields(line)
        if fields is None:
            continue
        key = (fields["comm_id"], fields["rank"])
        known = ranks.get(key)
        if known is None:
            if len(ranks) >= MOST_RANKS:
                continue
            known = ranks[key] = _Rank(fields, index)
        if fields["last_sequence"] >= known.fields["last_sequence"]:
            known.fields, known.index = fields, index
        known.records += 1
        known.busbw = max(busbw, known.busbw or 0.0) if busbw is not None else known.busbw
    for known in ranks.values():
        fact = CollectiveProgress(**known.fields, records=known.records, busbw_gbps=known.busbw)
        yield section.observe(fact, known.index)
    if ranks:
        yield section.looked(CollectiveProgress, complete=len(ranks) < MOST_RANKS)


def _fields(line: str) -> tuple[dict[str, Any] | None, float | None]:
    start = line.find('{"header"')
    if start < 0 or len(line) > MOST_COLUMNS:
        return None, None
    try:
        value = json.loads(line[start:])
    except (ValueError, RecursionError):
        return None, None
    comm_id, operation = at(value, "header", "id"), at(value, "coll_perf", "coll")
    numbers = [at(value, *keys) for keys in (("header", "rank"), ("header", "n_ranks"), ("coll_perf", "coll_sn"))]
    if (
        not isinstance(comm_id, str)
        or not isinstance(operation, str)
        or not all(type(one) is int for one in numbers)
    ):
        return None, None
    nodes, busbw = at(value, "header", "nnodes"), at(value, "coll_perf", "coll_busbw_gbs")
    fields = {
        "comm_id": comm_id[:40],
        "rank": numbers[0],
        "nranks": numbers[1],
        "nodes": nodes if type(nodes) is int else None,
        "last_sequence": numbers[2],
        "operation": operation[:40],
    }
    return fields, float(busbw) if isinstance(busbw, int | float) else None


READER = Reader("nccl-inspector", read, markers=('"coll_perf"',))
