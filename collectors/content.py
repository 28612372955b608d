"""The bytes of a file, which may be too many to hold: in memory, in a file, or in a nameless temporary one."""

from __future__ import annotations

import io
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

HELD: Final = 8 << 20
"""More bytes than this are not kept in memory."""

HELD_TOGETHER: Final = 64 << 20
"""Of all that one input unpacks to, no more bytes than this are kept in memory at a time."""
BUFFER: Final = 1 << 20
BEGIN: Final = 512
"""Bytes that tell what a file is."""

_Open = Callable[[], IO[bytes]]


class Content:
    """Bytes that are read when they are asked for, and whether some of them are missing."""

    __slots__ = ("__weakref__", "_begin", "_data", "_open", "cut", "size")

    def __init__(
        self, data: bytes = b"", cut: bool = False, *, size: int | None = None, opener: _Open | None = None
    ) -> None:
        self._data, self._open = data, opener
        self._begin = b""
        self.size = len(data) if size is None else size
        self.cut = cut

    @classmethod
    def of_file(cls, path: Path) -> Content:
        """The content of a regular file, opened when it is read. Raises OSError where it can't be read."""
        with path.open("rb") as stream:
            begin = stream.read(BEGIN)
            size = stream.seek(0, io.SEEK_END)
        content = cls(size=size, opener=lambda: path.open("rb"))
        content._begin = begin
        return content

    @property
    def is_held(self) -> bool:
        """Whether it is small enough to be worked on as a whole."""
        return self.size <= HELD

    @property
    def data(self) -> bytes:
        """All of it, in memory."""
        return self._data if self._open is None else self.head(self.size)

    def head(self, most: int) -> bytes:
        """Its first bytes. Some are kept, since many look at them."""
        if self._open is None:
            return self._data[:most]
        if len(self._begin) < min(most, self.size):
            with self._open() as stream:
                data = stream.read(max(most, BEGIN))
            self._begin = data[:BEGIN]
            return data[:most]
        return self._begin[:most]

    def stream(self) -> IO[bytes]:
        """All of it from its beginning, to be read and closed."""
        return io.BytesIO(self._data) if self._open is None else self._open()

    def part(self, start: int, size: int) -> Content:
        """So many of its bytes from there on; as many as there are, and marked as cut, where there are fewer."""
        there = max(0, min(size, self.size - start))
        if self._open is None:
            data = self._data
            return Content(cut=there < size, size=there, opener=lambda: io.BytesIO(data[start : start + there]))
        window = min(max(there, 1), BUFFER)
        return Content(
            cut=there < size,
            size=there,
            opener=lambda: io.BufferedReader(_Window(self.stream(), start, there), window),
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Content)
            and (self.cut, self.size) == (other.cut, other.size)
            and self.data == other.data
        )

    def __hash__(self) -> int:
        return hash((self.cut, self.size))

    def __repr__(self) -> str:
        return f"Content({self.head(40)!r}, cut={self.cut}, size={self.size})"


class Spool:
    """Where bytes are kept that were unpacked: few in memory, the others in one temporary file without a name."""

    def __init__(self) -> None:
        self._held = 0
        self._file: IO[bytes] | None = None
        self._end = 0

    def hold(self, size: int) -> bool:
        """Whether so many more bytes may be held in memory; they then count as held."""
        if self._held + size > HELD_TOGETHER:
            return False
        self._held += size
        return True

    def append(self, data: bytes | bytearray) -> int:
        """Writes the bytes behind all others; where they begin. Raises OSError where the disk is full."""
        if self._file is None:
            import tempfile

            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed when nobody reads it any more
            weakref.finalize(self, self._file.close)
        start = self._end
        rest = memoryview(data)
        while rest:
            count = os.pwrite(self._file.fileno(), rest, self._end)
            self._end += count
            rest = rest[count:]
        return start

    def content(self, start: int, size: int, *, cut: bool) -> Content:
        """The bytes from there on; they stay as long as somebody has them."""
        return Content(
            cut=cut, size=size, opener=lambda: io.BufferedReader(_Window(_Reading(self), start, size), BUFFER)
        )

    def read_into(self, buffer: Any, at: int) -> int:
        """Fills the buffer with the bytes there; how many."""
        data = os.pread(self._file.fileno(), len(buffer), at) if self._file else b""
        buffer[: len(data)] = data
        return len(data)


class Sink:
    """Collects the bytes of one file, in memory as long as they are few; only one at a time in one spool."""

    def __init__(self, spool: Spool | None = None) -> None:
        self._spool = spool or Spool()
        self._held = bytearray()
        self._start: int | None = None
        self.size = 0

    def write(self, data: bytes) -> None:
        """Appends the bytes. Raises OSError where the disk is full."""
        if self._start is None and self.size + len(data) <= HELD:
            self._held += data
        elif self._start is None:
            self._start = self._spool.append(self._held)
            self._held.clear()
            self._spool.append(data)
        else:
            self._spool.append(data)
        self.size += len(data)

    def content(self, *, cut: bool) -> Content:
        """What was written. Nothing may be written any more."""
        if self._start is None and self._spool.hold(self.size):
            return Content(bytes(self._held), cut)
        if self._start is None:
            self._start = self._spool.append(self._held)
            self._held.clear()
        return self._spool.content(self._start, self.size, cut=cut)


class _Reading(io.RawIOBase):
    """One reader of a shared file, with a position of its own; closing it closes nothing else."""

    def __init__(self, spool: Spool) -> None:
        super().__init__()
        self._spool, self._at = spool, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset if whence == io.SEEK_SET else self._at + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        count = self._spool.read_into(buffer, self._at)
        self._at += count
        return count


class _Window(io.RawIOBase):
    """Some bytes of a stream as if they were all; closing it closes the stream."""

    def __init__(self, stream: IO[bytes] | io.RawIOBase, start: int, size: int) -> None:
        super().__init__()
        self._stream, self._start, self._size, self._at = stream, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        self._stream.seek(self._start + self._at)
        data = self._stream.read(wanted) or b""
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
