"""The curve of the confidence is the one that fits the shipped data, and the docs show what it is worth."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.cover import CONFIRMED_SCORE, CURVE_MIDDLE, CURVE_WIDTH, UNDECIDED, stated
from kb.rule import LIKELY

ROOT = Path(__file__).parents[2]


@pytest.fixture
def calibrate(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import calibrate

    yield calibrate
    sys.modules.pop("calibrate")


def test_the_curve_fits_the_shipped_rows(calibrate):
    """Whoever changes the data changes the curve."""
    rows = calibrate.read_rows()

    assert calibrate.fit(rows) == (CURVE_MIDDLE, CURVE_WIDTH)
    assert stated("confirmed", CONFIRMED_SCORE) == pytest.approx(calibrate.share(rows, "confirmed"), abs=0.005)
    assert pytest.approx(calibrate.share(rows, "undecided"), abs=0.005) == UNDECIDED


def test_a_fit_finds_the_curve_that_the_rows_come_from(calibrate):
    """A score at which half is right is the middle."""
    rows = [
        calibrate.Row("likely", score, right=number < round(100 * calibrate.curve(score, 5, 12)))
        for score in range(-20, 31, 5)
        for number in range(100)
    ]

    assert calibrate.fit(rows) == (5, 12)


def test_the_docs_show_the_reliability_of_what_is_said(calibrate, capsys, monkeypatch):
    """`python benchmarks/calibrate.py` prints it."""
    monkeypatch.setattr(sys, "argv", ["calibrate.py"])
    calibrate.main()
    table = capsys.readouterr().out.partition("| said")[1:]

    assert "".join(table) in (ROOT / "docs" / "how-it-reasons.md").read_text(encoding="utf-8")


def test_what_is_likely_is_said_with_more_than_a_half_and_what_is_only_possible_with_less():
    """The exit status rests on it."""
    assert stated("likely", LIKELY) > 0.5 > stated("possible", LIKELY - 1)
