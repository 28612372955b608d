"""Texts stand on the pages as they are, whatever is in them, and links are checked before a site is built."""

from __future__ import annotations

import pytest

from generator.links import anchors_of, broken_links
from generator.markup import address, code, contents, link, searched_for, table, text

TEXTS = {
    "as it stands": ("two GPUs", "two GPUs"),
    "marks": ("a*b_c <x> [y](z) | ~ & $", r"a\*b\_c \<x\> \[y\](z) \| \~ \& \$"),
    "backslash": (r"\w", r"\\w"),
    "code": ("needs `a_b | c` too", "needs `a_b | c` too"),
    "a backtick alone": ("it`s", "it's"),
    "several lines": ("one\n  two", "one two"),
    "a heading": ("# no heading", r"\# no heading"),
    "a list": ("- no entry", r"\- no entry"),
    "a number": ("1. no entry", "&#49;. no entry"),
    "a comment of MyST": ("% of memory", r"\% of memory"),
    "a target of MyST": ("(name)=", r"\(name)="),
}


@pytest.mark.parametrize(("raw", "written"), TEXTS.values(), ids=TEXTS)
def test_texts_are_no_markup(raw: str, written: str):
    assert text(raw) == written


def test_a_bar_ends_no_cell():
    """Neither in code nor in running text, where it is escaped already; and without rows there is no table."""
    rows = table(("a", "b"), [(code("x | y"), text("p | q")), ("one\ntwo", "")])

    assert rows.splitlines()[2:] == [r"| `x \| y` | p \| q |", "| one two |  |"]
    assert table(("a",), []) == ""


@pytest.mark.parametrize(
    ("target", "origin", "written"),
    [
        ("symptoms.md#x", "causes/p2p/y.md", "[l](../../symptoms.md#x)"),
        ("causes/p2p/x.md", "causes/p2p/y.md", "[l](x.md)"),
        ("facts/p2p.md", "index.md", "[l](facts/p2p.md)"),
        ("symptoms.md#x", "symptoms.md", "[l](symptoms.md#x)"),
    ],
)
def test_links_are_relative(target: str, origin: str, written: str):
    """The site opens from any folder."""
    assert link("l", target, origin) == written


def test_a_reference_that_is_no_address_is_a_text():
    assert address("https://a.example/b_c") == "<https://a.example/b_c>"
    assert address("own: seen_in May") == r"own: seen\_in May"


def test_words_of_the_search_are_said_once():
    assert searched_for(["Xid 79", "a.b", "Xid 79"]) == "```{index} !Xid 79, !a.b\n```"
    assert searched_for([]) == ""


GOOD = {
    "index.md": f"# Title\n\n[a](x/a.md) [b](x/a.md#some-words) [self](#title)\n\n{contents([('A', 'x/a.md')])}\n",
    "x/a.md": "# A\n\n## Some `words`!\n\n### `gpu_dma`\n\n[up](../index.md#title) [`gpu`](a.md#gpu_dma) [w](https://b.example/)\n",
}


def test_sound_links_are_not_told():
    """Nor is what only looks like one: in code, in a block of code, or escaped."""
    looks = "`[a](gone.md)` ``[a`](gone.md)`` \\[a\\](gone.md)\n\n```text\n[a](gone.md)\n# no heading\n```\n"

    assert broken_links(GOOD) == []
    assert broken_links({**GOOD, "x/b.md": looks}) == []


@pytest.mark.parametrize(
    ("added", "broken"),
    [
        ("[a](gone.md)", "x/b.md: gone.md"),
        ("[a](../index.md#nowhere)", "x/b.md: ../index.md#nowhere"),
        ("[a](#nowhere)", "x/b.md: #nowhere"),
        ("see [`a`](../a.md) and", "x/b.md: ../a.md"),
        (contents([("A", "gone.md")]), "x/b.md: gone.md"),
        ("```text\n# Head\n```\n[a](#head)", "x/b.md: #head"),
    ],
    ids=["no page", "no heading", "no heading here", "another folder", "contents", "a heading in code is none"],
)
def test_broken_links_are_told(added: str, broken: str):
    assert broken_links({**GOOD, "x/b.md": f"{added}\n"}) == [broken]


def test_anchors_are_those_of_github():
    """Which MyST makes, too."""
    assert list(anchors_of("# A b\n## 3. Say `x_y`!\n## A b\n## \\<z\\>\n")) == ["a-b", "3-say-x_y", "a-b-1", "z"]
