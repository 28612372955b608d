"""Which readers a section is offered to: the same, however the markers are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.offers import offers
from kb.evidence import Section

GOLDEN = Path(__file__).parent.parent / "readers"


def some_sections() -> list[Section]:
    """Each seventh of the recorded samples."""
    paths = sorted(GOLDEN.glob("*.txt"))[::7]
    return [Section(path.name, path.read_text(encoding="utf-8").split("\n")) for path in paths]


@pytest.mark.parametrize("section", some_sections(), ids=lambda section: section.path)
def test_one_search_for_all_markers_offers_what_single_ones_do(section):
    """And tells the section which markers it holds."""
    plain, one_by_one = offers(section, at_once=False)
    searched, at_once = offers(section, at_once=True)

    assert [reader.name for reader in at_once] == [reader.name for reader in one_by_one]
    assert searched.found == {marker for marker in searched.searched if marker in plain.text}


def test_a_reader_that_knows_the_command_is_offered_its_output():
    """Also where that is empty: it tells something too."""
    for at_once in (False, True):
        _, readers = offers(Section("a.txt", [], command="sudo lsmod"), at_once=at_once)

        assert "loaded-modules" in {reader.name for reader in readers}
