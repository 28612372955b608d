"""The catalogue of harmless lines holds what it promises."""

from __future__ import annotations

import re

import pytest

from kb.harmless import catalogue

ENTRIES = catalogue()


def test_there_are_entries():
    assert len(ENTRIES) >= 40


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.id for entry in ENTRIES])
def test_an_entry_is_whole(entry):
    """A name, at least one telling part of a line, a reason in a sentence, and where it is from."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    assert entry.lines
    assert all(len(part) >= 8 for part in entry.lines)
    assert entry.because.endswith(".")
    assert entry.source
    assert entry.unless is None or not entry.unless.endswith(".")


def test_no_part_belongs_to_two_entries():
    """So that a line is counted once, for one reason."""
    parts = [part for entry in ENTRIES for part in entry.lines]

    assert len(parts) == len(set(parts))


def test_a_line_must_hold_what_an_entry_asks_for_besides():
    """A memory window that found no space is not the harmless one."""
    (entry,) = (entry for entry in ENTRIES if entry.id == "bridge-io-window")

    assert entry.describes("pci 0000:00:1c.0: BAR 13: no space for [io  size 0x1000]")
    assert not entry.describes("pci 0000:41:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space")
