r"""Logs of which every line is a JSON record with the program's own line in it → those lines.

    {"log":"a17:311:340 [0] NCCL INFO Init COMPLETE\n","stream":"stderr","time":"2026-01-31T12:00:00.1Z"}
    {"endpointId":"e1","workerId":"w1","level":"error","message":"OSError: …","dt":"2026-01-31T12:00:00Z"}
    {"severity":"ERROR","textPayload":"RuntimeError: CUDA out of memory.","timestamp":"2026-01-31T12:00:00Z"}

Docker's json-file driver, Loki, Google's Cloud Logging, CloudWatch, journalctl -o json, serverless platforms, and
python-json-logger. Plain lines between the records stay as they are. Where one of the first records has none of
these keys, nothing is taken out of any line, for then it is no log of this kind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

MOST_LOOKED_AT = 50
MOST_PLAIN_PERCENT = 50
_TEXTS = ("log", "message", "textPayload", "MESSAGE", "line", "msg")
_BESIDE = frozenset(
    (
        *("stream", "time", "ts", "dt", "timestamp", "level", "severity", "levelname", "asctime", "@timestamp"),
        *("ingestionTime", "receiveTimestamp", "__REALTIME_TIMESTAMP"),
    )
)
"""What stands beside the text in a log, and in no other file that is JSON by lines."""


def unwrapped(lines: Sequence[str]) -> tuple[list[str], list[int]] | None:
    """The lines within the records, and the number of each in the file; None where it is no such log."""
    first = [line for line in lines[:MOST_LOOKED_AT] if line.strip()]
    records = [line for line in first if _is_record(line)]
    if not records or 100 * (len(first) - len(records)) > MOST_PLAIN_PERCENT * len(first):
        return None
    if any(_text(line) is None for line in records):
        return None
    found: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, 1):
        text = _text(line) if _is_record(line) else None
        said = [line] if text is None else text.rstrip("\r\n").splitlines() or [""]
        found += said
        numbers += [number] * len(said)
    return found, numbers


def _is_record(line: str) -> bool:
    return line.startswith('{"') and line.rstrip().endswith("}")


def _text(line: str) -> str | None:
    """The program's own line in a record; None where it has none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or _BESIDE.isdisjoint(record):
        return None
    return next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None)
