"""Lines fit the width, and the console does nothing to them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from diagnose.render.layout import Span, cells, cut, line, paragraph, place_cut, row, show, squeezed, wrap

TEXT = st.text(max_size=300)
WIDTH = st.integers(min_value=20, max_value=120)


@settings(deadline=None)
@given(TEXT, WIDTH)
def test_a_cut_text_fits(text, width):
    """However wide its characters are."""
    assert cells(cut(text, width)) <= width


@settings(deadline=None)
@given(TEXT, WIDTH)
def test_wrapped_lines_fit_and_keep_every_character(text, width):
    """Only spaces at line ends go."""
    lines = wrap(text, width)

    assert max(map(cells, lines)) <= width
    assert "".join(lines).replace(" ", "") == "".join(wrap(text, 10_000)).replace(" ", "")


@settings(deadline=None)
@given(TEXT, WIDTH, st.integers(min_value=1, max_value=3))
def test_a_squeezed_text_takes_no_more_lines_than_it_may(text, width, most):
    """Here by cutting its middle."""
    assert len(squeezed(text, width, most)) <= most


def test_a_short_text_is_not_cut():
    """The `…` stands only where something is missing."""
    assert cut("0 bytes", 20) == "0 bytes"


def test_a_cut_text_keeps_beginning_and_end():
    """The middle is the part that goes."""
    assert cut("abcdefghijklmnopqrstuvwxyz", 11) == "abcdef…wxyz"


def test_a_cut_keeps_the_words_that_count_in_sight():
    """A line is cited for the values that a fact took from it."""
    text = "x" * 40 + " 590.48.01 " + "y" * 60

    assert "590.48.01" not in cut(text, 40)
    assert "590.48.01" in cut(text, 40, ["590.48.01"])


def test_wide_characters_take_two_columns():
    """A terminal draws them so."""
    assert cells("漢字") == 4
    assert cells("e\u0301") == 1


def test_the_end_of_a_place_stays():
    """It names the file and the line."""
    assert place_cut("a/very/long/path/to/dmesg.txt:10", 16) == "…to/dmesg.txt:10"


def test_a_row_puts_the_place_flush_right():
    """On the last line of the text where there is room, else on a line of its own."""
    short = row(Span("+20"), "short", "a.txt:1", 40)
    full = row(Span("+20"), "x" * 28, "a.txt:1", 40)

    assert flat(short) == ["     +20  short                  a.txt:1"]
    assert flat(full) == ["     +20  " + "x" * 28, " " * 33 + "a.txt:1"]


def test_a_row_takes_no_more_lines_than_it_may():
    """The text gives way, not the place."""
    assert flat(row(Span("?"), "word " * 30, "a.txt:1", 40, limit=2)) == [
        "       ?  word word word word word word",
        "          word word word word…   a.txt:1",
    ]


def test_a_paragraph_says_where_it_was_cut():
    """By an ellipsis at the end of its last line."""
    assert flat(paragraph("one two three four five six", 12, 2, limit=2)) == ["  one two", "  three…"]


def flat(lines):
    return ["".join(span.text for span in one).rstrip() for one in lines]


def test_markup_and_emoji_codes_are_not_interpreted():
    """The console gets finished text."""
    stream = io.StringIO()
    show([line("[bold]not bold[/] :smile: 0x1f 'text'")], Console(file=stream, width=80, force_terminal=True))

    assert stream.getvalue() == "[bold]not bold[/] :smile: 0x1f 'text'\n"


def test_a_long_line_is_neither_wrapped_nor_cropped():
    """A command must be copied whole."""
    stream = io.StringIO()
    show([line("x" * 200)], Console(file=stream, width=80))

    assert stream.getvalue() == "x" * 200 + "\n"


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_a_console_without_unicode_gets_ascii(encoding):
    """A serial console at three in the morning must not end in an encoding error."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    show([line("└─ cut… · 漢 → é")], Console(file=stream, width=80))
    stream.flush()

    assert raw.getvalue().decode(encoding).startswith(r"+- cut... - \u6f22 ->")
