"""The catalogue of lines that look bad and are not: what they look like, why they are harmless, and when not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from kb.catalogues import entries


@dataclass(frozen=True, slots=True)
class Harmless:
    """One entry of the catalogue."""

    id: str
    lines: tuple[str, ...]
    """Stable parts of the text; one of them is enough."""
    because: str
    source: str
    matches: re.Pattern[str] | None = None
    """What the line must also hold, where the text alone is not telling enough."""
    unless: str | None = None

    def describes(self, line: str) -> bool:
        """Whether a line is one of these."""
        return any(part in line for part in self.lines) and (
            self.matches is None or bool(self.matches.search(line))
        )


@cache
def catalogue() -> tuple[Harmless, ...]:
    """All entries, in the order of the file."""
    return tuple(
        Harmless(
            id=name,
            lines=tuple(entry["lines"]),
            because=entry["because"],
            source=entry["source"],
            matches=re.compile(entry["matches"]) if "matches" in entry else None,
            unless=entry.get("unless"),
        )
        for name, entry in entries("harmless.yaml").items()
    )
