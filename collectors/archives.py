"""Compressed and packed evidence → its members, in memory, within limits. Nothing is written to disk.

A member with an absolute name, a name that climbs out, a link or a device is left out and told.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import IO, Final

from kb.evidence import Unread

MOST_FILES: Final = 20_000
MOST_BYTES_OF_A_FILE: Final = 512 << 20
MOST_BYTES: Final = 4 << 30

Load = Callable[[], bytes]


def members(content: bytes, unread: list[Unread]) -> dict[str, Load] | None:
    """The regular members of a tar or zip archive by name; None where the content is no archive."""
    if content[257:262] == b"ustar":
        return dict(_tar_members(content, unread))
    if content.startswith(b"PK\x03\x04"):
        return dict(_zip_members(content, unread))
    return None


def decompressed(name: str, content: bytes, unread: list[Unread]) -> tuple[bytes, str]:
    """The content without its compression, as far as it can be unpacked, and its name without that suffix."""
    for magic, suffixes, unpack in COMPRESSIONS:
        if content.startswith(magic):
            plain, problem = unpack(content)
            if problem:
                unread.append(
                    Unread(
                        name,
                        "truncated",
                        f"what follows its first {len(plain)} bytes was not read: {problem}",
                    )
                )
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
    import zstandard

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


def _tar_members(content: bytes, unread: list[Unread]) -> Iterator[tuple[str, Load]]:
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for count, member in enumerate(archive):
                if member.isdir():
                    continue
                if not member.isreg() or _climbs_out(member.name):
                    unread.append(Unread(member.name, "unreadable", "a link, device or path outside the archive"))
                    continue
                total += member.size
                if count >= MOST_FILES or total > MOST_BYTES:
                    unread.append(
                        Unread(member.name, "truncated", "the archive has too many or too large members")
                    )
                    return
                stream = archive.extractfile(member)
                data = stream.read(MOST_BYTES_OF_A_FILE + 1) if stream else b""
                yield member.name, lambda data=data: data  # type: ignore[misc]
    except (tarfile.TarError, OSError, EOFError) as error:
        unread.append(Unread("archive", "truncated", f"its later members could not be read: {error}"))


def _zip_members(content: bytes, unread: list[Unread]) -> Iterator[tuple[str, Load]]:
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for count, member in enumerate(archive.infolist()):
                if member.is_dir():
                    continue
                if _climbs_out(member.filename) or member.flag_bits & 1:
                    unread.append(
                        Unread(member.filename, "unreadable", "encrypted, or a path outside the archive")
                    )
                    continue
                total += member.file_size
                if count >= MOST_FILES or total > MOST_BYTES:
                    unread.append(
                        Unread(member.filename, "truncated", "the archive has too many or too large members")
                    )
                    return
                with archive.open(member) as stream:
                    data = stream.read(MOST_BYTES_OF_A_FILE + 1)
                yield member.filename, lambda data=data: data  # type: ignore[misc]
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        unread.append(Unread("archive", "truncated", f"its later members could not be read: {error}"))


def _climbs_out(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts
