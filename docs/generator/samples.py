"""Samples of evidence: the lines of the golden pairs of `tests/readers`, and the facts that are read from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNFIT = ("truncated", "torn", "look-alike", "empty", "tool-error")
"""Words in the names of pairs that show what spoils a text."""
MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One fact and the lines that it was read from."""

    reader: str
    case: str
    kind: str
    fields: dict[str, Any]
    text: str
    command: str | None
    """The command that printed the lines, where it is known."""

    @property
    def is_clean(self) -> bool:
        """Whether the text is as it comes: a reader must also bear others."""
        return not any(word in self.case for word in UNFIT)

    @property
    def shown(self) -> str:
        """The lines, below their command."""
        return self.text if self.command is None else f"$ {self.command}\n{self.text}"


def golden_samples(folder: Path) -> list[Sample]:
    """All facts of all golden pairs."""
    found: list[Sample] = []
    for golden in sorted(folder.glob("*--*.json")):
        reader, case = golden.stem.split("--", 1)
        lines = golden.with_suffix(".txt").read_text(encoding="utf-8").replace("\r\n", "\n").split("\n")
        command = lines[0][2:] if lines[0].startswith("$ ") else None
        for fact in json.loads(golden.read_text(encoding="utf-8"))["facts"]:
            first, last = fact["line"], fact.get("end_line", fact["line"])
            text = "\n".join(lines[first - 1 : last])
            found.append(Sample(reader, case, fact["kind"], fact["fields"], text, command))
    return found


def most_telling(samples: Iterable[Sample]) -> Sample | None:
    """Of samples of one kind a clean one whose few lines show most values of its fields, and then the shortest."""
    return min(samples, key=_rank, default=None)


def _rank(one: Sample) -> tuple[bool, bool, int, int, int, str]:
    is_long = one.text.count("\n") >= MOST_LINES
    words = [rf"(?<!\w){re.escape(str(value))}(?!\w)" for value in one.fields.values()]
    seen = sum(bool(re.search(word, one.text, re.IGNORECASE)) for word in words)
    return not one.is_clean, is_long, -seen, -len(one.fields), len(one.text), one.case
