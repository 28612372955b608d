"""The compressions that are known, each unpacked in small pieces: a few bytes may hold a hundred million."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

STEP: Final = 512
"""Compressed bytes that are unpacked at once: what is lost, at most, before a damaged place."""
LARGE_STEP: Final = 1 << 14
"""The same, where small steps would take too long."""
PIECE: Final = 1 << 20
"""Bytes that are unpacked at once, where the library can be told so: a few bytes of bzip2 hold fifty million."""
MOST_OF_XZ: Final = 256 << 20
"""Memory that unpacking xz may take; its strongest setting needs 65 MiB."""


class Unpacker(Protocol):
    """Unpacks one compressed stream that is given to it bit by bit."""

    @property
    def eof(self) -> bool:
        """Whether the stream is at its end."""

    @property
    def unused_data(self) -> bytes:
        """What was given of what follows the stream."""

    def pieces(self, data: bytes, /) -> Iterator[bytes]:
        """What the next bytes unpack to, never much of it at a time."""


class _Gzip:
    """An unpacker of gzip, whose pieces are at most a thousand times what it is given."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes, /) -> Iterator[bytes]:
        yield self._inner.decompress(data)


class _InPieces:
    """An unpacker of bzip2 or xz, which is asked for no more than a piece at a time."""

    def __init__(self, inner: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes, /) -> Iterator[bytes]:
        yield self._inner.decompress(data, PIECE)
        while not (self._inner.eof or self._inner.needs_input):
            yield self._inner.decompress(b"", PIECE)


class _Zstd:
    """An unpacker of zstd, which is imported only where it is needed, and fails as the others do."""

    def __init__(self) -> None:
        import zstandard

        self._inner = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._error = zstandard.ZstdError
        self._unused = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self._unused

    def pieces(self, data: bytes, /) -> Iterator[bytes]:
        for start in range(0, len(data), STEP):  # a block of three bytes may hold 128 KiB
            if self.eof:
                self._unused += data[start:]
                return
            try:
                yield self._inner.decompress(memoryview(data)[start : start + STEP])
            except self._error as error:
                raise ValueError(str(error)) from error


COMPRESSIONS: Final[tuple[tuple[bytes, Mapping[str, str], Callable[[], Unpacker]], ...]] = (
    (b"\x1f\x8b", {".tgz": ".tar", ".gz": ""}, _Gzip),
    (b"\xfd7zXZ\0", {".txz": ".tar", ".xz": ""}, lambda: _InPieces(lzma.LZMADecompressor(memlimit=MOST_OF_XZ))),
    (b"BZh", {".tbz2": ".tar", ".bz2": ""}, lambda: _InPieces(bz2.BZ2Decompressor())),
    (b"\x28\xb5\x2f\xfd", {".tzst": ".tar", ".zst": ""}, _Zstd),
)


LONGEST_MAGIC: Final = max(len(magic) for magic, _, _ in COMPRESSIONS)
