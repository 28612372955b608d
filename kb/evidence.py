"""Evidence as values: where something was read, what was read, and what was looked for.

The difference between *absent* and *unknown* lives here: `Looked` says that facts of a kind were searched
for at some place, completely or not. Without it, the lack of a fact proves nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, TypeAlias, cast

from kb.facts.base import Fact

Reason: TypeAlias = Literal["absent", "not-collected", "timed-out", "no-permission", "truncated", "unreadable"]

EXCERPT_CHARS = 400


@dataclass(frozen=True, slots=True)
class Source:
    """The lines a fact was read from: path as the user knows it, 1-based lines, the text as it stands."""

    path: str
    line: int
    end_line: int
    text: str
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """A fact and where it comes from: a source, or the other facts (`basis`) that it was combined from."""

    fact: Fact
    source: Source
    basis: tuple[Observed, ...] = ()
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        # Kept once it is known: what was combined from a thousand ranks is looked up for each machine.
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.fact, self.source, self.basis)))
        return cast("int", self._hash)

    def __reduce__(self) -> tuple[type[Observed], tuple[Fact, Source, tuple[Observed, ...]]]:
        # Without the hash, which is another one in another process.
        return type(self), (self.fact, self.source, self.basis)

    def roots(self) -> tuple[Observed, ...]:
        """The observations at the bottom: those that were read, not combined. Each once, in order."""
        if not self.basis:
            return (self,)
        found: dict[Observed, None] = {}
        for part in self.basis:
            found.update(dict.fromkeys(part.roots()))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Looked:
    """Facts of this kind were looked for at this place; `complete` is false where some may have been missed."""

    kind: str
    complete: bool
    where: str
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of the evidence that could not be read, why, and what follows from that."""

    what: str
    reason: Reason
    consequence: str


Reading: TypeAlias = Observed | Looked | Unread


@dataclass(frozen=True, slots=True)
class Section:
    """One stretch of text that a reader may take: a whole file, or what one command printed in a transcript.

    `command` is the command line that produced it, where one is known. Lines come without line ends, with
    terminal escapes and carriage returns removed; `first_line` is the 1-based number of the first of them.
    """

    path: str
    lines: Sequence[str]
    first_line: int = 1
    command: str | None = None
    sha256: str = ""
    numbers: Sequence[int] | None = None
    """The number of each line, where only some lines of a large file are given; None: they follow each other."""
    searched: Set[str] = field(default=frozenset(), repr=False, compare=False)
    """Markers that were looked for in the text already; `found` are those of them that occur."""
    found: Set[str] = field(default=frozenset(), repr=False, compare=False)
    _joined: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    _begins: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    _holding: dict[str, array[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        """All lines in one text, joined when first asked for."""
        if not self._joined:
            self._joined.append("\n".join(self.lines))
        return self._joined[0]

    def number(self, index: int) -> int:
        """The 1-based number of a line in its file."""
        return self.first_line + index if self.numbers is None else self.numbers[index]

    def source(self, index: int, end: int | None = None) -> Source:
        """The source for lines[index] up to lines[end] inclusive (one line without `end`)."""
        last = index if end is None else end
        text = "\n".join(self.lines[index : last + 1])
        if len(text) > EXCERPT_CHARS:
            text = text[: EXCERPT_CHARS - 1] + "…"
        return Source(self.path, self.number(index), self.number(last), text, self.sha256)

    def observe(self, fact: Fact, index: int, end: int | None = None) -> Observed:
        """The fact, sourced to lines[index] up to lines[end]."""
        return Observed(fact, self.source(index, end))

    def looked(self, fact_type: type[Fact], *, complete: bool = True, reason: Reason | None = None) -> Looked:
        """That facts of this type were looked for in this section."""
        return Looked(fact_type.kind, complete, self.path, None if complete else reason or "truncated")

    def has(self, *markers: str) -> bool:
        """Whether at least one of the markers occurs in the text."""
        return any(self._occurs(marker) for marker in markers)

    def matching(self, *markers: str) -> Iterator[tuple[int, str]]:
        """Index and text of the lines that hold at least one of the markers, in order.

        Markers are looked for in the whole text: of many, few occur, and those that don't cost no look at a line.
        """
        indexes: set[int] = set()
        for marker in markers:
            indexes.update(self._lines_with(marker))
        for index in sorted(indexes):
            yield index, self.lines[index]

    def _occurs(self, marker: str) -> bool:
        return marker in self.found or (marker not in self.searched and marker in self.text)

    def _lines_with(self, marker: str) -> Sequence[int]:
        """The indexes of the lines that hold the marker, in order; found once, since readers share markers."""
        if marker not in self._holding:
            self._holding[marker] = array("I", self._search(marker))
        return self._holding[marker]

    def _search(self, marker: str) -> Iterator[int]:
        if not (self.lines and self._occurs(marker)):
            return
        text, begins = self.text, self._line_begins()
        at, index = text.find(marker), 0
        while at >= 0:
            index = bisect_right(begins, at, index)
            yield index - 1
            at = text.find(marker, begins[index]) if index < len(begins) else -1

    def _line_begins(self) -> list[int]:
        """Where each line begins in the text, counted when first asked for."""
        if not self._begins:
            lengths = (len(line) + 1 for line in self.lines[:-1])
            self._begins.extend(accumulate(lengths, initial=0))
        return self._begins


@dataclass(frozen=True, slots=True)
class BinaryReader:
    """A kind of evidence that is no text. `read(path, content, sha256)` gets a file that begins with its magic."""

    name: str
    magic: tuple[bytes, ...]
    read: Callable[[str, bytes, str], Iterator[Reading]]


@dataclass(frozen=True, slots=True)
class Reader:
    """One kind of evidence that can be read.

    A section in which no marker occurs is not offered to it. `commands` are the beginnings of command lines
    whose output it takes even without a marker (an empty or an error output tells something too).

    A file too large to be given whole is given as the lines that hold one of `lines` (by default the markers),
    each with as many lines before and after it as `context` says. So the markers must be rare in what the
    reader has no use for: `Init START`, not `NCCL INFO`.
    """

    name: str
    read: Callable[[Section], Iterator[Reading]]
    markers: tuple[str, ...]
    commands: tuple[str, ...] = field(default=())
    lines: tuple[str, ...] = field(default=())
    context: tuple[int, int] = (0, 0)
