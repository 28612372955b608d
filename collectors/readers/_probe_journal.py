"""The journals of this program's probes, as the runs that they tell of. No reader.

    {"diagnose_probe": "p2p", "event": "begin", "step": "copy", "src": 0, "dst": 1, "size_bytes": 4096, "limit_s": 30.0}
    {"diagnose_probe": "p2p", "event": "end", "step": "copy", "src": 0, "dst": 1, "size_bytes": 4096, "elements": 1024, "wrong": 0}
    {"diagnose_probe": "p2p", "event": "outcome", "outcome": "completed"}

One JSON object a line. `begin` is written before a step, `end` or `fail` after it; `outcome` by whoever watched. A
line that is torn is passed over.
"""  # noqa: E501 - lines of the journal as they are

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kb.evidence import Section

MARK = '"diagnose_probe"'
MOST_COLUMNS = 20_000
MOST_RECORDS = 100_000
_WHERE = ("rank", "gpu", "src", "dst", "size_bytes", "target", "source")

Record: TypeAlias = dict[str, Any]


def marker(probe: str) -> str:
    """How the lines of a probe begin, without the brace."""
    return f'{MARK}: "{probe}"'


@dataclass(slots=True)
class Run:
    """One run of one probe: its records with the indices of their lines."""

    probe: str
    records: list[tuple[int, Record]] = field(default_factory=list)

    def of(self, *events: str) -> list[tuple[int, Record]]:
        """The records of these events."""
        return [(index, record) for index, record in self.records if record.get("event") in events]

    def open_steps(self) -> list[tuple[int, Record]]:
        """The beginnings of steps that have no end."""
        steps: dict[tuple[Any, ...], tuple[int, Record]] = {}
        for index, record in self.of("begin", "end", "fail"):
            key = tuple(str(record.get(one)) for one in ("step", *_WHERE))
            if record["event"] == "begin":
                steps[key] = index, record
            else:
                steps.pop(key, None)
        return list(steps.values())

    def outcome(self) -> str:
        """In one word; `unfinished` where nobody wrote one."""
        found = self.of("outcome")
        return text_at(found[-1][1], "outcome") or "unfinished" if found else "unfinished"


def runs(section: Section, *probes: str) -> list[Run]:
    """The runs of these probes, in order; a run begins where the probe is asked for."""
    found: list[Run] = []
    latest: dict[str, Run] = {}
    for number, (index, line) in enumerate(section.matching(*map(marker, probes))):
        record = _record(line)
        if record is None or number >= MOST_RECORDS:
            continue
        probe = record["diagnose_probe"]
        if probe not in latest or record["event"] == "asked":
            latest[probe] = Run(probe)
            found.append(latest[probe])
        latest[probe].records.append((index, record))
    return [run for run in found if run.probe in probes]


def _record(line: str) -> Record | None:
    text = line.strip()
    if len(text) > MOST_COLUMNS or not text.startswith("{"):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    known = isinstance(record.get("diagnose_probe"), str) and isinstance(record.get("event"), str)
    return record if known else None


def whole_at(record: Record, key: str) -> int | None:
    """A whole number that is not negative; None where there is none."""
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def text_at(record: Record, key: str) -> str | None:
    """A text that is not empty, cut to 300 characters; None where there is none."""
    value = record.get(key)
    return value[:300] if isinstance(value, str) and value else None


def first_at(record: Record, key: str) -> int | None:
    """The first number of a list of them."""
    value = record.get(key)
    return whole_at({"first": value[0]}, "first") if isinstance(value, list) and value else None
