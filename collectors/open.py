"""Whatever the user hands over → files to read: a directory, an archive, a file, standard input.

A bundle of ours is one of those with a manifest; from it comes which command or file each piece is, and why
a piece is missing. Nothing is executed, no link is followed, nothing is written to disk, and sizes are bounded.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final

from pydantic import ValidationError

from kb.bundle import MANIFEST, Artifact, Bundle
from kb.errors import InputError
from kb.evidence import Reason, Unread

MOST_FILES: Final = 20_000
MOST_BYTES_OF_A_FILE: Final = 512 << 20
MOST_BYTES: Final = 4 << 30
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
            raise InputError(f"expected evidence, found none in {name}{why}; give a bundle, a directory, a log or an archive")
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
    contents: dict[str, Callable[[], bytes]] = {}
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
    plain, inner = _decompressed(name, content, opened.unread)
    if _is_tar(plain):
        opened.inputs = [Input(shown or name, "archive")]
        return _assembled(opened, dict(_tar_members(plain, opened.unread)))
    return _assembled(opened, {inner: lambda: plain})


def _decompressed(name: str, content: bytes, unread: list[Unread]) -> tuple[bytes, str]:
    """The content without its compression, as far as it can be unpacked, and its name without that suffix."""
    for magic, suffixes, unpack in COMPRESSIONS:
        if content.startswith(magic):
            plain, problem = unpack(content)
            if problem:
                unread.append(Unread(name, "truncated", f"what follows its first {len(plain)} bytes was not read: {problem}"))
            for suffix, shorter in suffixes.items():
                if name.endswith(suffix):
                    return plain, name.removesuffix(suffix) + shorter
            return plain, name
    return content, name


def _unpack_stream(open_stream: Callable[[IO[bytes]], IO[bytes]]) -> Callable[[bytes], tuple[bytes, str]]:
    def unpack(content: bytes) -> tuple[bytes, str]:
        """All that can be unpacked, and what went wrong then (empty: nothing)."""
        plain = bytearray()
        try:
            with open_stream(io.BytesIO(content)) as stream:
                while chunk := stream.read(1 << 20):
                    plain += chunk
                    if len(plain) > MOST_BYTES:
                        return bytes(plain[:MOST_BYTES]), f"it unpacks to more than {MOST_BYTES} bytes"
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            return bytes(plain), str(error) or type(error).__name__
        return bytes(plain), ""

    return unpack


def _unpack_zstd(content: bytes) -> tuple[bytes, str]:
    import zstandard  # noqa: PLC0415 - only bundles need it

    def open_stream(raw: IO[bytes]) -> IO[bytes]:
        return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(raw, read_across_frames=True)

    try:
        return _unpack_stream(open_stream)(content)
    except zstandard.ZstdError as error:
        return b"", str(error)


COMPRESSIONS: Final[tuple[tuple[bytes, Mapping[str, str], Callable[[bytes], tuple[bytes, str]]], ...]] = (
    (b"\x1f\x8b", {".tgz": ".tar", ".gz": ""}, _unpack_stream(lambda raw: gzip.GzipFile(fileobj=raw))),  # type: ignore[arg-type, return-value]
    (b"\xfd7zXZ\0", {".txz": ".tar", ".xz": ""}, _unpack_stream(lzma.LZMAFile)),
    (b"BZh", {".tbz2": ".tar", ".bz2": ""}, _unpack_stream(bz2.BZ2File)),
    (b"\x28\xb5\x2f\xfd", {".tzst": ".tar", ".zst": ""}, _unpack_zstd),
)


def _is_tar(content: bytes) -> bool:
    return content[257:262] == b"ustar"


def _tar_members(content: bytes, unread: list[Unread]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The regular members. Absolute names, names that climb out, links and devices are left out and told."""
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for count, member in enumerate(archive):
                parts = Path(member.name).parts
                if member.isdir():
                    continue
                if not member.isreg() or member.name.startswith("/") or ".." in parts:
                    unread.append(Unread(member.name, "unreadable", "a link, device or path outside the archive"))
                    continue
                total += member.size
                if count >= MOST_FILES or total > MOST_BYTES:
                    unread.append(Unread(member.name, "truncated", "the archive has too many or too large members"))
                    return
                stream = archive.extractfile(member)
                data = stream.read(MOST_BYTES_OF_A_FILE + 1) if stream else b""
                yield member.name, lambda data=data: data  # type: ignore[misc]
    except (tarfile.TarError, OSError, EOFError) as error:
        unread.append(Unread("archive", "truncated", f"its later members could not be read: {error}"))


def _assembled(opened: Opened, contents: Mapping[str, Callable[[], bytes]]) -> Opened:
    manifests = [path for path in contents if path.rsplit("/", 1)[-1] == MANIFEST]
    bundles = {path.removesuffix(MANIFEST): bundle for path in manifests if (bundle := _manifest(contents[path]()))}
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


def _add(opened: Opened, path: str, load: Callable[[], bytes], artifact: Artifact | None) -> None:
    try:
        content = load()
    except OSError as error:
        reason: Reason = "no-permission" if isinstance(error, PermissionError) else "unreadable"
        opened.unread.append(Unread(path, reason, f"it was not read: {_reason(error)}"))
        return
    if len(content) > MOST_BYTES_OF_A_FILE:
        content = content[:MOST_BYTES_OF_A_FILE]
        opened.unread.append(Unread(path, "truncated", f"only its first {MOST_BYTES_OF_A_FILE} bytes were read"))
    plain, inner = _decompressed(path, content, opened.unread)
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
