"""Whatever the user hands over → files to read: a directory, an archive, a file, standard input.

A bundle of ours is one of those with a manifest; from it comes which command or file each piece is, and why
a piece is missing. Nothing is executed, no link is followed, nothing is written to disk, and sizes are bounded.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from collectors.archives import decompressed, is_archive, is_compressed, members
from collectors.content import HELD, Content, Sink
from collectors.nested import Load, Piece, laid_open, not_read, room_in
from collectors.room import MOST_BYTES, MOST_LEVELS, Limits, Room
from kb.bundle import MANIFEST, Artifact, Bundle
from kb.errors import InputError
from kb.evidence import Reason, Unread

STDIN: Final = "-"
BLANK: Final = b"\0\t\n\r "
SCHEMA: Final = b'"diagnose.bundle/1"'

SHELL_ERRORS: Final = {
    "absent": "{what}: No such file or directory",
    "no-permission": "{what}: Permission denied",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file to read: the path that is shown, its bytes, and the command that printed it where one is known."""

    path: str
    content: Content
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
    pieces: list[Piece] = field(default_factory=list)
    """The same as it lay there, with manifests, and under the paths of each input alone."""


def open_evidence(paths: Iterable[str]) -> Opened:
    """The files of these inputs (`-` is standard input). What can't be read inside an input is told in `unread`.

    Raises InputError where an input is missing, empty, or holds nothing at all that can be read.
    """
    opened = Opened()
    names = list(paths)
    for name, prefix in zip(names, short_names(names), strict=True):
        part = _open_one(name)
        if not any(_says_something(file.content) for file in part.files):
            why = f": {part.unread[0].what}: {part.unread[0].consequence}" if part.unread else ""
            raise InputError(
                f"expected evidence, found none in {name}{why}; give a bundle, a directory, a log or an archive"
            )
        opened.files += part.files if len(names) == 1 else _prefixed(part, prefix)
        opened.inputs += [
            replace(one, files=len(part.files), bytes=sum(file.content.size for file in part.files))
            for one in part.inputs
        ]
        opened.unread += part.unread
        opened.pieces += part.pieces
    return opened


def short_names(paths: Sequence[str]) -> list[str]:
    """The shortest ends of the paths that tell them apart."""
    parts = [(path,) if path == STDIN else Path(os.path.abspath(path)).parts for path in paths]  # noqa: PTH100
    for length in range(1, max(map(len, parts), default=0) + 1):
        ends = ["/".join(part[-length:]) for part in parts]
        if len(set(ends)) == len(ends):
            return ends
    return list(paths)


def _prefixed(part: Opened, prefix: str) -> list[File]:
    """The files of one input under paths that tell from which input they are."""
    kinds = {one.kind for one in part.inputs}
    if "stdin" in kinds:
        return part.files
    alone = "file" in kinds
    return [replace(file, path=prefix if alone else f"{prefix}/{file.path}") for file in part.files]


def _open_one(name: str) -> Opened:
    if name == STDIN:
        return _from_content("(standard input)", _standard_input(), "stdin")
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
        content = Content.of_file(path)
    except OSError as error:
        raise InputError(f"could not read {name}: {_reason(error)}; check its permissions") from error
    if not content.size:
        raise InputError(f"expected evidence, found an empty file: {name}; collect it again")
    return _from_content(path.name, content, "file", shown=name)


def _standard_input() -> Content:
    sink = Sink()
    while sys.stdin is not None and sink.size <= MOST_BYTES and (data := sys.stdin.buffer.read(1 << 20)):
        sink.write(data)
    return sink.content(cut=False)


def _says_something(content: Content) -> bool:
    return not content.is_held or bool(content.data.strip(BLANK))


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _from_directory(root: Path, name: str) -> Opened:
    opened = Opened([Input(name, "directory")])
    limits = Limits(opened.unread)
    loads: dict[str, Load] = {}
    for path in _walk(root, limits):
        loads[path.relative_to(root).as_posix()] = lambda path=path: Content.of_file(path)  # type: ignore[misc]
    return _assembled(opened, laid_open(loads, Room(limits)), limits)


def _walk(root: Path, limits: Limits) -> Iterator[Path]:
    """Regular files below root; links and special files are not followed, and told."""
    unread, most = limits.unread, limits.files
    passed: list[Path] = []

    def closed(error: OSError) -> None:
        unread.append(not_read(str(error.filename), error))

    for folder, folders, files in os.walk(root, onerror=closed):
        folders.sort()
        for path in (Path(folder, name) for name in (*folders, *sorted(files))):
            mode = _mode(path)
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                passed.append(path)
            if not stat.S_ISREG(mode):
                continue
            limits.files -= 1
            if limits.files < 0:
                unread.append(Unread(str(root), "truncated", f"only its first {most} files were read"))
                return
            yield path
    if passed:
        why = f"a link or special file is not followed; {len(passed)} of them here"
        unread.append(Unread(str(passed[0]), "not-collected", why))


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:  # gone since it was listed
        return 0


def _from_content(name: str, content: Content, kind: str, shown: str | None = None) -> Opened:
    opened = Opened([Input(shown or name, kind)])
    limits = Limits(opened.unread)
    room = Room(limits)
    level = 0
    while is_compressed(content) and level < MOST_LEVELS:
        room, level = room.inside(content.size), level + 1
        content, name = decompressed(name, content, room)
    if not is_archive(content):
        return _assembled(opened, laid_open({name: lambda: content}, room, level), limits)
    opened.inputs = [Input(shown or name, "archive")]
    room = room_in(content, room)
    loads: dict[str, Load] = {
        path: lambda part=part: part  # type: ignore[misc]
        for path, part in members(content, room).items()
    }
    return _assembled(opened, laid_open(loads, room, max(level, 1)), limits)


def _assembled(opened: Opened, pieces: Iterable[Piece], limits: Limits) -> Opened:
    read: list[Piece] = []
    size = 0
    for piece in pieces:
        if size > MOST_BYTES:
            why = "it and all later files were not read: too many bytes"
            opened.unread.append(Unread(piece.path, "truncated", why))
            break
        size += piece.content.size
        read.append(piece)
    limits.tell_the_rest()
    opened.pieces = read
    manifests = [piece for piece in read if piece.path.rsplit("/", 1)[-1] == MANIFEST]
    bundles = {piece.path.removesuffix(MANIFEST): bundle for piece in manifests if (bundle := _manifest(piece))}
    known, of_root = {}, {}
    for base, bundle in bundles.items():
        opened.inputs = [replace(one, kind="bundle", host=one.host or bundle.host) for one in opened.inputs]
        for artifact in bundle.artifacts:
            path = base + (artifact.path or f"({artifact.name or artifact.file})")
            known[path], of_root[path] = artifact, bundle.uid == 0
    for piece in read:
        if piece.path.endswith(MANIFEST) and piece.path.removesuffix(MANIFEST) in bundles:
            continue
        of_piece = known.get(piece.origin)
        cut = piece.content.cut or (of_piece is not None and not _is_whole(of_piece))
        opened.files.append(File(piece.path, piece.content, _command(of_piece), truncated=cut))
    origins = {piece.origin for piece in read}
    for path, artifact in known.items():
        if path not in origins:
            _add_missing(opened, path, artifact, as_root=of_root.get(path, False))
    programs = {artifact.command[0] for artifact in known.values() if artifact.command}
    opened.unread[:] = _of_one_program(opened.unread, programs)
    return opened


def _manifest(piece: Piece) -> Bundle | None:
    """The bundle that a manifest describes; None where it can't be read or is that of something else."""
    try:
        content = piece.content.head(HELD)
        return Bundle.model_validate_json(content) if SCHEMA in content else None
    except (ValidationError, OSError):
        return None


def _is_whole(artifact: Artifact) -> bool:
    """Whether nothing is missing. A command that ends with another status than 0, silently, has answered no."""
    silent = artifact.outcome == "failed" and artifact.error == f"exit code {artifact.exit_code}"
    return not artifact.truncated and (artifact.outcome == "ok" or silent)


def _command(artifact: Artifact | None) -> str | None:
    if artifact is None:
        return None
    if artifact.command:
        return " ".join(artifact.command)
    return f"cat {artifact.file}" if artifact.file else None


def _add_missing(opened: Opened, path: str, artifact: Artifact, *, as_root: bool) -> None:
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
        why = "the manifest names it, and it is not there" if artifact.outcome == "ok" else artifact.outcome
        opened.unread.append(Unread(what, reason, artifact.error or f"the collector says: {why}"))
        return
    if artifact.outcome == "no-permission":
        advice = "it is kept even from root here" if as_root else "collect again as root to have it"
        opened.unread.append(Unread(what, "no-permission", advice))
    opened.files.append(File(path, Content(text.encode()), command))


def _of_one_program(unread: Sequence[Unread], programs: Set[str]) -> list[Unread]:
    """What is unread, the commands of one program that failed for one reason as one."""
    groups: dict[tuple[str, str, str], list[Unread]] = {}
    for one in unread:
        program = one.what.partition(" ")[0]
        groups.setdefault((program if program in programs else one.what, one.reason, one.consequence), []).append(
            one
        )
    more = {key: f" (and {len(group) - 1} more of {key[0]})" for key, group in groups.items() if len(group) > 1}
    return [replace(group[0], what=group[0].what + more.get(key, "")) for key, group in groups.items()]
