"""Processes that a signal ended on the very machine to which others lost their connection."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Reading
from kb.facts.framework import ProcessError
from kb.facts.nccl_failures import ConnectionFailure
from kb.facts.services import UnitKilled


def combine(facts: Facts) -> Iterator[Reading]:
    """ProcessError of each service that was killed on the machine of a peer that closed its connections."""
    lost = [(one, seen) for one, seen in facts.of(ConnectionFailure) if one.consequence and one.peer]
    for unit, killed in facts.of(UnitKilled):
        for failure, seen in lost:
            if unit.host is not None and _short(unit.host) == _short(failure.peer or ""):
                text = f"{unit.name}.service: Main process exited, status={unit.signal}"
                error = ProcessError(
                    rank=f"on {unit.host}", error="signal", text=text, class_="other", time=unit.time
                )
                yield derived(error, [killed, seen])
                break


def _short(host: str) -> str:
    """A name without its domain; an address as it is."""
    return host if host.replace(".", "").isdecimal() or ":" in host else host.partition(".")[0].lower()
