"""Files too large to be given to readers whole: one pass finds the lines that some reader wants.

A reader gets those lines with their numbers, as if the rest were not there. A marker that occurs very often
gives its first and its last lines: what a log says ten thousand times, it says.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO

from collectors.markers import search_for
from kb.evidence import Reader, Section

CHUNK = 1 << 20
LONGEST_LINE = 8 << 20
"""A line longer than this is cut: no reader looks that far."""
FIRST, LAST = 20_000, 2_000
"""How many lines of one marker a reader gets, from the beginning and from the end."""


@dataclass(slots=True)
class _Wanted:
    """The lines that one reader gets: those of the beginning, and for busy markers the last ones."""

    reader: Reader
    counts: dict[int, int] = field(default_factory=dict)
    lines: dict[int, bytes] = field(default_factory=dict)
    last: dict[int, deque[tuple[int, bytes]]] = field(default_factory=dict)
    until: int = 0
    """Lines below this number follow a marked one closely enough to be taken along."""

    def section(self, path: str, sha256: str) -> Section:
        """The lines in order, each with its number."""
        for ring in self.last.values():
            self.lines.update(ring)
        numbers = sorted(self.lines)
        text = [self.lines[number].decode("utf-8", "replace").rstrip("\r") for number in numbers]
        return Section(path, text, 1, None, sha256, numbers)


def marked_sections(path: str, stream: IO[bytes], readers: Sequence[Reader]) -> Iterator[tuple[Reader, Section]]:
    """For each reader that wants lines of this file: a section of only those lines."""
    wanted = [_Wanted(reader) for reader in readers]
    markers: dict[str, list[_Wanted]] = {}
    for one in wanted:
        for marker in dict.fromkeys(one.reader.lines or one.reader.markers):
            markers.setdefault(marker, []).append(one)
    search = search_for(list(markers))
    takers = list(markers.values())
    first_line = 1
    digest = hashlib.sha256()
    with ThreadPoolExecutor(1) as beside:  # hashing lets go of the interpreter
        for chunk in chunks(stream):
            hashed = beside.submit(digest.update, chunk)
            found = search(chunk)
            if found or any(one.until > first_line for one in wanted):
                _take(chunk, first_line, found, takers, wanted)
            first_line += chunk.count(b"\n")
            hashed.result()
    sha256 = digest.hexdigest()
    yield from ((one.reader, one.section(path, sha256)) for one in wanted if one.lines or one.last)


def chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """The stream in pieces of about one mebibyte that end with a line; a line without end is cut."""
    rest = b""
    while piece := stream.read(CHUNK):
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        elif len(rest) < LONGEST_LINE:
            rest += piece
    if rest:
        yield rest


def _take(
    chunk: bytes,
    first_line: int,
    found: dict[int, list[int]],
    takers: Sequence[Sequence[_Wanted]],
    wanted: Sequence[_Wanted],
) -> None:
    lines = _Lines(chunk, first_line)
    for one in wanted:
        if one.until > first_line:
            lines.follow(one, first_line)
    for marker, ends in sorted(found.items()):
        for one in takers[marker]:
            count = one.counts.get(marker, 0)
            one.counts[marker] = count + len(ends)
            early = ends[: max(0, FIRST - count)]
            for number, start in lines.of(early):
                lines.note(one, number, start)
            late = ends[len(early) :][-LAST:]
            if late:
                ring = one.last.setdefault(marker, deque(maxlen=LAST))
                ring.extend((number, lines.text(start)) for number, start in lines.of(late))


class _Lines:
    """The lines of one chunk, found from the offsets in it."""

    def __init__(self, chunk: bytes, first_line: int) -> None:
        self._chunk, self._first_line = chunk, first_line

    def of(self, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Number and start of the line of each offset, each line once; the offsets are in order."""
        number, position, previous = self._first_line, 0, -1
        for end in ends:
            start = self._chunk.rfind(b"\n", 0, end) + 1
            if start != previous:
                number += self._chunk.count(b"\n", position, start)
                position = previous = start
                yield number, start

    def text(self, start: int) -> bytes:
        """The line that starts there, without its end."""
        end = self._chunk.find(b"\n", start)
        return self._chunk[start : end if end >= 0 else len(self._chunk)]

    def note(self, one: _Wanted, number: int, start: int) -> None:
        """Takes a marked line, with the lines around it that the reader asks for."""
        before, after = one.reader.context
        one.lines[number] = self.text(start)
        for back in range(1, before + 1):
            if start == 0 or number - back in one.lines:
                break
            start = self._chunk.rfind(b"\n", 0, start - 1) + 1
            one.lines[number - back] = self.text(start)
        if after:
            one.until = max(one.until, number + 1 + after)
            self.follow(one, number + 1)

    def follow(self, one: _Wanted, number: int) -> None:
        """Takes the lines from this number on that follow a marked one closely enough."""
        start = self._start(number)
        while number < one.until and start < len(self._chunk):
            if number not in one.lines:
                one.lines[number] = self.text(start)
            start = self._chunk.find(b"\n", start) + 1 or len(self._chunk)
            number += 1

    def _start(self, number: int) -> int:
        start = 0
        for _ in range(number - self._first_line):
            start = self._chunk.find(b"\n", start) + 1 or len(self._chunk)
        return start
