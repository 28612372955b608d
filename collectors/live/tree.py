"""A file tree as seen from its own root, and the work of a step's child on it.

All of it may hang with the file system it touches, so it is called inside a step's child only (see `run`).
"""

from __future__ import annotations

import errno
import glob
import gzip
import os
import re
import stat
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from collectors.live.excerpt import copy_parts
from collectors.live.report import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Keep: TypeAlias = Literal["head", "tail", "parts"]

_CHUNK = 64 * 1024
_LINKS = 40
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Tree:
    """The files under `root`. Paths go in and come out absolute, as a process with that root sees them."""

    root: str = "/"

    def real(self, path: str) -> str:
        """Where to open `path`. Symbolic links with absolute targets stay inside the root."""
        if self.root == "/":
            return path
        return self.root.rstrip("/") + self.resolve(path)

    def resolve(self, path: str) -> str:
        """`path` without symbolic links, in the words of the tree; a part that is not there stays as it is.

        Raises OSError (ELOOP) where links go round.
        """
        base = self.root.rstrip("/")
        done, todo, links = "", [part for part in path.split("/") if part], 0
        while todo:
            part = todo.pop(0)
            if part in {".", ".."}:
                done = done.rpartition("/")[0] if part == ".." else done
                continue
            try:
                target = os.readlink(f"{base}{done}/{part}")  # noqa: PTH115 - a text, as it stands
            except OSError:
                done = f"{done}/{part}"
                continue
            links += 1
            if links > _LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            done = "" if target.startswith("/") else done
            todo = [piece for piece in target.split("/") if piece] + todo
        return done or "/"

    def beside(self, path: str) -> str:
        """Where `path` itself lies, its last part not followed if it is a link."""
        head, _, name = path.rstrip("/").rpartition("/")
        return f"{self.real(head or '/').rstrip('/')}/{name}"

    def link(self, path: str) -> str:
        """The text of a symbolic link as it stands. Raises OSError (EINVAL) where it is none."""
        return os.readlink(self.beside(path))  # noqa: PTH115 - Path would tidy the text

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, with numbers in them in numeric order.

        Raises OSError where the folder above the first wildcard cannot be listed.
        """
        fixed = _MAGIC.split(pattern, maxsplit=1)[0]
        if fixed == pattern:
            return [pattern] if os.path.lexists(self.beside(pattern)) else []
        os.scandir(self.real(fixed.rpartition("/")[0] or "/")).close()
        base = self.root.rstrip("/")
        found = glob.glob(f"{glob.escape(base)}/{pattern.lstrip('/')}")  # noqa: PTH207 - no Path for each of thousands
        return sorted((path[len(base) :] for path in found), key=_numeric)

    def read(self, path: str, limit: int = _CHUNK) -> str:
        """The first `limit` bytes of a small text file, without the line end that closes it."""
        return self.read_bytes(path, limit).decode("utf-8", "surrogateescape").rstrip("\n")

    def read_bytes(self, path: str, limit: int = _CHUNK) -> bytes:
        """The first `limit` bytes of a file."""
        with open(self.real(path), "rb") as file:  # noqa: PTH123 - Path.open would not save anything here
            return file.read(limit)


def copy(tree: Tree, path: str, cap_bytes: int, keep: Keep) -> None:
    """Writes a file to standard output; of one over the cap its beginning, its last whole lines, or parts.

    What gzip packed is unpacked: nobody could see secrets in it otherwise.
    """
    descriptor = os.open(tree.real(path), os.O_RDONLY | os.O_NOCTTY)
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if path.endswith(".gz") and stat.S_ISREG(status.st_mode):
        with os.fdopen(descriptor, "rb") as packed, gzip.GzipFile(fileobj=packed) as file:
            (_write_all if keep == "head" else _write_last)(file.read, cap_bytes)
        return
    if keep == "parts" and status.st_size > cap_bytes:
        copy_parts(descriptor, status.st_size, cap_bytes, _write)
        return
    if keep == "tail" and status.st_size > cap_bytes:
        report(cut=True)
        os.lseek(descriptor, status.st_size - cap_bytes, os.SEEK_SET)
        first = os.read(descriptor, _CHUNK)
        _write(first[first.find(b"\n") + 1 :])
    _write_all(partial(os.read, descriptor), cap_bytes)


def print_paths(tree: Tree, patterns: Iterable[str]) -> None:
    """Writes the paths that match any of the patterns, each once, ended by a zero byte.

    Raises what the first pattern raised that could not be looked for, if nothing was found.
    """
    found: dict[str, None] = {}
    refused: OSError | None = None
    for pattern in patterns:
        try:
            paths = tree.glob(pattern)
            if _MAGIC.search(pattern):  # folders that happen to match; one that is named outright is an error
                paths = [path for path in paths if not os.path.isdir(tree.real(path))]  # noqa: PTH112 - a text
            found.update(dict.fromkeys(paths))
        except FileNotFoundError:
            continue
        except OSError as error:
            refused = refused or error
    if refused is not None and not found:
        raise refused
    _write(b"".join(os.fsencode(path) + b"\0" for path in found))


def print_lines(tree: Tree, like: str, lines: Callable[[Tree], Iterator[str]]) -> None:
    """Writes a listing as a transcript: `$ ` and a command line that shows the same, then the lines.

    Each line goes out at once, so that one that hangs loses no other.
    """
    head = f"$ {like}\n"
    for line in lines(tree):
        _write(os.fsencode(f"{head}{line}\n"))
        head = ""
    if head:
        _write(head.encode())


def print_transcript(lines: Callable[[], Iterator[str]]) -> None:
    """Writes lines that hold their own commands, each at once."""
    for line in lines():
        _write(os.fsencode(f"{line}\n"))


def matching(tree: Tree, pattern: str) -> list[str]:
    """What matches; a folder that cannot be listed is said, one that is not there is nothing."""
    try:
        return tree.glob(pattern)
    except FileNotFoundError:
        return []
    except OSError as error:
        complain(pattern, error)
        return []


def complain(path: str, error: OSError) -> None:
    """Says on standard error that one part of a listing could not be read."""
    os.write(2, os.fsencode(f"cat: {path}: {error.strerror}\n"))


def _write_all(read: Callable[[int], bytes], cap_bytes: int) -> None:
    """Writes what is read, and one byte more than is kept, so that the parent sees that it was too long."""
    left = cap_bytes + 1
    chunk = read(min(_CHUNK, left))
    while chunk:
        _write(chunk)
        left -= len(chunk)
        chunk = read(min(_CHUNK, left)) if left > 0 else b""


def _write_last(read: Callable[[int], bytes], cap_bytes: int) -> None:
    """Writes the last whole lines of what can only be read from its beginning."""
    kept, cut = b"", False
    chunk = read(_CHUNK)
    while chunk:
        kept += chunk
        chunk = read(_CHUNK)
        if len(kept) > 2 * cap_bytes:
            kept, cut = kept[-cap_bytes:], True
    if cut or len(kept) > cap_bytes:
        report(cut=True)
        kept = kept[-cap_bytes:]
        kept = kept[kept.find(b"\n") + 1 :]
    _write(kept)


def _write(chunk: bytes) -> None:
    """Writes all of it to standard output."""
    while chunk:
        chunk = chunk[os.write(1, chunk) :]


def _numeric(path: str) -> list[tuple[int, str]]:
    """A sort key by which group 9 comes before group 17."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path)]
