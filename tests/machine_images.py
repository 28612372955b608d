"""Machines that were written down: a tree of files and what each command says, planted for one test.

A folder of tests/machines holds `root` (files as they are), `values.txt` (a line for each line of a small file,
`/path value`, or for a symbolic link, `/path -> target`) and `commands.txt` (a transcript; after a command
may stand how it ends: `$ dmesg  # exit 1, stderr`).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

MACHINES = Path(__file__).parent / "machines"

_COMMAND = re.compile(
    r"\$ (?P<program>\S+)(?: (?P<arguments>\S.*?))?(?:  # exit (?P<exit>\d+)(?P<stderr>, stderr)?)?$"
)
_PLANTED_S = 1_776_000_000
"""When every planted file was last written, so that listings don't tell of the checkout."""


def plant_machine(name: str, folder: Path) -> tuple[Path, Path]:
    """The root and the folder of tools of a machine, both below `folder`."""
    source, root, tools = MACHINES / name, folder / "root", folder / "bin"
    shutil.copytree(source / "root", root)
    _plant_values(root, (source / "values.txt").read_text(encoding="utf-8"))
    for path in root.rglob("*"):
        os.utime(path, (_PLANTED_S, _PLANTED_S), follow_symlinks=False)
    tools.mkdir()
    _plant_tools(tools, (source / "commands.txt").read_text(encoding="utf-8"))
    return root, tools


def _plant_values(root: Path, text: str) -> None:
    """Writes small files and links below the root."""
    for line in text.splitlines():
        path, _, value = line.partition(" ")
        place = root / path.lstrip("/")
        place.parent.resolve().mkdir(parents=True, exist_ok=True)  # it may be behind a link, as in sysfs
        if value.startswith("-> "):
            place.symlink_to(value.removeprefix("-> "))
            continue
        with place.open("a", encoding="utf-8") as file:
            file.write(f"{value}\n")


def _plant_tools(tools: Path, transcript: str) -> None:
    """Writes a shell script for each program, which says what the transcript has for its arguments."""
    programs: dict[str, list[str]] = {}
    for part in re.split(r"^(?=\$ )", transcript, flags=re.MULTILINE)[1:]:
        head, _, said = part.partition("\n")
        match = _COMMAND.match(head)
        assert match is not None, head
        pattern = "*".join(shlex.quote(piece) for piece in (match["arguments"] or "").split("*"))
        where = " >&2" if match["stderr"] else ""
        branch = f"{pattern}) printf %s {shlex.quote(said)}{where}; exit {match['exit'] or 0} ;;"
        programs.setdefault(match["program"], []).append(branch)
    for program, branches in programs.items():
        script = tools / program
        lines = ["#!/bin/sh", 'case "$*" in', *branches, "esac", 'echo "not written down: $*" >&2', "exit 97"]
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.chmod(0o755)
