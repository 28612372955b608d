"""Lines of text made to fit a width, and how they get onto a console. Knows nothing of diagnoses.

A line is a row of spans, each with the name of a style. Everything that goes into one passes `neutral`, and
the console is given finished text: no markup, no highlighting, no wrapping of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from diagnose.render.neutral import terminal

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST, WIDEST = 50, 110
NARROWEST_COLUMN = 10
LABEL = 10
"""Width of the column that a ledger's numbers stand in."""
LONGEST_PLACE = 38
WIDEST_HANGING = 12
STYLES = {
    "bad": "bold red",
    "warn": "bold yellow",
    "good": "bold green",
    "head": "bold",
    "command": "cyan",
    "for": "green",
    "against": "red",
    "dim": "dim",
    "": "",
}
_ASCII = str.maketrans({"…": "...", "·": "-", "→": "->", "│": "|", "├": "+", "└": "+", "─": "-", "╰": "+"})


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in one style."""

    text: str
    style: str = ""


Line: TypeAlias = tuple[Span, ...]
BLANK: Line = ()


def line(*parts: str | Span) -> Line:
    """A line of these parts, neutralised."""
    return tuple(Span(terminal(part), "") if isinstance(part, str) else _clean(part) for part in parts)


def _clean(span: Span) -> Span:
    return Span(terminal(span.text), span.style)


def cells(text: str) -> int:
    """How many columns the text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def _cells_of(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int, keep: Sequence[str] = ()) -> str:
    """The text in at most `width` columns; cut with `…` in the middle, or where most words of `keep` stay."""
    text = terminal(text)
    if cells(text) <= width:
        return text
    known = [word for word in keep if word in text]
    long, short = (width - 1) * 2 // 3, (width - 1) // 3
    ways = [_around(text, long, width), _around(text, short, width)]
    ways += [_window(text, text.index(word), head, width) for word in known for head in (width // 2, width // 3)]
    return max(ways, key=lambda way: sum(word in way for word in known))


def _around(text: str, head: int, width: int) -> str:
    """Beginning and end of the text."""
    start = _take(text, head)
    return f"{start}…{_take(text[::-1], width - 1 - cells(start))[::-1]}"


def _window(text: str, at: int, head_width: int, width: int) -> str:
    """The beginning of the text, and what stands from shortly before `at`."""
    head = _take(text, head_width)
    rest = text[max(len(head), at - width // 8) :]
    room = width - 1 - cells(head)
    return f"{head}…{rest}" if cells(rest) <= room else f"{head}…{_take(rest, room - 1)}…"


def _take(text: str, width: int) -> str:
    taken = 0
    for index, char in enumerate(text):
        taken += _cells_of(char)
        if taken > width:
            return text[:index]
    return text


def wrap(text: str, width: int, first: int | None = None) -> list[str]:
    """The text in lines of at most `width` columns (`first` for the first of them).

    Broken at spaces, and within a word only where the word alone is too long.
    """
    width = max(width, NARROWEST_COLUMN)
    lines: list[str] = []
    current = ""
    for word in terminal(text.strip()).split(" "):
        room = width if lines or first is None else first
        joined = f"{current} {word}" if current else word
        if cells(joined) <= room:
            current = joined
            continue
        if current:
            lines.append(current)
        current = word
        while cells(current) > width:
            part = _take(current, width)
            lines.append(part)
            current = current[len(part) :]
    return [*lines, current] if current or not lines else lines


def squeezed(text: str, width: int, most: int, keep: Sequence[str] = ()) -> list[str]:
    """The text wrapped into at most so many lines; something is cut out only where it does not fit whole."""
    lines: list[str] = []
    for slack in (0, width // 4, width // 2, width):
        lines = wrap(cut(text, max(most * width - slack, width // 2), keep), width)
        if len(lines) <= most:
            break
    return lines


def paragraph(text: str, width: int, indent: int = 0, style: str = "", limit: int = 99) -> list[Line]:
    """The text wrapped and indented; cut off after `limit` lines."""
    lines = limited(wrap(text, width - indent), limit, width - indent)
    return [line(Span(" " * indent + part, style)) for part in lines]


def titled(
    title: Span, text: str, width: int, style: str = "", limit: int = 99, indent: int | None = None
) -> list[Line]:
    """A title with text beside it; the following lines hang under the text where the title is short."""
    if indent is None:
        indent = cells(title.text) + 2 if cells(title.text) + 2 <= WIDEST_HANGING else 2
    beside = width - cells(terminal(title.text)) - 2
    first, *rest = limited(wrap(text, width - indent, beside), limit, width - indent)
    return [
        line(title, Span(f"  {first}", style)),
        *(line(Span(" " * indent + part, style)) for part in rest),
    ]


def limited(lines: list[str], limit: int, width: int) -> list[str]:
    """At most `limit` of the lines; the last ends in `…` where more would follow."""
    if len(lines) <= limit:
        return lines
    kept = lines[:limit]
    last = kept[-1]
    while " " in last and cells(last) >= width:
        last = last[: last.rindex(" ")]
    kept[-1] = f"{_take(last, width - 1)}…"
    return kept


def row(label: Span, text: str, place: str, width: int, limit: int = 2) -> list[Line]:
    """A row of a ledger: label to the left, text, and the place flush right on its last line."""
    room = width - LABEL
    place = place_cut(place, LONGEST_PLACE)
    parts = limited(wrap(text, room), limit, room)
    if place and cells(parts[-1]) + 2 + cells(place) > room and len(parts) < limit:
        parts.append("")
    lines = [line(Span(f"{label.text:>{LABEL - 2}}  ", label.style), parts[0])]
    lines += [line(Span(" " * LABEL + part)) for part in parts[1:]]
    if place:
        last = parts[-1]
        if cells(last) + 2 + cells(place) > room:
            last = _take(last, room - cells(place) - 3).rstrip() + "…"
            lines[-1] = (*lines[-1][:-1], Span((" " * LABEL if len(parts) > 1 else "") + last))
        gap = " " * (room - cells(last) - cells(place))
        lines[-1] = (*lines[-1], *line(Span(gap + place, "dim")))
    return lines


def place_cut(place: str, width: int) -> str:
    """A place in at most `width` columns; its end, which names file and line, stays."""
    place = terminal(place)
    return place if cells(place) <= width else f"…{_take(place[::-1], width - 1)[::-1]}"


def width_of(console: Console) -> int:
    """The width to write for: that of the console, within what reads well."""
    return max(NARROWEST, min(console.width, WIDEST))


def show(lines: Sequence[Line], console: Console) -> None:
    """Prints the lines as they are. A console that can't show Unicode gets the nearest ASCII."""
    from rich.text import Text  # slow to import, and JSON does without

    unicode_ok = console.encoding.lower().replace("-", "").startswith("utf")
    for one in lines:
        text = Text(no_wrap=True, overflow="ignore", end="\n")
        for span in one:
            text.append(span.text if unicode_ok else _ascii(span.text, console.encoding), STYLES[span.style])
        text.rstrip()
        console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _ascii(text: str, encoding: str) -> str:
    return text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
