"""Sections of evidence: the lines that hold a marker are those that a look at each line finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kb.evidence import Section

MARKERS = ("Xid", "id", "NCCL WARN", "é")
LINES = st.lists(st.sampled_from(["", "x", "Xid", "id Xid id", "NCCL", " WARN", "NCCL WARN Xid", "é", "aé"]))


@given(LINES, st.lists(st.sampled_from(MARKERS), max_size=4), st.booleans())
def test_the_matching_lines_are_those_that_hold_a_marker(lines, markers, searched):
    """Also where it is known beforehand which markers occur, and whichever were asked for before."""
    text = "\n".join(lines)
    found = {marker for marker in MARKERS if marker in text}
    section = Section(
        "a.log", lines, searched=set(MARKERS) if searched else set(), found=found if searched else set()
    )
    expected = [(index, line) for index, line in enumerate(lines) if any(marker in line for marker in markers)]

    assert list(section.matching("id")) == [(index, line) for index, line in enumerate(lines) if "id" in line]
    assert list(section.matching(*markers)) == expected
    assert section.has(*markers) == bool(expected)


def test_no_marker_crosses_a_line_end():
    """A line is what a reader looks at."""
    section = Section("a.log", ["NCCL", " WARN"])

    assert not section.has("NCCL WARN")
    assert list(section.matching("NCCL WARN")) == []
