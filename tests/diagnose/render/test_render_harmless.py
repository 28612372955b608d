"""Lines that look bad and are not: counted in every report, with the reason on demand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from diagnose.cli import app

TAINT = "nvidia: loading out-of-tree module taints kernel."
LOG = f"""\
[    0.000000] Linux version 6.8.0-60-generic (buildd@host) #63-Ubuntu SMP
[    9.774100] {TAINT}
[    9.774110] nvidia: module license 'NVIDIA' taints kernel.
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    (tmp_path / "dmesg.txt").write_text(LOG)
    return str(tmp_path)


def explained(*arguments: str) -> str:
    return CliRunner().invoke(app, ["explain", *arguments]).stdout


def test_a_short_report_counts_them(log: str):
    assert "2 lines look bad and are not: --all shows why" in explained(log)


def test_all_shows_why_they_are_harmless_when_they_would_not_be_and_where(log: str):
    text = " ".join(explained(log, "--all").split())

    assert "is loaded all the same. Not so if the module is refused" in text
    assert TAINT in text
    assert "dmesg.txt:2" in text


def test_json_lists_them(log: str):
    found = json.loads(explained(log, "--format", "json"))["harmless"]

    assert [(one["count"], one["evidence"][0]["source"]["line"]) for one in found] == [(2, 2)]


def test_markdown_lists_them_on_demand(log: str):
    assert "## Looks bad and is not" in explained(log, "--all", "--format", "markdown")
    assert "## Looks bad and is not" not in explained(log, "--format", "markdown")
