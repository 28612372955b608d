"""Sets of processors in all forms that tools print."""

from __future__ import annotations

import pytest

from kb.cpu_lists import cpus_in, cpus_in_mask, ranges


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        (" 0 1 2 16", {0, 1, 2, 16}),
        ("7", {7}),
        ("3-1", set()),
        ("N/A", set()),
        ("", set()),
        ("0-99999999999999", set()),
        ("1-2-3", set()),
    ],
)
def test_a_list(text, cpus):
    """Ranges, single numbers, and what is no list."""
    assert cpus_in(text) == cpus


@pytest.mark.parametrize(
    ("mask", "cpus"), [("ff", set(range(8))), ("1,00000000", {32}), ("10", {4}), ("0", set()), ("", set())]
)
def test_a_mask(mask, cpus):
    """Groups of 32 bits, the highest first."""
    assert cpus_in_mask(mask) == cpus


def test_back_into_ranges():
    """Neighbours together, whatever the order."""
    assert ranges([8, 0, 2, 1, 3]) == "0-3,8"
    assert ranges([]) == ""
    assert cpus_in(ranges(range(0, 128, 2))) == set(range(0, 128, 2))
