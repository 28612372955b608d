"""Real inputs from public places, where they are at hand; skipped elsewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from collectors.combine import combine
from collectors.open import open_evidence
from collectors.scan import read_all
from diagnose.explain import rule_base
from engine.session import assess
from kb.errors import InputError

SAMPLES = Path(__file__).parent.parent.parent / "shared" / "samples"
ACCUSES = 0.5
HEALTH = ("healthy", "faulty", "mixed")


def listed() -> list[tuple[str, str]]:
    """Path and health of each sample that the index lists."""
    found: list[tuple[str, str]] = []
    folder = ""
    index = SAMPLES / "INDEX.md"
    for line in index.read_text().splitlines() if index.is_file() else ():
        if line.startswith("## "):
            folder = line[3:].strip()
        cells = [cell.strip() for cell in line.split("|")]
        health = next(
            (
                cell.split()[0].rstrip(",;")
                for cell in cells[6:]
                if cell.split()[:1] and cell.split()[0].rstrip(",;") in HEALTH
            ),
            None,
        )
        name = re.sub(r"[`*]", "", cells[1]) if len(cells) > 6 else ""
        if health and name and (SAMPLES / folder / name).exists():
            found.append((f"{folder}/{name}", health))
    return found


LISTED = listed()

pytestmark = pytest.mark.skipif(not LISTED, reason="the samples are not at hand")


@cache
def reading(path: str):
    opened = open_evidence([str(SAMPLES / path)])
    accounts, readings = read_all(opened.files)
    return opened, accounts, [*readings, *combine(readings), *opened.unread]


@pytest.mark.parametrize("path", [path for path, _ in LISTED])
def test_every_sample_is_read_or_says_why_not(path):
    """At least one fact, or a reason for each file."""
    try:
        _, accounts, _ = reading(path)
    except InputError as error:
        assert str(error) != ""  # noqa: PT017
        return

    assert [one.path for one in accounts if not one.facts and not one.readers and not one.why_unread] == []


@pytest.mark.parametrize("path", [path for path, health in LISTED if health == "healthy"])
def test_no_healthy_sample_is_accused(path):
    """Nobody loses a night over a machine that works."""
    diagnosis = assess(rule_base(), reading(path)[2])

    assert [f.cause.cause for f in diagnosis.findings if f.cause.kind == "fault" and f.confidence >= ACCUSES] == []
