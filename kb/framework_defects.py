"""The catalogue of known defects of frameworks: the line that shows each, and the release that mends it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from kb.catalogues import entries
from kb.facts.base import version_key


@dataclass(frozen=True, slots=True)
class Defect:
    """One entry of the catalogue."""

    id: str
    package: str
    """As pip names it."""
    lines: tuple[str, ...]
    """Stable parts of the text; one of them is enough."""
    what: str
    workaround: str
    source: str
    since: str | None = None
    fixed: str | None = None
    matches: re.Pattern[str] | None = None
    """What the line must also hold, where the text alone is not telling enough."""
    by_release: bool = False
    """Other faults give the same line, so that nothing is said where no release is known."""

    def describes(self, line: str) -> bool:
        """Whether a line shows this defect."""
        return any(part in line for part in self.lines) and (
            self.matches is None or bool(self.matches.search(line))
        )

    def has(self, version: str) -> bool:
        """Whether this release has it."""
        key = version_key(version)
        if key is None:
            return True
        after = self.since is None or key >= (version_key(self.since) or 0)
        return after and (self.fixed is None or key < (version_key(self.fixed) or 0))


@cache
def catalogue() -> tuple[Defect, ...]:
    """All entries, in the order of the file. Raises RuleErrors where it can't be read."""
    return tuple(
        Defect(
            id=name,
            package=entry["package"],
            lines=tuple(entry["lines"]),
            what=entry["what"],
            workaround=entry["workaround"],
            source=entry["source"],
            since=entry.get("since"),
            fixed=entry.get("fixed"),
            matches=re.compile(entry["matches"]) if "matches" in entry else None,
            by_release=bool(entry.get("by_release")),
        )
        for name, entry in entries("framework_defects.yaml").items()
    )
