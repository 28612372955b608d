"""What a row of the table of sources is, and short ways to write one. The table itself is in `sources`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from collectors.live.listings import of_values
from collectors.live.ls import list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from collectors.live.tree import Keep, Tree

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True)
class File:
    """One file, copied. `keep` says which part of one that is larger than the cap."""

    path: str
    keep: Keep = "head"


@dataclass(frozen=True)
class Files:
    """Every file that matches a pattern, copied. A pattern whose `~` or `$NAME` is not set is left out."""

    patterns: tuple[str, ...]
    keep: Keep = "head"


@dataclass(frozen=True)
class Command:
    """A command whose standard output is kept."""

    argv: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """A text that one of our functions makes of many files; `like` is a command line that shows the same."""

    lines: Callable[[Tree], Iterator[str]]
    like: str


@dataclass(frozen=True)
class Processes:
    """What the kernel tells of each of these processes, or else of each that holds a GPU."""

    pids: tuple[int, ...] = ()


@dataclass(frozen=True)
class PythonStacks:
    """Where the Python code of each of these processes stands, if py-spy is there."""

    pids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pythons:
    """What these interpreters have installed, or else those of the processes, or else python3."""

    paths: tuple[str, ...] = ()
    pids: tuple[int, ...] = ()


How: TypeAlias = File | Files | Command | Listing | Processes | PythonStacks | Pythons


@dataclass(frozen=True)
class Source:
    """One row. `deadline_s` holds for all files of a row together, `cap_bytes` for each."""

    name: str
    how: How
    deadline_s: float = 3.0
    cap_bytes: int = MIB
    unless: tuple[str, ...] = ()
    """Not taken where one of these sources came whole."""
    whole_if: bytes | tuple[bytes, ...] = b""
    """It came whole only if it begins so, or with one of these: a ring buffer that has wrapped does not."""
    after: tuple[str, float] | None = None
    """Starts no sooner than so many seconds after that source did, if that one succeeded."""
    last: bool = False
    """Time is kept for it: others end early enough to leave it some."""
    alien: bool = True
    """It may be taken from the files of another root; False for what speaks of our own process."""


def file_row(path: str, keep: Keep = "head", cap_bytes: int = MIB) -> Source:
    """A row for one file, named by its path. What /proc/self says is of us, whichever root it is read through."""
    name = re.sub(r"[^a-z0-9]+", "-", path).strip("-")
    return Source(name, File(path, keep), cap_bytes=cap_bytes, alien=not path.startswith("/proc/self/"))


def files_row(name: str, *patterns: str, keep: Keep = "head", cap_bytes: int = MIB) -> Source:
    """A row for whatever matches."""
    return Source(name, Files(patterns, keep), cap_bytes=cap_bytes)


def command_row(name: str, line: str, deadline_s: float = 10.0, *, last: bool = False) -> Source:
    """A row for a command line without quoting."""
    return Source(name, Command(tuple(line.split())), deadline_s, 8 * MIB, last=last)


def listing_row(name: str, like: str, lines: Callable[[Tree], Iterator[str]]) -> Source:
    """A row for a listing."""
    return Source(name, Listing(lines, like), 5.0, 8 * MIB)


def values_row(name: str, patterns: tuple[str, ...]) -> Source:
    """A row for `path:value` of small files."""
    return listing_row(name, f"grep -H ^ {' '.join(patterns)}", of_values(*patterns))


def ls_row(name: str, *patterns: str) -> Source:
    """A row for `ls -ld` of what matches."""
    return listing_row(name, f"ls -ld {' '.join(patterns)}", list_files(*patterns))
