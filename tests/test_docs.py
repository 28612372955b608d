"""What the documents show is what the commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DIAGNOSE = Path(sys.executable).with_name("diagnose")
SHOWN = re.compile(r"<!-- output: (?P<command>.+?) -->\n```text\n(?P<text>.*?)```", re.DOTALL)
SHELL = re.compile(r"```console\n(.*?)```", re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [match for page in PAGES for match in SHOWN.finditer(page.read_text(encoding="utf-8"))]


def printed(*arguments: str) -> str:
    done = subprocess.run([DIAGNOSE, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("match", BLOCKS, ids=[match["command"] for match in BLOCKS])
def test_shown_output_is_what_the_command_begins_with(match):
    """A block marked with its command is the beginning of its output."""
    assert printed(*match["command"].split()).startswith(match["text"])


def test_every_command_in_the_readme_exists():
    """Nobody copies a command that is not there."""
    shown = "\n".join(SHELL.findall((ROOT / "README.md").read_text()))
    commands = set(re.findall(r"diagnose ((?:rules )?[a-z-]+)", shown))
    wrong = [one for one in sorted(commands) if "Usage:" not in printed(*one.split(), "--help")]

    assert wrong == []
    assert "explain" in commands


def test_every_option_in_the_readme_exists():
    """And no option either."""
    shown = "\n".join(SHELL.findall((ROOT / "README.md").read_text()))
    commands = ("explain", "collect", "facts", "why", "compare")
    help_text = "".join(printed(command, "--help") for command in commands)

    assert [option for option in re.findall(r"(--[a-z-]+)", shown) if option not in help_text] == []


def test_the_readme_is_one_screen():
    """Short enough to be read."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


def test_the_table_of_what_is_read_is_current():
    """`python docs/make_reading.py` writes it anew."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from make_reading import page
    finally:
        sys.path.pop(0)

    assert (ROOT / "docs" / "reading.md").read_text(encoding="utf-8") == page()
