"""Compressed and packed evidence → its members, within limits. Nothing gets a name on disk.

A member with an absolute name, a name that climbs out, a link or a device is left out and told. What is cut or
damaged is given as far as it can be read, and marked as cut.
"""

from __future__ import annotations

import bz2
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import IO, Final, Protocol

from collectors.content import HELD, Content, Sink
from kb.evidence import Unread

MOST_FILES: Final = 20_000
MOST_BYTES_OF_A_FILE: Final = 4 << 30
MOST_BYTES: Final = 16 << 30
"""Of all that one input unpacks to."""

MOST_TIMES: Final = 200
"""How many times its size a file may unpack to, if that is more than what is unsuspicious: logs reach 100."""
UNSUSPICIOUS: Final = 256 << 20

STEP: Final = 512
"""Compressed bytes that are unpacked at once: what is lost, at most, before a damaged place."""
LARGE_STEP: Final = 1 << 14
"""The same, where small steps would take too long."""

DAMAGED: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    ArithmeticError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
)
"""What the libraries raise over content that is not what it claims to be."""

Load = Callable[[], Content]


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: memoryview, /) -> bytes: ...


def members(content: Content, unread: list[Unread]) -> dict[str, Load] | None:
    """The regular members of a tar or zip archive by name; None where the content is no archive."""
    head = content.head(262)
    if head[257:262] == b"ustar":
        return _loads(_tar_members(content, unread))
    if head.startswith(b"PK\x03\x04"):
        return _loads(_zip_members(content, unread))
    return None


def _loads(found: Iterator[tuple[str, Content]]) -> dict[str, Load]:
    return {name: lambda content=content: content for name, content in found}  # type: ignore[misc]


def decompressed(name: str, content: Content, unread: list[Unread], most: int = MOST_BYTES) -> tuple[Content, str]:
    """The content without its compression, as far as it can be unpacked, and its name without that suffix."""
    head = content.head(max(len(magic) for magic, _, _ in COMPRESSIONS))
    for magic, suffixes, start in COMPRESSIONS:
        if head.startswith(magic):
            plain, problem = _unpacked(content, magic, start, most)
            if problem:
                consequence = f"what follows its first {plain.size} bytes was not read: {problem}"
                unread.append(Unread(name, "truncated", consequence))
            for suffix, shorter in suffixes.items():
                if name.endswith(suffix):
                    return plain, name.removesuffix(suffix) + shorter
            return plain, name
    return content, name


def _unpacked(content: Content, magic: bytes, start: Callable[[], _Unpacker], most: int) -> tuple[Content, str]:
    """All that can be unpacked, stream after stream, and what went wrong then (empty: nothing)."""
    sink = Sink()
    most = min(most, max(UNSUSPICIOUS, MOST_TIMES * content.size))
    with content.stream() as stream:
        problem = _unpack(stream, STEP if content.size <= HELD else LARGE_STEP, magic, start, sink, most)
    return sink.content(cut=bool(problem)), problem


def _unpack(
    stream: IO[bytes], step: int, magic: bytes, start: Callable[[], _Unpacker], sink: Sink, most: int
) -> str:
    unpacker, rest = start(), b""
    while data := rest or stream.read(step):
        rest = b""
        try:
            plain = unpacker.decompress(memoryview(data))
        except DAMAGED as error:
            return str(error) or type(error).__name__
        room = most - sink.size
        sink.write(plain[:room])
        if len(plain) > room:
            return f"it unpacks to more than {most} bytes"
        if unpacker.eof:
            rest = _past_padding(unpacker.unused_data, stream, step)
            if rest and not rest.startswith(magic):
                return "something else follows"
            if not rest:
                return ""
            unpacker = start()
    return "it ends too early"


def _past_padding(data: bytes, stream: IO[bytes], step: int) -> bytes:
    """What follows the zeros after a compressed stream, enough of it to tell what it is; empty at the end."""
    data = data.lstrip(b"\0")
    while len(data) < step and (more := stream.read(step)):
        data = (data + more).lstrip(b"\0")
    return data


class _Zstd:
    """An unpacker of zstd, which is imported only where it is needed, and fails as the others do."""

    def __init__(self) -> None:
        import zstandard

        self._inner = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._error = zstandard.ZstdError

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: memoryview, /) -> bytes:
        try:
            return self._inner.decompress(data)
        except self._error as error:
            raise ValueError(str(error)) from error


COMPRESSIONS: Final[tuple[tuple[bytes, Mapping[str, str], Callable[[], _Unpacker]], ...]] = (
    (b"\x1f\x8b", {".tgz": ".tar", ".gz": ""}, lambda: zlib.decompressobj(wbits=31)),
    (b"\xfd7zXZ\0", {".txz": ".tar", ".xz": ""}, lzma.LZMADecompressor),
    (b"BZh", {".tbz2": ".tar", ".bz2": ""}, bz2.BZ2Decompressor),
    (b"\x28\xb5\x2f\xfd", {".tzst": ".tar", ".zst": ""}, _Zstd),
)


def _tar_members(content: Content, unread: list[Unread]) -> Iterator[tuple[str, Content]]:
    total = 0
    try:
        with content.stream() as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            for count, member in enumerate(archive):
                total += max(member.size, 0)
                if count >= MOST_FILES or total > MOST_BYTES:
                    unread.append(_too_many(member.name))
                    return
                if member.isdir():
                    continue
                if not member.isreg() or member.issparse() or member.size < 0 or _climbs_out(member.name):
                    why = "a link, a device, a file with holes, or a path outside the archive"
                    unread.append(Unread(member.name, "unreadable", why))
                    continue
                after = stream.tell()
                yield member.name, _tar_member(stream, member)
                stream.seek(after)
    except DAMAGED as error:
        unread.append(Unread("archive", "truncated", f"its later members could not be read: {error}"))


def _tar_member(stream: IO[bytes], member: tarfile.TarInfo) -> Content:
    """The bytes of a member as far as they are there, also where the archive ends within it."""
    sink = Sink()
    stream.seek(member.offset_data)
    while sink.size < member.size and (data := stream.read(min(1 << 20, member.size - sink.size))):
        sink.write(data)
    return sink.content(cut=sink.size < member.size)


def _zip_members(content: Content, unread: list[Unread]) -> Iterator[tuple[str, Content]]:
    total = 0
    try:
        with content.stream() as stream, zipfile.ZipFile(stream) as archive:
            for count, member in enumerate(archive.infolist()):
                total += max(member.file_size, 0)
                if count >= MOST_FILES or total > MOST_BYTES:
                    unread.append(_too_many(member.filename))
                    return
                if member.is_dir():
                    continue
                link = stat.S_ISLNK(member.external_attr >> 16)
                if link or _climbs_out(member.filename) or member.flag_bits & 1:
                    why = "encrypted, a link, or a path outside the archive"
                    unread.append(Unread(member.filename, "unreadable", why))
                    continue
                yield member.filename, _zip_member(archive, member, unread)
    except DAMAGED as error:
        unread.append(Unread("archive", "truncated", f"its members could not be read: {error}"))


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, unread: list[Unread]) -> Content:
    sink = Sink()
    try:
        with archive.open(member) as stream:
            while (chunk := stream.read(1 << 16)) and sink.size <= MOST_BYTES:
                sink.write(chunk)
    except DAMAGED as error:
        consequence = f"what follows its first {sink.size} bytes was not read: {error}"
        unread.append(Unread(member.filename, "truncated", consequence))
        return sink.content(cut=True)
    return sink.content(cut=False)


def _too_many(name: str) -> Unread:
    return Unread(name, "truncated", "the archive has too many or too large members; the rest was not read")


def _climbs_out(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts
