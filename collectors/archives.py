"""Compressed and packed evidence → its members, within limits. Nothing gets a name on disk.

A member with an absolute name, a name that climbs out, a link or a device is left out and told. What is cut or
damaged is given as far as it can be read, and marked as cut.
"""

from __future__ import annotations

import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import IO, Final, cast

from collectors.content import HELD, Content, Sink
from collectors.room import MOST_BYTES, MOST_BYTES_OF_A_FILE, Room
from collectors.unpackers import COMPRESSIONS, LARGE_STEP, LONGEST_MAGIC, STEP, Unpacker
from kb.evidence import Unread

MOST_OF_A_NAME: Final = 1 << 20
"""Bytes of a name or of the attributes of a member of a tar archive, which the library reads as a whole."""
MOST_OF_A_LIST: Final = 8 << 20
"""Bytes of the list of members of a zip archive, which the library reads as a whole."""
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

METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Ways of packing that are read in zip archives: of others the library unpacks any number of bytes at once."""
TOO_MANY: Final = "the archive has too many or too large members; the rest was not read"
FULL: Final = "it was not unpacked: what it lies in has already unpacked to more than logs do"


def is_packed(content: Content) -> bool:
    """Whether the content is compressed, or an archive."""
    return is_compressed(content) or is_archive(content)


def is_compressed(content: Content) -> bool:
    """Whether the content is compressed in a way that is known here."""
    head = content.head(LONGEST_MAGIC)
    return any(head.startswith(magic) for magic, _, _ in COMPRESSIONS)


def is_archive(content: Content) -> bool:
    """Whether the content is a tar or a zip archive."""
    return content.head(4) == b"PK\x03\x04" or is_tar(content)


def is_tar(content: Content) -> bool:
    """Whether the content is a tar archive, which packs nothing more tightly."""
    return content.head(262)[257:] == b"ustar"


def members(content: Content, room: Room, path: str = "") -> dict[str, Content]:
    """The regular members of a tar or zip archive by name. What can't be read is told, below the path."""
    found = _tar_members if is_tar(content) else _zip_members
    return dict(found(content, room, path))


def decompressed(name: str, content: Content, room: Room) -> tuple[Content, str]:
    """The content without its compression, as far as it can be unpacked, and its name without that suffix."""
    head = content.head(LONGEST_MAGIC)
    for magic, suffixes, start in COMPRESSIONS:
        if head.startswith(magic):
            plain, problem = _unpacked(content, magic, start, room)
            if problem:
                consequence = f"what follows its first {plain.size} bytes was not read: {problem}"
                room.limits.unread.append(Unread(name, "truncated", consequence))
            for suffix, shorter in suffixes.items():
                if name.endswith(suffix):
                    return plain, name.removesuffix(suffix) + shorter
            return plain, name
    return content, name


def _unpacked(content: Content, magic: bytes, start: Callable[[], Unpacker], room: Room) -> tuple[Content, str]:
    """All that can be unpacked, stream after stream, and what went wrong then (empty: nothing)."""
    sink = Sink(room.limits.spool)
    problem = ""
    try:
        with content.stream() as stream:
            step = STEP if content.size <= HELD else LARGE_STEP
            for piece in _pieces(stream, step, magic, start):
                most = min(room.left, MOST_BYTES_OF_A_FILE - sink.size)
                sink.write(piece[:most])
                room.take(min(len(piece), most))
                if len(piece) > most:
                    problem = f"it unpacks to more than {sink.size} bytes"
                    break
    except DAMAGED as error:
        problem = str(error) or type(error).__name__
    return sink.content(cut=bool(problem or content.cut)), problem


def _pieces(stream: IO[bytes], step: int, magic: bytes, start: Callable[[], Unpacker]) -> Iterator[bytes]:
    """What the streams unpack to. Raises one of DAMAGED where there is no more of it than that."""
    unpacker, rest = start(), b""
    while data := rest or stream.read(step):
        rest = b""
        yield from unpacker.pieces(data)
        if unpacker.eof:
            rest = _past_padding(unpacker.unused_data, stream, step)
            if rest and not rest.startswith(magic):
                raise ValueError("something else follows")
            if not rest:
                return
            unpacker = start()
    raise EOFError("it ends too early")


def _past_padding(data: bytes, stream: IO[bytes], step: int) -> bytes:
    """What follows the zeros after a compressed stream, enough of it to tell what it is; empty at the end."""
    data = data.lstrip(b"\0")
    while len(data) < step and (more := stream.read(step)):
        data = (data + more).lstrip(b"\0")
    return data


class _Careful:
    """A stream of which no more is read at once than is given: the libraries take lists and names as a whole."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._most = stream, most
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        """As streams do. Raises ValueError where it would be too much."""
        data = self._stream.read(size if 0 <= size <= self._most else self._most + 1)
        if len(data) > self._most:
            raise ValueError("its list of members, or the name of one, is too long")
        return data


def _tar_members(content: Content, room: Room, path: str) -> Iterator[tuple[str, Content]]:
    limits, total = room.limits, 0
    try:
        with content.stream() as stream, _tar(stream) as archive:
            for member in archive:
                what = _below(path, member.name)
                total += max(member.size, 0)
                limits.files -= 1
                if limits.files < 0 or total > MOST_BYTES:
                    limits.refuse(what, "truncated", TOO_MANY)
                    return
                if member.isdir():
                    continue
                if not member.isreg() or member.issparse() or member.size < 0 or _climbs_out(member.name):
                    why = "a link, a device, a file with holes, or a path outside the archive"
                    limits.refuse(what, "unreadable", why)
                    continue
                yield member.name, content.part(member.offset_data, member.size)
            stream.seek(archive.offset)
            if stream.read(1).strip(b"\0"):
                limits.unread.append(Unread(path or "archive", "truncated", "its later members could not be read"))
    except DAMAGED as error:
        consequence = f"its later members could not be read: {error}"
        limits.unread.append(Unread(path or "archive", "truncated", consequence))


def _zip_members(content: Content, room: Room, path: str) -> Iterator[tuple[str, Content]]:
    limits, total = room.limits, 0
    try:
        with content.stream() as stream, _zip(stream) as archive:
            for member in archive.infolist():
                what = _below(path, member.filename)
                total += max(member.file_size, 0)
                limits.files -= 1
                if limits.files < 0 or total > MOST_BYTES:
                    limits.refuse(what, "truncated", TOO_MANY)
                    return
                if member.is_dir():
                    continue
                link = stat.S_ISLNK(member.external_attr >> 16)
                if link or _climbs_out(member.filename) or member.flag_bits & 1:
                    limits.refuse(what, "unreadable", "encrypted, a link, or a path outside the archive")
                    continue
                if member.compress_type not in METHODS:
                    limits.refuse(what, "unreadable", f"its way of packing is not known ({member.compress_type})")
                    continue
                if room.left <= 0:
                    limits.refuse(what, "truncated", FULL)
                    continue
                yield member.filename, _zip_member(archive, member, room, what)
    except DAMAGED as error:
        consequence = f"its members could not be read: {error}"
        limits.unread.append(Unread(path or "archive", "truncated", consequence))


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: Room, what: str) -> Content:
    sink = Sink(room.limits.spool)
    problem = ""
    try:
        with archive.open(member) as stream:
            while chunk := stream.read(1 << 16):
                most = min(room.left, MOST_BYTES_OF_A_FILE - sink.size)
                sink.write(chunk[:most])
                room.take(min(len(chunk), most))
                if len(chunk) > most:
                    problem = f"it unpacks to more than {sink.size} bytes"
                    break
    except DAMAGED as error:
        problem = str(error) or type(error).__name__
    if problem:
        consequence = f"what follows its first {sink.size} bytes was not read: {problem}"
        room.limits.unread.append(Unread(what, "truncated", consequence))
    return sink.content(cut=bool(problem))


def _tar(stream: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast("IO[bytes]", _Careful(stream, MOST_OF_A_NAME)), mode="r:")


def _zip(stream: IO[bytes]) -> zipfile.ZipFile:
    return zipfile.ZipFile(cast("IO[bytes]", _Careful(stream, MOST_OF_A_LIST)))


def _below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _climbs_out(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts
