"""Evidence without names leads to the same conclusions, and holds none of the names that were read from it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.combine import combine
from collectors.hosts import by_host, plain_name
from collectors.redact.neutral import is_ambiguous
from collectors.scan import read_all
from diagnose.explain import read_case, rule_base
from diagnose.redacting import redact_evidence
from engine.result import Diagnosis
from engine.session import assess_parts
from kb.evidence import Observed

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared" / "cases"
EVERY = 1 if "FUZZ_EXAMPLES" in os.environ else 4
"""Every which of the cases is tried: all of them take minutes, which `make fuzz` has."""
CASES = [
    *(path for path in sorted((HERE / "stories").iterdir()) if path.is_dir()),
    *[path / "evidence" for path in sorted(SHARED.glob("*")) if (path / "case.yaml").is_file()][1::EVERY],
]
KEY = b"a key of tests"


def name_of(case: Path) -> str:
    return case.parent.name if case.name == "evidence" else case.name


def diagnosed(place: Path) -> tuple[Diagnosis, list[Observed]]:
    opened = read_case([str(place)]).opened
    _, readings = read_all(opened.files)
    parts = {host: [*part, *combine(part), *opened.unread] for host, part in by_host(readings).items()}
    observed = [reading for reading in readings if isinstance(reading, Observed)]
    return assess_parts(rule_base(), parts), observed


def conclusions(diagnosis: Diagnosis) -> list[tuple[str, float, int]]:
    return [
        (one.cause.cause, round(one.confidence, 9), len(one.subjects))
        for one in (*diagnosis.findings, *diagnosis.weaker)
    ]


def names(observed: list[Observed]) -> Iterator[str]:
    """Names of hosts, UUIDs and addresses that the readers found."""
    for one in observed:
        for field, value in one.fact:
            host = plain_name(value) if field == "host" and isinstance(value, str) else None
            if host and re.search("[a-z]", host) and not is_ambiguous(host):
                yield host
            if field == "uuid" and isinstance(value, str):
                yield value.lower()


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_conclusions_are_the_same_without_names(case: Path, tmp_path: Path) -> None:
    """Causes in their order, how sure, and of how many things; none of the names that were read is left."""
    copy, _ = redact_evidence([str(case)], tmp_path / "copy", KEY)

    before, observed = diagnosed(case)
    after, _ = diagnosed(copy)
    held = (
        b"".join(path.read_bytes() for path in copy.rglob("*") if path.is_file())
        if copy.is_dir()
        else copy.read_bytes()
    )
    assert conclusions(before) == conclusions(after)
    assert [name for name in sorted(set(names(observed))) if name.encode() in held.lower()] == []
