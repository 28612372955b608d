"""Which readers a section is offered to: those of which a marker occurs in it, or that know its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from collectors.index import known_readers
from collectors.markers import search_for
from kb.evidence import Reader, Section

WORTH_A_SEARCH = 128 << 10
"""Bytes in which looking for each marker by itself takes longer than making a search for all."""


def offers(section: Section, *, at_once: bool) -> tuple[Section, list[Reader]]:
    """The readers, in their order, and the section as they get it.

    `at_once`: all markers are looked for in one pass, and the section then knows which of them occur.
    """
    if not at_once:
        return section, [one for one in known_readers() if section.has(*one.markers) or _knows(one, section)]
    takers = _takers()
    markers = list(takers)
    found = {markers[place] for place in search_for((), markers)(section.text.encode())}
    marked = {name for marker in found for name in takers[marker]}
    known = replace(section, searched=takers.keys(), found=found)
    return known, [one for one in known_readers() if one.name in marked or _knows(one, section)]


@cache
def _takers() -> Mapping[str, Sequence[str]]:
    """For each marker the names of the readers that have it; none for what they look for only in what they get."""
    takers: dict[str, list[str]] = {}
    for reader in known_readers():
        for marker in reader.markers:
            takers.setdefault(marker, []).append(reader.name)
        for line in reader.lines:
            takers.setdefault(line, [])
    return takers


def _knows(reader: Reader, section: Section) -> bool:
    if section.command is None:
        return False
    command = section.command.removeprefix("sudo ")
    return any(command.startswith(known) for known in reader.commands)
