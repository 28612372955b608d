"""The journal of a probe as the one who watches sees it: whether it still grows, and which steps are open."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

MARK = "diagnose_probe"
_OPENED = "begin"
_CLOSED = ("end", "fail")
WHERE = ("rank", "gpu", "src", "dst", "size_bytes", "target", "source")
"""What tells one step from another of its name."""
_MOST_BYTES = 16 << 20


class Journal:
    """A journal on disk while it is written. The child appends to the same open file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.running.jsonl"
        self.name = name
        folder.mkdir(mode=0o700, exist_ok=True)
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    def note(self, event: str, **said: Any) -> None:
        """Appends one line and waits until it is on the disk. Raises OSError where it can't be written."""
        line = json.dumps(
            {MARK: self.name, "event": event, **{key: one for key, one in said.items() if one is not None}}
        )
        os.write(self.descriptor, line.encode() + b"\n")
        os.fsync(self.descriptor)

    def records(self) -> list[dict[str, Any]]:
        """All whole lines so far of the run that was asked for last."""
        with self.path.open("rb") as file:
            lines = file.read(_MOST_BYTES).splitlines()
        found = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:  # torn by the end of the process that wrote it
                continue
        records = [record for record in found if isinstance(record, dict)]
        asked = [at for at, record in enumerate(records) if record.get("event") == "asked"]
        return records[asked[-1] :] if asked else records

    def open_steps(self) -> list[dict[str, Any]]:
        """The steps that began and have no end, each with where it was."""
        steps: dict[tuple[Any, ...], dict[str, Any]] = {}
        for record in self.records():
            where = {key: record[key] for key in ("step", *WHERE) if key in record}
            if record.get("event") == _OPENED:
                steps[tuple(where.items())] = where
            elif record.get("event") in _CLOSED:
                steps.pop(tuple(where.items()), None)
        return list(steps.values())

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self.descriptor)


class Watch:
    """Whether the journal has stood still for longer than the step that began last may take."""

    def __init__(self, journal: Journal, patience_s: float) -> None:
        self._journal = journal
        self._size = -1
        self._limit_s = patience_s
        self._patience_s = patience_s
        self._since = time.monotonic()
        self.stalled = False

    def stands_still(self) -> bool:
        """Asked often; looks into the journal only where it has grown."""
        size = os.fstat(self._journal.descriptor).st_size
        if size != self._size:
            self._size, self._since = size, time.monotonic()
            last = (self._journal.records() or [{}])[-1]
            self._limit_s = max(last.get("limit_s", self._patience_s), 0.0)
        self.stalled = self.stalled or time.monotonic() - self._since > self._limit_s
        return self.stalled


def in_words(step: dict[str, Any]) -> str:
    """A step as a person would name it: `copy 0 -> 1, 4096 bytes`."""
    name = str(step.get("step"))
    name += f" {step['src']} -> {step['dst']}" if "src" in step and "dst" in step else ""
    rest = [
        f"{step[key]} bytes" if key == "size_bytes" else f"{key} {step[key]}"
        for key in WHERE
        if key in step and key not in {"src", "dst"}
    ]
    return ", ".join([name, *rest])
