"""What rules that someone is writing come to on a body of evidence, once or each time that they are saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.explain import Case
from diagnose.rules_kit import causes_under, faults_under, rules_at
from engine.result import Diagnosis, Finding
from engine.session import assess_parts
from kb.asked import asked_lines
from kb.errors import InputError
from kb.rule import Cause

if TYPE_CHECKING:
    from kb.errors import RuleError

EVERY_S = 0.3
"""How often a watched rule is looked at."""


def tried(
    path: Path, read: Callable[[tuple[str, ...]], Case]
) -> tuple[list[tuple[Cause, Finding | None, Diagnosis]], list[RuleError]]:
    """For each cause at this path its strongest finding on the evidence, if any; or the faults of the rules there.

    `read` gives the evidence, read for the texts by which the rules ask for lines.

    Raises InputError where there is no such path, or no cause at it.
    """
    loaded = rules_at([path])
    faults = faults_under(loaded, [path])
    if faults:
        return [], faults
    causes = causes_under(loaded, [path])
    if not causes:
        raise InputError(f"expected a rule of a cause at {path}, found none; `diagnose rules new ID` writes one")
    diagnosis = assess_parts(loaded.base, read(asked_lines(loaded.base)).parts)
    findings = (*diagnosis.findings, *diagnosis.weaker)
    return [(one, _of(one, findings), diagnosis) for one in causes], []


def _of(cause: Cause, findings: Sequence[Finding]) -> Finding | None:
    return next((one for one in findings if one.cause.cause == cause.cause), None)


def each_change(path: Path, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Once at first, and again each time that a file at the path was changed."""
    seen: dict[Path, int] | None = None
    while True:
        now = {one: one.stat().st_mtime_ns for one in _files(path)}
        if now != seen:
            seen = now
            yield
        sleep(EVERY_S)


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.yaml")) if path.is_dir() else [path] if path.exists() else []
