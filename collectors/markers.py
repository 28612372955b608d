"""Many literal strings in one pass over bytes: by hyperscan where it is there, else by one alternation of `re`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

Search = Callable[[bytes], dict[int, list[int]]]
"""For each marker that occurs, by its index: the offsets at which its occurrences end, in order."""


def search_for(markers: Sequence[str]) -> Search:
    """A search for these literals in chunks of bytes. The same literals give the same search."""
    return _search_for(tuple(markers))


@cache
def _search_for(markers: tuple[str, ...]) -> Search:
    literals = [marker.encode() for marker in markers]
    try:
        return _hyperscan(literals)
    except ImportError:  # a wheel that is not to be had must not stop a sick machine
        return _alternation(literals)


def _hyperscan(literals: Sequence[bytes]) -> Search:
    import hyperscan

    database = hyperscan.Database()
    database.compile(expressions=list(literals), ids=list(range(len(literals))), literal=True)
    found: dict[int, list[int]] = {}

    def note(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
        if index in found:
            found[index].append(end)
        else:
            found[index] = [end]

    def search(chunk: bytes) -> dict[int, list[int]]:
        nonlocal found
        found = {}
        database.scan(chunk, match_event_handler=note)
        return found

    return search


def _alternation(literals: Sequence[bytes]) -> Search:
    """Longest first, so that of two markers at one place the more telling one is found; then their beginnings."""
    index = {literal: number for number, literal in enumerate(literals)}
    ordered = sorted(index, key=len, reverse=True)
    expression = re.compile(b"(?=(" + b"|".join(map(re.escape, ordered)) + b"))") if ordered else None
    inside = {
        one: [index[other] for other in ordered if other != one and one.startswith(other)] for one in ordered
    }

    def search(chunk: bytes) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for match in expression.finditer(chunk) if expression else ():
            literal = match[1]
            for number in (index[literal], *inside[literal]):
                found.setdefault(number, []).append(match.start() + len(literals[number]))
        return found

    return search
