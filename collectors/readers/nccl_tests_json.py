"""The JSON that nccl-tests write with `-J`, in its newer releases: one document for each run.

    {"version":1,"args":["./build/all_reduce_perf","-g","2"],"config":{"devices":[...]},"results":[...], ...}

No reader: shared with that of the text.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from collectors.readers._json_text import at
from collectors.readers._regex import regex
from kb.facts.nccl_tools import NcclTestResult

PROGRAM = regex(r"\b(?P<operation>\w{3,30})_perf(?:_mpi)?\b")

Outcome: TypeAlias = Literal["passed", "wrong-data", "failed", "unfinished"]


def result_of(value: dict[str, Any], results: list[Any], config: dict[str, Any]) -> NcclTestResult:
    """The result that the whole of such a document states; `results` and `config` are parts of it."""
    rows = [row for row in results if isinstance(row, dict)]
    wrongs = [at(row, place, "nwrong") for row in rows for place in ("out_of_place", "in_place")]
    numbers = [int(number) for number in wrongs if isinstance(number, int | float)]
    devices = [one for one in config.get("devices") or () if isinstance(one, dict)]
    errors = [one for one in at(value, "errors") or () if isinstance(one, str)]
    program = PROGRAM.search(" ".join(str(one) for one in (at(value, "args") or ["?"])[:1]))
    bounds, busbw = at(value, "out_of_bounds", "count"), at(value, "average_bus_bandwidth", "bandwidth")
    wrong = max(sum(numbers), bounds if isinstance(bounds, int) else 0) if numbers else None
    sizes = [size for row in rows if isinstance(size := row.get("size"), int)]
    outcome: Outcome = "failed" if errors else "wrong-data" if wrong else "passed"
    return NcclTestResult(
        outcome=outcome if isinstance(bounds, int) or errors else "unfinished",
        operation=program["operation"] if program else None,
        ranks=len(devices) or None,
        hosts=len({str(one.get("hostname")) for one in devices}) or None,
        checked=wrong is not None,
        wrong=wrong,
        rows=len(rows),
        last_size_bytes=sizes[-1] if sizes else None,
        last_busbw_gbps=_gbps(at(rows[-1], "out_of_place", "bus_bw")) if rows else None,
        avg_busbw_gbps=_gbps(busbw),
        failure=errors[0][:200] if errors else None,
    )


def _gbps(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
