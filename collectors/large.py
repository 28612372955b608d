"""Files too large to be given to readers whole: one pass finds the lines that some reader wants.

A reader gets those lines with their numbers, and an empty one for what was left out between them. The first
lines of each marker bring those around them along, as tables and tracebacks need; a marker that occurs very
often gives its first and its last lines: what a log says ten thousand times, it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from collectors.beside import beside, cores
from collectors.chunks import CHUNK, LAST, Lines, Marks, Wanted, chunks, fill
from collectors.content import Content
from collectors.markers import Search, search_for
from kb.evidence import Reader, Section

FIRST = 20_000
"""How many lines of one marker a reader gets from the beginning."""
RARE = 20
"""Of so many of the first ones it gets the lines around them, too."""
MOST_PARTS = 4


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for, and for each of it the readers (by their place) that want its lines."""

    readers: tuple[Reader, ...]
    often: tuple[str, ...]
    once: tuple[str, ...]
    """Markers whose lines are too many to be wanted by anybody: they only show what a file holds."""
    takers: tuple[tuple[int, ...], ...]
    """Of all markers, those of `often` first."""
    tasters: tuple[tuple[int, ...], ...]
    """Likewise: the readers that want only the first line."""

    @classmethod
    def of(cls, readers: Sequence[Reader]) -> _Search:
        takers: dict[str, list[int]] = {}
        tasters: dict[str, list[int]] = {}
        for place, reader in enumerate(readers):
            for marker in dict.fromkeys((*reader.lines, *reader.markers)):
                is_taken = not reader.lines or marker in reader.lines
                (takers if is_taken else tasters).setdefault(marker, []).append(place)
        once = [marker for marker in tasters if marker not in takers]
        every = (*takers, *once)
        wanting = (tuple(tuple(of.get(marker, ())) for marker in every) for of in (takers, tasters))
        return cls(tuple(readers), tuple(takers), tuple(once), *wanting)

    def prepared(self) -> Search:
        """What looks for all of them in a chunk."""
        return search_for(self.often, self.once)

    def offered(self, counts: Sequence[int]) -> list[int]:
        """The readers of which a marker occurs, by how often each was found."""
        found = {marker for marker, count in zip((*self.often, *self.once), counts, strict=True) if count}
        return [place for place, reader in enumerate(self.readers) if not found.isdisjoint(reader.markers)]


@dataclass(slots=True)
class _Part:
    """What was found in one part of the file."""

    wanted: list[Wanted]
    counts: list[int]
    """How often each marker was found."""
    lines: int = 0

    def marks(self, marker: int, ends: Sequence[int], lines: Lines, takers: Sequence[int]) -> Marks:
        """The lines of a marker where they are among its first ones; of later ones the last are kept."""
        count = self.counts[marker]
        self.counts[marker] += len(ends)
        early = ends[: max(0, FIRST - count)]
        late = {number: lines.at(begin)[0] for number, begin in lines.of(ends[len(early) :][-LAST:])}
        for place in takers if late else ():
            self.wanted[place].keep(marker, late)
        rare = {number for number, _ in lines.of(early[: max(0, RARE - count)])}
        return Marks(dict(lines.of(early)), rare)

    def join(self, later: _Part) -> None:
        """Takes what was found in the part that follows."""
        for one, other in zip(self.wanted, later.wanted, strict=True):
            one.join(other, self.lines)
        self.counts = [sum(pair) for pair in zip(self.counts, later.counts, strict=True)]
        self.lines += later.lines


def marked_sections(path: str, content: Content, readers: Sequence[Reader]) -> Iterator[tuple[Reader, Section]]:
    """For each reader of which a marker occurs in this file: a section of only the lines that it wants."""
    search = _Search.of(readers)
    search.prepared()  # made once, before the children are forked
    borders = _borders(content, min(cores(), MOST_PARTS))
    digest = beside(partial(_sha256, content))
    later = [beside(partial(_find, content, start, end, search)) for start, end in pairwise(borders[1:])]
    part = _find(content, borders[0], borders[1], search)
    for result in later:
        part.join(result())
    sha256 = digest()
    for place in search.offered(part.counts):
        yield readers[place], _section(path, part.wanted[place], sha256)


def _section(path: str, one: Wanted, sha256: str) -> Section:
    """The lines in order, each with its number."""
    for ring in one.last.values():
        one.lines.update(ring)
    text: list[str] = []
    numbers: list[int] = []
    for number in sorted(one.lines):
        if numbers and number > numbers[-1] + 1:
            text.append("")
            numbers.append(numbers[-1] + 1)
        text.append(one.lines[number])
        numbers.append(number)
    return Section(path, text, 1, None, sha256, numbers)


def _sha256(content: Content) -> str:
    digest = hashlib.sha256()
    with content.stream() as stream, memoryview(bytearray(CHUNK)) as room:
        while count := fill(stream, room):
            digest.update(room[:count])
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


def _find(content: Content, start: int, end: int, search: _Search) -> _Part:
    """The wanted lines between two offsets, numbered from 1 there."""
    part = _Part([Wanted(*reader.context) for reader in search.readers], [0] * len(search.takers))
    find = search.prepared()
    with content.stream() as stream:
        stream.seek(start)
        for chunk, size in chunks(stream, end - start):
            lines = Lines(chunk, size, part.lines + 1)
            marks = {place: Marks() for place, one in enumerate(part.wanted) if one.until > part.lines + 1}
            for marker, ends in find(memoryview(chunk)[:size]).items():
                is_new = not part.counts[marker]
                found = part.marks(marker, ends, lines, search.takers[marker])
                for place in search.takers[marker]:
                    marks.setdefault(place, Marks()).add(found)
                for place in search.tasters[marker] if is_new else ():
                    marks.setdefault(place, Marks()).add(found.first())
            for place, of_reader in marks.items():
                lines.take(part.wanted[place], of_reader)
            part.lines += chunk.count(b"\n", 0, size)
    return part
