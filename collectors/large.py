"""Files too large to be given to readers whole: one pass finds the lines that some reader wants.

A reader gets those lines with their numbers, as if the rest were not there. A marker that occurs very often
gives its first and its last lines: what a log says ten thousand times, it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import IO

from collectors.beside import beside, cores
from collectors.content import Content
from collectors.markers import search_for
from kb.evidence import Reader, Section

CHUNK = 1 << 20
LONGEST_LINE = 8 << 20
"""A line longer than this is cut: no reader looks that far."""
FIRST, LAST = 20_000, 2_000
"""How many lines of one marker a reader gets, from the beginning and from the end."""
MOST_PARTS = 4


@dataclass(slots=True)
class _Wanted:
    """The lines that one reader gets, by number: those of the beginning, and of busy markers the last ones."""

    before: int
    after: int
    counts: dict[int, int] = field(default_factory=dict)
    lines: dict[int, bytes] = field(default_factory=dict)
    last: dict[int, dict[int, bytes]] = field(default_factory=dict)
    until: int = 0
    """Lines below this number follow a marked one closely enough to be taken along."""

    def keep(self, marker: int, late: dict[int, bytes]) -> None:
        """Takes lines of a busy marker, and lets go of its earlier ones."""
        ring = self.last.setdefault(marker, {})
        ring.update(late)
        for number in list(ring)[: max(0, len(ring) - LAST)]:
            del ring[number]

    def join(self, later: _Wanted, lines: int) -> None:
        """Takes what was found in a part of the file that begins after so many lines."""
        self.lines.update({number + lines: text for number, text in later.lines.items()})
        for marker, ring in later.last.items():
            self.keep(marker, {number + lines: text for number, text in ring.items()})


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for: the markers, and for each of them the readers (by their place) that want its lines."""

    markers: tuple[str, ...]
    takers: tuple[tuple[int, ...], ...]
    readers: tuple[Reader, ...]

    @classmethod
    def of(cls, readers: Sequence[Reader]) -> _Search:
        takers: dict[str, list[int]] = {}
        for place, reader in enumerate(readers):
            for marker in dict.fromkeys(reader.lines or reader.markers):
                takers.setdefault(marker, []).append(place)
        return cls(tuple(takers), tuple(map(tuple, takers.values())), tuple(readers))


def marked_sections(path: str, content: Content, readers: Sequence[Reader]) -> Iterator[tuple[Reader, Section]]:
    """For each reader that wants lines of this file: a section of only those lines."""
    search = _Search.of(readers)
    search_for(search.markers)  # made once, before the children are forked
    borders = _borders(content, min(cores(), MOST_PARTS))
    digest = beside(partial(_sha256, content))
    later = [beside(partial(_find, content, start, end, search)) for start, end in pairwise(borders[1:])]
    wanted, lines = _find(content, borders[0], borders[1], search)
    for result in later:
        more, more_lines = result()
        for one, other in zip(wanted, more, strict=True):
            one.join(other, lines)
        lines += more_lines
    sha256 = digest()
    for reader, one in zip(search.readers, wanted, strict=True):
        if one.lines or one.last:
            yield reader, _section(path, one, sha256)


def _section(path: str, one: _Wanted, sha256: str) -> Section:
    """The lines in order, each with its number."""
    for ring in one.last.values():
        one.lines.update(ring)
    numbers = sorted(one.lines)
    text = [one.lines[number].decode("utf-8", "replace").rstrip("\r") for number in numbers]
    return Section(path, text, 1, None, sha256, numbers)


def _sha256(content: Content) -> str:
    digest = hashlib.sha256()
    with content.stream() as stream:
        while piece := stream.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _borders(content: Content, parts: int) -> list[int]:
    """Where the parts begin and the last one ends; each begins with a line."""
    borders = [0]
    with content.stream() as stream:
        for part in range(1, parts):
            stream.seek(max(borders[-1], content.size * part // parts))
            at = stream.tell()
            end = stream.read(CHUNK).find(b"\n") + 1
            if end and at + end < content.size:
                borders.append(at + end)
    return [*dict.fromkeys(borders), content.size]


def _find(content: Content, start: int, end: int, search: _Search) -> tuple[list[_Wanted], int]:
    """The wanted lines between two offsets, numbered from 1 there, and how many lines there are."""
    wanted = [_Wanted(*reader.context) for reader in search.readers]
    find = search_for(search.markers)
    number = 1
    with content.stream() as stream:
        stream.seek(start)
        for chunk in chunks(stream, end - start):
            lines = _Lines(chunk, number)
            marked: dict[int, dict[int, int]] = {
                place: {} for place, one in enumerate(wanted) if one.until > number
            }
            for marker, ends in sorted(find(chunk).items()):
                for place in search.takers[marker]:
                    early = _early(wanted[place], marker, ends, lines)
                    marked.setdefault(place, {}).update(lines.of(early))
            for place, marks in marked.items():
                lines.take(wanted[place], sorted(marks.items()))
            number += chunk.count(b"\n")
    return wanted, number - 1


def chunks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """So many bytes of the stream in pieces of about one mebibyte that end with a line; an endless line is cut."""
    rest = b""
    while size > 0 and (piece := stream.read(min(CHUNK, size))):
        size -= len(piece)
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        elif len(rest) < LONGEST_LINE:
            rest += piece
    if rest:
        yield rest


def _early(one: _Wanted, marker: int, ends: Sequence[int], lines: _Lines) -> Sequence[int]:
    """The offsets that belong to the first lines of a marker; of later ones only the last lines are kept."""
    count = one.counts.get(marker, 0)
    one.counts[marker] = count + len(ends)
    early = ends[: max(0, FIRST - count)]
    late = ends[len(early) :][-LAST:]
    if late:
        one.keep(marker, {number: lines.text(start) for number, start in lines.of(late)})
    return early


class _Lines:
    """The lines of one chunk, found from the offsets in it."""

    def __init__(self, chunk: bytes, first: int) -> None:
        self._chunk, self._first = chunk, first

    def of(self, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Number and start of the line of each offset, each line once; the offsets are in order."""
        number, position, previous = self._first, 0, -1
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

    def take(self, one: _Wanted, marks: Sequence[tuple[int, int]]) -> None:
        """Takes the marked lines (number and start, in order) with the lines around them that are wanted."""
        number, start = self._along(one, self._first, 0)
        for marked, at in marks:
            if marked >= number:
                number, start = marked, at
            self._back(one, marked, at)
            one.until = max(one.until, marked + 1 + one.after)
            number, start = self._along(one, number, start)

    def _along(self, one: _Wanted, number: int, start: int) -> tuple[int, int]:
        """Takes the lines from here up to where the reader wants them; number and start of the one after."""
        while number < one.until and start < len(self._chunk):
            one.lines[number] = self.text(start)
            start = self._chunk.find(b"\n", start) + 1 or len(self._chunk)
            number += 1
        return number, start

    def _back(self, one: _Wanted, number: int, start: int) -> None:
        for back in range(1, one.before + 1):
            if start == 0 or number - back in one.lines:
                break
            start = self._chunk.rfind(b"\n", 0, start - 1) + 1
            one.lines[number - back] = self.text(start)
