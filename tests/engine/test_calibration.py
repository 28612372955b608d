"""The curve of the confidence is the one that fits the shipped data, and the docs show what it is worth."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from byhand import proposed
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cover import CONFIRMED_SCORE, CURVE_MIDDLE, CURVE_WIDTH, UNDECIDED, confidence, stated
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


CURVE = [(-30, 0.04), (-8, 0.5), (10, 0.93), (20, 0.983), (30, 0.983)]


@pytest.mark.parametrize(("score", "probability"), CURVE)
def test_the_curve_from_decibans_to_confidence(score, probability):
    """One curve for all that is likely."""
    assert confidence(proposed("a.one", score)) == pytest.approx(probability, abs=0.001)


@pytest.mark.parametrize(
    ("score", "verdict", "probability"),
    [
        (-30, "confirmed", 0.983),
        (35, "confirmed", 0.983),
        (30, "ruled-out", 0.017),
        (-300, "ruled-out", 0.017),
        (50, "contradictory", 0.267),
        (5, "possible", 0.433),
        (-5, "possible", 0.303),
        (-20, "unlikely", 0.075),
    ],
)
def test_what_a_verdict_makes_of_the_curve(score, verdict, probability):
    """Proved is never doubtful, refuted never likely, a contradiction neither, and the possible is held back."""
    assert confidence(proposed("a.one", score, verdict)) == pytest.approx(probability, abs=0.001)


def test_that_the_evidence_cannot_tell_is_given_with_how_often_it_is_so():
    """Its ledger says what is lacking, not how sure that is."""
    by_score = [confidence(proposed("state.one", score, fallback=True)) for score in (10, 50)]

    assert by_score == [UNDECIDED, UNDECIDED]


@settings(derandomize=True, deadline=None, database=None)
@given(
    st.sampled_from(["likely", "confirmed", "ruled-out", "contradictory"]),
    st.integers(-500, 500),
    st.integers(0, 500),
)
def test_more_evidence_never_lowers_the_confidence(verdict, score, more):
    """The curve is monotone for each verdict and stays between 0 and 1."""
    lower, higher = (confidence(proposed("a.one", one, verdict)) for one in (score, score + more))

    assert 0 <= lower <= higher <= 1
