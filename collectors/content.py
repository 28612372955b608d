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

_Open = Callable[[], IO[bytes]]


class Content:
    """Bytes that are read when they are asked for, and whether some of them are missing."""

    __slots__ = ("__weakref__", "_data", "_open", "cut", "size")

    def __init__(
        self, data: bytes = b"", cut: bool = False, *, size: int | None = None, opener: _Open | None = None
    ) -> None:
        self._data, self._open = data, opener
        self.size = len(data) if size is None else size
        self.cut = cut

    @classmethod
    def of_file(cls, path: Path) -> Content:
        """The content of a regular file, opened when it is read. Raises OSError where it can't be read."""
        with path.open("rb") as stream:
            size = stream.seek(0, io.SEEK_END)
        return cls(size=size, opener=lambda: path.open("rb"))

    @property
    def is_held(self) -> bool:
        """Whether it is small enough to be worked on as a whole."""
        return self.size <= HELD

    @property
    def data(self) -> bytes:
        """All of it, in memory."""
        return self._data if self._open is None else self.head(self.size)

    def head(self, most: int) -> bytes:
        """Its first bytes."""
        if self._open is None:
            return self._data[:most]
        with self._open() as stream:
            return stream.read(most)

    def stream(self) -> IO[bytes]:
        """All of it from its beginning, to be read and closed."""
        return io.BytesIO(self._data) if self._open is None else self._open()

    def shortened(self, most: int) -> Content:
        """Its first bytes, marked as cut."""
        return Content(self.head(most), cut=True)

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


class Sink:
    """Collects bytes, in memory as long as they are few, then in a temporary file without a name."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._spool: IO[bytes] | None = None
        self.size = 0

    def write(self, data: bytes) -> None:
        """Appends the bytes. Raises OSError where the disk is full."""
        self.size += len(data)
        if self._spool is None and self.size <= HELD:
            self._held += data
            return
        if self._spool is None:
            import tempfile

            self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed when nobody has its content any more
            self._spool.write(self._held)
            self._held.clear()
        self._spool.write(data)

    def content(self, *, cut: bool) -> Content:
        """What was written. Nothing may be written any more."""
        spool, size = self._spool, self.size
        if spool is None:
            return Content(bytes(self._held), cut)
        spool.flush()
        content = Content(
            cut=cut, size=size, opener=lambda: io.BufferedReader(_Reading(spool.fileno(), size), 1 << 20)
        )
        weakref.finalize(content, spool.close)
        return content


class _Reading(io.RawIOBase):
    """One reader of a shared file, with a position of its own; closing it closes nothing else."""

    def __init__(self, descriptor: int, size: int) -> None:
        super().__init__()
        self._descriptor, self._size, self._at = descriptor, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._descriptor, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
