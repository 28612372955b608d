"""Which readers a section is offered to: those of which a marker occurs in it, or that know its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from collectors.index import known_readers
from collectors.markers import Search, search_for
from collectors.readers._lines import plain_command
from kb.evidence import Reader, Section

WORTH_A_SEARCH = 128 << 10
"""Bytes in which looking for each marker by itself takes longer than making a search for all."""


def offers(section: Section, *, at_once: bool) -> tuple[Section, list[Reader]]:
    """The readers, in their order, and the section as they get it.

    `at_once`: all markers are looked for in one pass, and the section then knows which of them occur.
    """
    if not at_once:
        return section, [one for one in known_readers() if section.has(*one.markers) or _knows(one, section)]
    takers, markers, search = _prepared()
    found = {markers[place] for place in search(section.text.encode())}
    marked = {place for marker in found for place in takers[marker]}
    if section.command is not None:
        marked.update(place for place, one in enumerate(known_readers()) if _knows(one, section))
    known = replace(section, searched=takers.keys(), found=found)
    return known, [known_readers()[place] for place in sorted(marked)]


def prepare() -> None:
    """Makes ready what sections of much text need."""
    _prepared()


@cache
def _prepared() -> tuple[Mapping[str, Sequence[int]], Sequence[str], Search]:
    """For each marker the readers that have it, by their place; all markers; and the search for them.

    What readers look for only in what they get is a marker that none of them has.
    """
    takers: dict[str, list[int]] = {}
    for place, reader in enumerate(known_readers()):
        for marker in reader.markers:
            takers.setdefault(marker, []).append(place)
        for line in reader.lines:
            takers.setdefault(line, [])
    return takers, list(takers), search_for((), list(takers))


def _knows(reader: Reader, section: Section) -> bool:
    if section.command is None:
        return False
    commands = section.command, plain_command(section.command)
    return any(command.startswith(known) for command in commands for known in reader.commands)
