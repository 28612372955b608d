"""Text from evidence can do no harm in any output."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.render.neutral import json_text, markdown_code, markdown_fence, markdown_text, terminal

ANY_TEXT = st.text(st.characters(codec=None), max_size=80)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text, Ünïcode 漢字", "plain text, Ünïcode 漢字"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("bell\x07 back\x08 delete\x7f", r"bell\x07 back\x08 delete\x7f"),
        ("csi \x9b31m", r"csi \x9b31m"),
        ("two\nlines\r", r"two\nlines\r"),
        ("a\tb", "a    b"),
        ("right\u202eleft\u2066", r"right\u202eleft\u2066"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("line\u2028separator\x85", r"line\u2028separator\x85"),
        ("not UTF-8 \udcff", r"not UTF-8 \xff"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("no-break\u00a0space", "no-break\u00a0space"),
    ],
)
def test_control_and_invisible_characters_show_as_escapes(text, expected):
    """What a terminal would obey, or hide, is made visible; letters of all scripts stay."""
    assert terminal(text) == expected


@settings(deadline=None)
@given(ANY_TEXT)
def test_nothing_that_a_terminal_obeys_is_left(text):
    """Whatever comes in, one line of printable characters comes out, and a second pass changes nothing."""
    shown = terminal(text)

    assert (
        re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ud800-\udfff]", shown)
        is None
    )
    assert terminal(shown) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<img src=x onerror=alert(1)>", r"\<img src=x onerror=alert(1)\>"),
        ("[click](http://evil)", r"\[click\](http`://`evil)"),
        ("**bold** _it_ ~~gone~~", r"\*\*bold\*\* \_it\_ \~\~gone\~\~"),
        ("`code` | cell", r"\`code\` \| cell"),
        ("ping @torvalds", "ping `@`torvalds"),
        ("me@host.example", "me`@`host.example"),
        ("fixes #12, GH-7, org/repo#3", "fixes `#`12, GH`-`7, org/repo`#`3"),
        ("see www.evil.example", "see `www.`evil.example"),
        ("&lt;b&gt; $x$", r"\&lt;b\&gt; `$`x`$`"),
        ("# heading", r"\# heading"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("> quote", r"\> quote"),
        ("-20 as it stands", "-20 as it stands"),
    ],
)
def test_nothing_is_markup_in_running_markdown(text, expected):
    """No tag, link, emphasis, table cell, heading, mention or reference comes of evidence."""
    assert markdown_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dmesg.txt:10", "`dmesg.txt:10`"),
        ("a`b", "``a`b``"),
        ("``", "``` `` ```"),
        ("", "`   `"),
        ("\x1b", r"`\x1b`"),
    ],
)
def test_a_code_span_cannot_be_ended_from_within(text, expected):
    """Its fence is longer than any run of backticks in it."""
    assert markdown_code(text) == expected


def test_a_code_span_in_a_table_holds_no_pipe():
    """There a text with a pipe becomes running text."""
    assert markdown_code(r"a\|b", cell=True) == r"a\\\|b"


@settings(deadline=None)
@given(ANY_TEXT)
def test_a_fence_cannot_be_ended_from_within(text):
    """No line between the fences is as long a run of backticks as they are."""
    first, *inside, last = markdown_fence(text, "sh").split("\n")

    assert first.removesuffix("sh") == last
    assert set(last) == {"`"}
    assert len(last) >= 3
    assert [line for line in inside if last in line] == []


@settings(deadline=None)
@given(ANY_TEXT)
def test_json_is_plain_ascii_and_says_the_same(text):
    """Nothing in it that a terminal obeys; read back, it is the text as it stood."""
    written = json_text({"text": text})

    assert written.isascii()
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f]", written) is None
    assert json.loads(written)["text"] == text
