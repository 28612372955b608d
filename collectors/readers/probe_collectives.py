"""Checked all-reduces over all GPUs of a machine, from the journals of the probe `allreduce` of this program.

    {"diagnose_probe": "allreduce", "event": "plan", "ranks": 2, "sizes_bytes": [8192], "direct": true}
    {"diagnose_probe": "allreduce", "event": "end", "rank": 1, "step": "allreduce", "size_bytes": 8192, "elements": 1024, "wrong": 3, "first_wrong": [7]}
    {"diagnose_probe": "allreduce", "event": "outcome", "outcome": "completed"}

Follows `diagnose collect --probe allreduce` (collectors/probes), which runs once with P2P off and once as NCCL
likes. The latter is a run like those of nccl-tests. A journal that is cut before its end gives what is wrong in it,
and never that the data are right.
"""  # noqa: E501 - lines of the journal as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._probe_journal import Record, Run, first_at, marker, runs, text_at, whole_at
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_tools import NcclTestResult
from kb.facts.probes import CollectiveCheck

PROBES = ("allreduce", "allreduce-p2p-off")

_Data: TypeAlias = Literal["right", "wrong", "hung", "failed"]
_Ended: TypeAlias = list[tuple[int, Record]]
_OUTCOMES: dict[_Data, Literal["passed", "wrong-data", "failed", "unfinished"]] = {
    "right": "passed",
    "wrong": "wrong-data",
    "hung": "unfinished",
    "failed": "failed",
}


def read(section: Section) -> Iterator[Reading]:
    """CollectiveCheck of each run, and NcclTestResult of a run in which NCCL was free to copy between peers."""
    for run in runs(section, *PROBES):
        plan = next((record for _, record in run.of("plan")), {})
        ranks, direct = whole_at(plan, "ranks"), plan.get("direct")
        ended = [one for one in run.of("end") if one[1].get("step") == "allreduce"]
        data = _data(run, ended)
        if ranks is None or not isinstance(direct, bool) or data is None:
            continue
        worst = max(ended, key=lambda one: whole_at(one[1], "wrong") or 0, default=None)
        index = worst[0] if data == "wrong" and worst else run.records[-1][0]
        yield section.observe(_check(ended, ranks, data, direct=direct), index)
        yield section.looked(CollectiveCheck)
        if direct:
            yield section.observe(_result(run, ended, ranks, data), index)
            yield section.looked(NcclTestResult)


def _data(run: Run, ended: _Ended) -> _Data | None:
    """What came of it; None where the journal does not tell."""
    if any(whole_at(record, "wrong") for _, record in ended):
        return "wrong"
    begun = any(record.get("step") in {"init", "allreduce"} for _, record in run.of("begin"))
    outcome = run.outcome()
    if outcome == "completed" and ended:
        return "right"
    if begun and outcome in {"hung", "out-of-time"}:
        return "hung"
    return "failed" if begun and outcome in {"crashed", "failed"} else None


def _check(ended: _Ended, ranks: int, data: _Data, *, direct: bool) -> CollectiveCheck:
    wrong = max((whole_at(record, "wrong") or 0 for _, record in ended), default=None)
    offsets = [first for _, record in ended if (first := first_at(record, "first_wrong")) is not None]
    largest = max((whole_at(record, "size_bytes") or 0 for _, record in ended), default=0)
    speeds = [_speed(record) for _, record in ended if whole_at(record, "size_bytes") == largest]
    return CollectiveCheck(
        direct=direct,
        data=data,
        ranks=ranks,
        wrong=wrong,
        first_wrong=min(offsets, default=None),
        busbw_gbps=min((speed for speed in speeds if speed is not None), default=None),
    )


def _speed(record: Record) -> float | None:
    value = record.get("busbw_gbps")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _result(run: Run, ended: _Ended, ranks: int, data: _Data) -> NcclTestResult:
    sizes = {size for _, record in ended if (size := whole_at(record, "size_bytes")) is not None}
    begun = [whole_at(record, "size_bytes") for _, record in run.open_steps()]
    failed = [text_at(record, "error") for _, record in run.of("fail")]
    return NcclTestResult(
        outcome=_OUTCOMES[data],
        timed_out=True if data == "hung" else None,
        operation="all_reduce",
        ranks=ranks,
        hosts=1,
        checked=bool(ended),
        wrong=max((whole_at(record, "wrong") or 0 for _, record in ended), default=None),
        rows=len(sizes),
        last_size_bytes=max(sizes, default=None),
        begun_size_bytes=max((size for size in begun if size is not None), default=None),
        failure=next((text for text in failed if text), None),
    )


READER = Reader("probe-collectives", read, markers=tuple(map(marker, PROBES)))
