"""Trouble of an earlier boot is told as such, and accuses nobody."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from diagnose.cli import app

XID = "node1 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1234, name=python, GPU has fallen off the bus."
BOOT = "node1 kernel: Linux version 6.8.0-60-generic (buildd@host) #63-Ubuntu SMP"


def explained(tmp_path: Path, log: str, *arguments: str) -> str:
    (tmp_path / "kern.log").write_text(log)
    return CliRunner().invoke(app, ["explain", str(tmp_path), *arguments]).stdout


def test_an_event_before_the_last_boot_is_told_with_its_time_and_the_boot_since(tmp_path: Path):
    log = f"Mar  3 10:22:01 {XID}\nMar  4 08:00:00 {BOOT}\n"
    text = " ".join(explained(tmp_path, log).split())

    assert "Xid 79 of GPU 0000:41:00.0, first Mar 3 10:22:01; not since the boot of Mar 4 08:00:00" in text
    assert "CONFIRMED" not in text


def test_what_came_back_is_no_matter_of_the_past(tmp_path: Path):
    log = f"Mar  3 10:22:01 {XID}\nMar  4 08:00:00 {BOOT}\nMar  4 09:00:00 {XID}\n"
    report = json.loads(explained(tmp_path, log, "--format", "json"))

    assert report["before_this_boot"] == []
    assert report["causes"][0]["id"] == "gpu.fell-off-bus"


def test_json_tells_it_with_its_line(tmp_path: Path):
    log = f"Mar  3 10:22:01 {XID}\nMar  4 08:00:00 {BOOT}\n"
    (event,) = json.loads(explained(tmp_path, log, "--format", "json"))["before_this_boot"]

    assert event["evidence"][0]["source"]["line"] == 1


def test_markdown_has_a_section_of_it(tmp_path: Path):
    log = f"Mar  3 10:22:01 {XID}\nMar  4 08:00:00 {BOOT}\n"

    assert "## Before this boot" in explained(tmp_path, log, "--format", "markdown")
