"""Compressed and packed evidence → its members, in memory, within limits. Nothing is written to disk.

A member with an absolute name, a name that climbs out, a link or a device is left out and told. What is cut or
damaged is given as far as it can be read, and marked as cut.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple, Protocol

from kb.evidence import Unread

MOST_FILES: Final = 20_000
MOST_BYTES_OF_A_FILE: Final = 512 << 20
MOST_BYTES: Final = 4 << 30

STEP: Final = 512
"""Compressed bytes that are unpacked at once: what is lost, at most, before a damaged place."""

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

_PADDING = re.compile(rb"\0*")


class Content(NamedTuple):
    """The bytes of a file, and whether some of them are missing."""

    data: bytes
    cut: bool = False


Load = Callable[[], Content]


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: memoryview, /) -> bytes: ...


def members(content: bytes, unread: list[Unread]) -> dict[str, Load] | None:
    """The regular members of a tar or zip archive by name; None where the content is no archive."""
    if content[257:262] == b"ustar":
        return _loads(_tar_members(content, unread))
    if content.startswith(b"PK\x03\x04"):
        return _loads(_zip_members(content, unread))
    return None


def _loads(found: Iterator[tuple[str, Content]]) -> dict[str, Load]:
    return {name: lambda content=content: content for name, content in found}  # type: ignore[misc]


def decompressed(name: str, content: bytes, unread: list[Unread], most: int = MOST_BYTES) -> tuple[Content, str]:
    """The content without its compression, as far as it can be unpacked, and its name without that suffix."""
    for magic, suffixes, start in COMPRESSIONS:
        if content.startswith(magic):
            plain, problem = _unpacked(content, magic, start, most)
            if problem:
                consequence = f"what follows its first {len(plain)} bytes was not read: {problem}"
                unread.append(Unread(name, "truncated", consequence))
            for suffix, shorter in suffixes.items():
                if name.endswith(suffix):
                    return Content(plain, bool(problem)), name.removesuffix(suffix) + shorter
            return Content(plain, bool(problem)), name
    return Content(content), name


def _unpacked(content: bytes, magic: bytes, start: Callable[[], _Unpacker], most: int) -> tuple[bytes, str]:
    """All that can be unpacked, stream after stream, and what went wrong then (empty: nothing)."""
    plain = bytearray()
    view = memoryview(content)
    at, unpacker = 0, start()
    while at < len(content):
        step = view[at : at + STEP]
        try:
            plain += unpacker.decompress(step)
        except DAMAGED as error:
            return bytes(plain), str(error) or type(error).__name__
        if len(plain) > most:
            return bytes(plain[:most]), f"it unpacks to more than {most} bytes"
        at += len(step)
        if unpacker.eof:
            at = _past_padding(content, at - len(unpacker.unused_data))
            if at < len(content) and not content.startswith(magic, at):
                return bytes(plain), "something else follows"
            if at < len(content):
                unpacker = start()
    return bytes(plain), "" if unpacker.eof else "it ends too early"


def _past_padding(content: bytes, at: int) -> int:
    match = _PADDING.match(content, at)
    return match.end() if match else at


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


def _tar_members(content: bytes, unread: list[Unread]) -> Iterator[tuple[str, Content]]:
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
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
                end = member.offset_data + member.size
                data = content[member.offset_data : min(end, member.offset_data + MOST_BYTES_OF_A_FILE + 1)]
                yield member.name, Content(data, cut=end > len(content))
    except DAMAGED as error:
        unread.append(Unread("archive", "truncated", f"its later members could not be read: {error}"))


def _zip_members(content: bytes, unread: list[Unread]) -> Iterator[tuple[str, Content]]:
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
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
    data = bytearray()
    try:
        with archive.open(member) as stream:
            while (chunk := stream.read(1 << 16)) and len(data) <= MOST_BYTES_OF_A_FILE:
                data += chunk
    except DAMAGED as error:
        consequence = f"what follows its first {len(data)} bytes was not read: {error}"
        unread.append(Unread(member.filename, "truncated", consequence))
        return Content(bytes(data), cut=True)
    return Content(bytes(data))


def _too_many(name: str) -> Unread:
    return Unread(name, "truncated", "the archive has too many or too large members; the rest was not read")


def _climbs_out(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts
