"""`ls -l` and `readlink -f` of many paths, without the name service, which can hang without the network.

Both are pure functions from a tree to the lines that the tools print, run inside a step's child (see `run`).
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collectors.live.tree import Tree, complain, matching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_HOPS = 8
# GNU ls shows the year instead of the time for what is older than half a year, or of the future.
_HALF_YEAR_S = 31_556_952 // 2


@dataclass(frozen=True)
class _Row:
    """One path as `ls -l` shows it, before its columns are aligned."""

    mode: str
    links: str
    owner: str
    group: str
    size: str
    device: tuple[str, str] | None
    """Major and minor number, which a device has in place of a size."""
    when: str
    name: str


def list_files(*patterns: str) -> Callable[[Tree], Iterator[str]]:
    """The listing `ls -l` of what matches, folders as themselves, and of what the links among it point to.

    No lines mean that nothing matches.
    """

    def lines(tree: Tree) -> Iterator[str]:
        paths = [path for pattern in patterns for path in matching(tree, pattern)]
        yield from _aligned(_rows(tree, _with_targets(tree, paths)))

    return lines


def list_libraries(folders: Sequence[str], names: Sequence[str]) -> Callable[[Tree], Iterator[str]]:
    """The listing `ls -l` of these libraries in these folders; a folder with two names counts once."""

    def lines(tree: Tree) -> Iterator[str]:
        paths = [
            path
            for folder in _folders(tree, folders)
            for name in names
            for path in matching(tree, f"{folder}/{name}")
        ]
        yield from _aligned(_rows(tree, _with_targets(tree, paths)))

    return lines


def list_targets(folders: Sequence[str], names: Sequence[str]) -> Callable[[Tree], Iterator[str]]:
    """A transcript of `readlink -f` of each library of exactly these names."""

    def lines(tree: Tree) -> Iterator[str]:
        for folder in _folders(tree, folders):
            for name in names:
                for path in matching(tree, f"{folder}/{name}"):
                    yield f"$ readlink -f {path}"
                    yield tree.resolve(path)

    return lines


def _folders(tree: Tree, patterns: Sequence[str]) -> list[str]:
    """The folders that match, the first name of each."""
    first: dict[str, str] = {}
    for pattern in patterns:
        for folder in matching(tree, pattern):
            first.setdefault(tree.resolve(folder), folder)
    return list(first.values())


def _with_targets(tree: Tree, paths: Sequence[str]) -> list[str]:
    """The paths in order, each once, then every path that a link among them points to, step by step."""
    seen = dict.fromkeys(paths)
    for path in paths:
        here = path
        for _ in range(_HOPS):
            try:
                target = tree.link(here)
            except OSError:
                break
            here = os.path.normpath(os.path.join(os.path.dirname(here), target))  # noqa: PTH118, PTH120 - texts
            # A link's folder may have a second name, under which the target is already listed.
            known = here in seen or f"{tree.resolve(os.path.dirname(here))}/{os.path.basename(here)}" in seen  # noqa: PTH119, PTH120
            if not known and os.path.lexists(tree.beside(here)):
                seen[here] = None
    return list(seen)


def _rows(tree: Tree, paths: Sequence[str]) -> list[_Row]:
    """A row for each path that can be examined."""
    owners, groups = _names(tree, "/etc/passwd"), _names(tree, "/etc/group")
    rows = []
    for path in paths:
        try:
            status = os.lstat(tree.beside(path))
            arrow = f" -> {tree.link(path)}" if stat.S_ISLNK(status.st_mode) else ""
        except OSError as error:
            complain(path, error)
            continue
        device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
        numbers = (str(os.major(status.st_rdev)), str(os.minor(status.st_rdev)))
        rows.append(
            _Row(
                stat.filemode(status.st_mode),
                str(status.st_nlink),
                owners.get(status.st_uid, str(status.st_uid)),
                groups.get(status.st_gid, str(status.st_gid)),
                "" if device else str(status.st_size),
                numbers if device else None,
                _when(status.st_mtime),
                path + arrow,
            )
        )
    return rows


def _aligned(rows: Sequence[_Row]) -> Iterator[str]:
    """The rows as lines with columns of one width each; a device has both numbers in the column of sizes."""
    links, owner, group, size = (
        max((len(getattr(row, column)) for row in rows), default=0)
        for column in ("links", "owner", "group", "size")
    )
    devices = [row.device for row in rows if row.device is not None]
    major, minor = (max((len(numbers[at]) for numbers in devices), default=0) for at in (0, 1))
    size = max(size, major + 2 + minor if devices else 0)
    for row in rows:
        shown = f"{row.device[0]:>{major}}, {row.device[1]:>{minor}}" if row.device is not None else row.size
        yield (
            f"{row.mode} {row.links:>{links}} {row.owner:<{owner}} {row.group:<{group}} {shown:>{size}}"
            f" {row.when} {row.name}"
        )


def _names(tree: Tree, path: str) -> dict[int, str]:
    """Number to name, from passwd or group alone."""
    try:
        lines = tree.read(path, 1 << 20).splitlines()
    except OSError:
        return {}
    fields = (line.split(":") for line in lines)
    return {int(field[2]): field[0] for field in fields if len(field) > 2 and field[2].isdigit()}


def _when(mtime: float) -> str:
    """The time as the C locale has it: `Mar  9 12:02`, and `Mar  9  2025` for what is old."""
    local = time.localtime(mtime)
    recent = 0 <= time.time() - mtime < _HALF_YEAR_S
    return time.strftime("%b %e %H:%M" if recent else "%b %e  %Y", local)
