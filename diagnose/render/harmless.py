"""Lines that look bad and are not: recognised, so that the reader stops looking at them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.result import Diagnosis
from kb.evidence import Observed
from kb.facts.problems import HarmlessLine
from kb.harmless import catalogue


@dataclass(frozen=True, slots=True)
class Recognised:
    """All lines of one entry of the catalogue."""

    id: str
    because: str
    unless: str | None
    count: int
    evidence: tuple[Observed, ...]
    """The first of these lines in each file."""


def recognised(diagnosis: Diagnosis) -> list[Recognised]:
    """What of the evidence is in the catalogue of harmless lines, the most frequent first."""
    seen: dict[str, list[tuple[HarmlessLine, Observed]]] = {}
    for one in diagnosis.observed:
        if isinstance(one.fact, HarmlessLine):
            seen.setdefault(one.fact.id, []).append((one.fact, one))
    if not seen:
        return []
    found = [
        Recognised(
            id=entry.id,
            because=entry.because,
            unless=entry.unless,
            count=sum(fact.count for fact, _ in seen[entry.id]),
            evidence=tuple(observed for _, observed in seen[entry.id]),
        )
        for entry in catalogue()
        if entry.id in seen
    ]
    return sorted(found, key=lambda one: (-one.count, one.id))
