"""Whatever the user hands over → files to read: a directory, an archive, a file, standard input.

A bundle of ours is one of those with a manifest; from it comes which command or file each piece is, and why
a piece is missing. Nothing is executed, no link is followed, nothing is written to disk, and sizes are bounded.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from collectors.archives import MOST_BYTES_OF_A_FILE, MOST_FILES, Load, decompressed, members
from kb.bundle import MANIFEST, Artifact, Bundle
from kb.errors import InputError
from kb.evidence import Reason, Unread

STDIN: Final = "-"

SHELL_ERRORS: Final = {
    "absent": "{what}: No such file or directory",
    "no-permission": "{what}: Permission denied",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file to read: the path that is shown, its bytes, and the command that printed it where one is known."""

    path: str
    content: bytes
    command: str | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """One thing that the user handed over."""

    path: str
    kind: str
    """bundle, directory, archive, file, stdin."""
    files: int = 0
    bytes: int = 0
    host: str | None = None


@dataclass(slots=True)
class Opened:
    """All files of all inputs, in order of path, and what could not be read."""

    inputs: list[Input] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def open_evidence(paths: Iterable[str]) -> Opened:
    """The files of these inputs (`-` is standard input). What can't be read inside an input is told in `unread`.

    Raises InputError where an input is missing, empty, or holds nothing at all that can be read.
    """
    opened = Opened()
    names = list(paths)
    for name in names:
        part = _open_one(name)
        if not part.files:
            why = f": {part.unread[0].what}: {part.unread[0].consequence}" if part.unread else ""
            raise InputError(
                f"expected evidence, found none in {name}{why}; give a bundle, a directory, a log or an archive"
            )
        files = part.files if len(names) == 1 else [_prefixed(file, name) for file in part.files]
        opened.files += files
        opened.inputs += [
            replace(one, files=len(part.files), bytes=sum(len(file.content) for file in part.files))
            for one in part.inputs
        ]
        opened.unread += part.unread
    return opened


def _prefixed(file: File, name: str) -> File:
    prefix = Path(name).name
    return file if file.path == prefix else replace(file, path=f"{prefix}/{file.path}")


def _open_one(name: str) -> Opened:
    if name == STDIN:
        content = sys.stdin.buffer.read(MOST_BYTES_OF_A_FILE)
        return _from_bytes("(standard input)", content, "stdin")
    path = Path(name)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"expected evidence at {name}, found none ({_reason(error)}); check the path") from error
    if stat.S_ISDIR(mode):
        return _from_directory(path, name)
    if not stat.S_ISREG(mode):
        raise InputError(f"expected a file or a directory, found a special file at {name}; copy its content first")
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES_OF_A_FILE + 1)
    except OSError as error:
        raise InputError(f"could not read {name}: {_reason(error)}; check its permissions") from error
    if not content:
        raise InputError(f"expected evidence, found an empty file: {name}; collect it again")
    return _from_bytes(path.name, content, "file", shown=name)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _from_directory(root: Path, name: str) -> Opened:
    opened = Opened([Input(name, "directory")])
    contents: dict[str, Load] = {}
    for path in _walk(root, opened.unread):
        contents[path.relative_to(root).as_posix()] = lambda path=path: _read(path)  # type: ignore[misc]
    return _assembled(opened, contents)


def _walk(root: Path, unread: list[Unread]) -> Iterator[Path]:
    """Regular files below root, sorted; links and special files are not followed."""
    count = 0
    for folder, folders, files in os.walk(root):
        folders.sort()
        for file in sorted(files):
            path = Path(folder, file)
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            count += 1
            if count > MOST_FILES:
                unread.append(Unread(str(root), "truncated", f"only its first {MOST_FILES} files were read"))
                return
            yield path


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MOST_BYTES_OF_A_FILE + 1)


def _from_bytes(name: str, content: bytes, kind: str, shown: str | None = None) -> Opened:
    opened = Opened([Input(shown or name, kind)])
    plain, inner = decompressed(name, content, opened.unread)
    packed = members(plain, opened.unread)
    if packed is not None:
        opened.inputs = [Input(shown or name, "archive")]
        return _assembled(opened, packed)
    return _assembled(opened, {inner: lambda: plain})


def _assembled(opened: Opened, contents: Mapping[str, Load]) -> Opened:
    manifests = [path for path in contents if path.rsplit("/", 1)[-1] == MANIFEST]
    bundles = {
        path.removesuffix(MANIFEST): bundle for path in manifests if (bundle := _manifest(contents[path]()))
    }
    known = {}
    for base, bundle in bundles.items():
        opened.inputs = [replace(one, kind="bundle", host=one.host or bundle.host) for one in opened.inputs]
        for artifact in bundle.artifacts:
            known[base + (artifact.path or f"({artifact.name or artifact.file})")] = artifact
    for path, load in contents.items():
        if path.removesuffix(MANIFEST) in bundles and path.endswith(MANIFEST):
            continue
        _add(opened, path, load, known.get(path))
    for path, artifact in known.items():
        if path not in contents:
            _add_missing(opened, path, artifact)
    return opened


def _manifest(content: bytes) -> Bundle | None:
    try:
        return Bundle.model_validate_json(content)
    except ValidationError:
        return None


def _add(opened: Opened, path: str, load: Load, artifact: Artifact | None) -> None:
    try:
        content = load()
    except OSError as error:
        reason: Reason = "no-permission" if isinstance(error, PermissionError) else "unreadable"
        opened.unread.append(Unread(path, reason, f"it was not read: {_reason(error)}"))
        return
    if len(content) > MOST_BYTES_OF_A_FILE:
        content = content[:MOST_BYTES_OF_A_FILE]
        opened.unread.append(Unread(path, "truncated", f"only its first {MOST_BYTES_OF_A_FILE} bytes were read"))
    plain, inner = decompressed(path, content, opened.unread)
    truncated = artifact is not None and (artifact.truncated or artifact.outcome != "ok")
    opened.files.append(File(inner, plain, _command(artifact), truncated))


def _command(artifact: Artifact | None) -> str | None:
    if artifact is None:
        return None
    if artifact.command:
        return " ".join(artifact.command)
    return f"cat {artifact.file}" if artifact.file else None


def _add_missing(opened: Opened, path: str, artifact: Artifact) -> None:
    """A piece that the collector looked for and did not get: what a shell would say, or a line in `unread`."""
    if artifact.outcome == "skipped" and (artifact.error or "").startswith("not needed"):
        return
    what = artifact.file or " ".join(artifact.command or (artifact.name,))
    command = _command(artifact)
    if artifact.outcome == "absent" and artifact.command:
        text = f"{artifact.command[0]}: command not found"
    elif artifact.outcome in SHELL_ERRORS:
        text = f"cat: {SHELL_ERRORS[artifact.outcome].format(what=what)}"
    else:
        reason: Reason = "timed-out" if artifact.outcome == "timed-out" else "not-collected"
        opened.unread.append(Unread(what, reason, artifact.error or f"the collector says: {artifact.outcome}"))
        return
    if artifact.outcome == "no-permission":
        opened.unread.append(Unread(what, "no-permission", "collect again as root to have it"))
    opened.files.append(File(path, text.encode(), command))
