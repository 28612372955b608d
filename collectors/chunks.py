"""A large file in chunks of whole lines, and the lines of each chunk that readers want."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, cast

from collectors.texts import text_line

CHUNK = 1 << 20
LONGEST_LINE = 8 << 20
"""A line longer than this is cut: no reader looks that far."""
LAST = 2_000
"""How many of the last lines of a busy marker are kept."""
BEFORE, AFTER = 30, 60
"""How many lines around a rare one are wanted."""


@dataclass(slots=True)
class Wanted:
    """The lines that one reader gets, by number: those of the beginning, and of busy markers the last ones."""

    before: int
    after: int
    """How many lines around each marked one the reader asks for."""
    lines: dict[int, str] = field(default_factory=dict)
    last: dict[int, dict[int, str]] = field(default_factory=dict)
    until: int = 0
    """Lines below this number follow a marked one closely enough to be taken along."""

    def keep(self, marker: int, late: Mapping[int, str]) -> None:
        """Takes lines of a busy marker, and lets go of its earlier ones."""
        ring = self.last.setdefault(marker, {})
        ring.update(late)
        for number in list(ring)[: max(0, len(ring) - LAST)]:
            del ring[number]

    def join(self, later: Wanted, lines: int) -> None:
        """Takes what was found in a part of the file that begins after so many lines."""
        self.lines.update({number + lines: text for number, text in later.lines.items()})
        for marker, ring in later.last.items():
            self.keep(marker, {number + lines: text for number, text in ring.items()})


@dataclass(slots=True)
class Marks:
    """Lines of one chunk that hold a marker, by number with their beginnings; some of them are rare."""

    begins: dict[int, int] = field(default_factory=dict)
    rare: set[int] = field(default_factory=set)

    def add(self, other: Marks) -> None:
        """Takes those of another marker."""
        self.begins |= other.begins
        self.rare |= other.rare

    def first(self) -> Marks:
        """Only the first of them."""
        number = min(self.begins)
        return Marks({number: self.begins[number]}, self.rare & {number})


def fill(stream: IO[bytes], room: memoryview) -> int:
    """Reads as much as there is room for; how much. To make room anew each time would cost as much as reading."""
    return cast("io.BufferedIOBase", stream).readinto(room)


def chunks(stream: IO[bytes], size: int) -> Iterator[tuple[bytearray, int]]:
    """So many bytes of the stream in pieces of about one mebibyte that end with a line; an endless line is cut.

    Each piece is a buffer and how many of its bytes count; the buffer is used again for the next piece.
    """
    buffer, kept = bytearray(2 * CHUNK), 0
    while size > 0:
        kept = min(kept, LONGEST_LINE)
        if len(buffer) < kept + CHUNK:
            buffer.extend(bytes(kept + CHUNK))
        with memoryview(buffer)[kept : kept + min(CHUNK, size)] as room:
            count = fill(stream, room)
        if not count:
            break
        size -= count
        end = buffer.rfind(b"\n", kept, kept + count) + 1
        kept += count
        if end:
            yield buffer, end
            buffer[: kept - end] = buffer[end:kept]
            kept -= end
    if kept:
        yield buffer, kept


class Lines:
    """The lines of one chunk, found from the offsets in it."""

    def __init__(self, chunk: bytearray, size: int, first: int) -> None:
        self._chunk, self._size, self._first = chunk, size, first
        self._known: dict[int, tuple[str, int]] = {}

    def of(self, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Number and beginning of the line of each offset, each line once; the offsets are in order."""
        number, position, previous = self._first, 0, -1
        for end in ends:
            begin = self._chunk.rfind(b"\n", 0, end) + 1
            if begin != previous:
                number += self._chunk.count(b"\n", position, begin)
                position = previous = begin
                yield number, begin

    def at(self, begin: int) -> tuple[str, int]:
        """The line that begins there, and where the next one does; many readers get the same lines."""
        if begin not in self._known:
            end = self._chunk.find(b"\n", begin, self._size)
            end = end if end >= 0 else self._size
            self._known[begin] = text_line(self._chunk[begin:end]), end + 1
        return self._known[begin]

    def take(self, one: Wanted, marks: Marks) -> None:
        """Takes the marked lines with the lines around them that are wanted."""
        number, begin = self._along(one, self._first, 0)
        for marked, at in sorted(marks.begins.items()):
            if marked >= number:
                number, begin = marked, at
            rare = marked in marks.rare
            self._back(one, marked, at, max(one.before, BEFORE) if rare else one.before)
            one.until = max(one.until, marked + 1 + (max(one.after, AFTER) if rare else one.after))
            number, begin = self._along(one, number, begin)

    def _along(self, one: Wanted, number: int, begin: int) -> tuple[int, int]:
        """Takes the lines from here up to where the reader wants them; number and beginning of the one after."""
        while number < one.until and begin < self._size:
            one.lines[number], begin = self.at(begin)
            number += 1
        return number, begin

    def _back(self, one: Wanted, number: int, begin: int, before: int) -> None:
        for back in range(1, before + 1):
            if begin == 0 or number - back in one.lines:
                break
            begin = self._chunk.rfind(b"\n", 0, begin - 1) + 1
            one.lines[number - back] = self.at(begin)[0]
