"""What the documents show is what the commands print, and what they tell one to do works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from make_reading import page as reading_page

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<mark>\w+): (?P<of>.+?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)
DIAGNOSE = [sys.executable, "-c", "from diagnose.cli import run; run()"]
WORKED = {
    "teach-it-a-failure.md": (),
    "reading-a-new-format.md": ("kb", "engine", "collectors", "diagnose", "rules"),
}
"""Pages that are followed from top to bottom in a folder of their own, and what must lie in it beforehand."""


class Block(NamedTuple):
    """One fenced block of a page; a mark before it says what it is, and of what."""

    mark: str
    of: str
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [
        Block(match["mark"] or "", match["of"] or "", match["language"], match["text"])
        for match in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def diagnose(arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run([*DIAGNOSE, *shlex.split(arguments)], folder)


def commands(page: Path) -> list[str]:
    """The command lines of `diagnose` that a page shows, without remarks."""
    shown = "\n".join(one.text for one in blocks(page) if one.language == "console")
    lines = re.findall(r"^\$ (.*?)(?:\s+#.*)?$", shown, re.MULTILINE)
    return [part.strip() for line in lines for part in line.split("&&") if part.strip().startswith("diagnose ")]


@cache
def help_of(command: str) -> str:
    return diagnose(f"{command} --help").stdout


def subcommand(line: str) -> str:
    found = re.match(r"diagnose ((?:rules )?[a-z-]+)", line)
    assert found is not None, line
    return found[1]


@pytest.mark.parametrize(
    "block",
    [one for page in PAGES if page.name not in WORKED for one in blocks(page) if one.mark == "output"],
    ids=lambda one: one.of,
)
def test_shown_output_is_what_the_command_begins_with(block: Block):
    """A block marked with its command is the beginning of its output."""
    assert diagnose(block.of).stdout.startswith(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_option_that_is_shown_exists(page: Path):
    """Nobody copies a command that is not there."""
    wrong = [
        line
        for line in commands(page)
        if "Usage:" not in help_of(subcommand(line))
        or any(option not in help_of(subcommand(line)) for option in re.findall(r"(?<= )--?[a-z][a-z-]*", line))
    ]

    assert wrong == []


def test_the_readme_shows_how_to_explain():
    assert any(line.startswith("diagnose explain") for line in commands(ROOT / "README.md"))


@pytest.mark.parametrize("name", WORKED)
def test_a_page_that_is_followed_from_top_to_bottom_works(name: str, tmp_path: Path):
    """Its files are written, its changes made, its commands run; lint and test hold at the end."""
    for package in WORKED[name]:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    last = {}
    for block in blocks(ROOT / "docs" / name):
        _follow(block, tmp_path, last)

    assert [line for line, status in last.items() if "rules lint" in line or "rules test" in line if status] == []
    assert [line for line, status in last.items() if "explain --rules" in line and status != 1] == []


def _follow(block: Block, folder: Path, last: dict[str, int]) -> None:
    if block.mark == "file":
        file = folder / block.of
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text, encoding="utf-8")
    elif block.mark == "output":
        assert diagnose(block.of, folder).stdout.startswith(block.text)
    elif block.mark == "change":
        path, old, new = re.split(r": (?=expect)| → ", block.of)
        text = (folder / path).read_text(encoding="utf-8")
        assert old in text
        (folder / path).write_text(text.replace(old, new), encoding="utf-8")
    if block.language == "console":
        for line in block.text.splitlines():
            _run_line(line.removeprefix("$ "), folder, last)


def _run_line(line: str, folder: Path, last: dict[str, int]) -> None:
    if line == "make index":
        for module in ("collectors.index", "kb.rule_index"):
            assert run([sys.executable, "-m", module], folder).returncode == 0
    elif line.startswith("diagnose "):
        done = diagnose(line.removeprefix("diagnose "), folder)
        assert done.returncode != 2, done.stderr
        last[line] = done.returncode


def test_links_lead_to_what_is_there():
    """From each page to files beside it."""
    gone = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert gone == []


def test_the_readme_is_one_screen():
    """Short enough to be read."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110


def test_the_table_of_what_is_read_is_current():
    """`python docs/make_reading.py` writes it anew."""
    assert (ROOT / "docs" / "reading.md").read_text(encoding="utf-8") == reading_page()
