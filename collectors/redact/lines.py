"""Which lines can hold what is looked for: found by cheap signs, so that costly expressions see few of them.

A sign must occur in every line that the expression could change; that it occurs in others costs only time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Where a line begins and ends, its line end left out."""

_STRANGE = re.compile(r"[^\x00-\x7f]")
"""Letters beyond ASCII may be the other case of one within, as the Kelvin sign is of `k`."""
_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_TOKEN = re.compile(r"[a-z0-9]+")
_FEW_WORDS = 80
"""To look for each of so many in the whole text takes as long as to take the text apart."""


def with_signs(text: str, signs: Iterable[re.Pattern[str]]) -> list[Span]:
    """The lines in which one of the expressions matches, in order. They begin with a letter each, to be fast."""
    found: dict[int, int] = {}
    size = len(text)
    for sign in signs:
        match = sign.search(text)
        while match:
            at = match.start()
            end = text.find("\n", at)
            end = size if end < 0 else end
            found[text.rfind("\n", 0, at) + 1] = end
            match = sign.search(text, end)
    return sorted(found.items())


def with_texts(text: str, parts: Iterable[str]) -> list[Span]:
    """The lines that hold one of these texts, in order."""
    found: dict[int, int] = {}
    size = len(text)
    for part in parts:
        at = text.find(part)
        while at >= 0:
            end = text.find("\n", at)
            end = size if end < 0 else end
            found[text.rfind("\n", 0, at) + 1] = end
            at = text.find(part, end)
    return sorted(found.items())


def with_words(text: str, words: Iterable[str]) -> list[Span]:
    """The lines that hold one of the words, in any case, and those with letters beyond ASCII, in order."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter that is longer in lower case
        return [(0, len(text))]
    found = with_texts(lower, _present(sorted({word.lower() for word in words}), lower))
    strange = with_signs(text, (_STRANGE,))
    return sorted({*found, *strange}) if strange else found


def kinds_of_lines(text: str) -> str:
    """Each kind of line once, without digits: a text without digits that it lacks is not in `text` either."""
    return "\n".join(set(text.translate(_NO_DIGITS).split("\n")))


def only(text: str, lines: Sequence[Span]) -> tuple[str, Callable[[int], int]]:
    """These lines as a text of their own, and a function from a place in it to the same place in `text`."""
    begins, at = [], 0
    for begin, end in lines:
        begins.append(at)
        at += end - begin + 1

    def place(here: int) -> int:
        number = bisect_right(begins, here) - 1
        return lines[number][0] + here - begins[number]

    return "\n".join(text[begin:end] for begin, end in lines), place


def replaced(
    text: str, lines: Sequence[Span], pattern: re.Pattern[str], token: Callable[[re.Match[str]], str]
) -> str:
    """The text with what `token` makes of each match in place of it, in these lines alone."""
    pieces, done = [], 0
    for begin, end in lines:
        for match in pattern.finditer(text, begin, end):
            pieces += [text[done : match.start()], token(match)]
            done = match.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def _present(words: Sequence[str], lower: str) -> Sequence[str]:
    """The words that may occur; of many, those whose first letters and digits do."""
    if len(words) <= _FEW_WORDS:
        return words
    tokens = set(_TOKEN.findall(lower))
    tokens |= {token.rstrip("0123456789") for token in tokens}
    beginnings = {word: _TOKEN.match(word) for word in words}
    return [word for word, match in beginnings.items() if match is None or match.group() in tokens]
