"""Text from evidence made harmless: one function for each kind of output.

Evidence may come from a stranger. A terminal must not obey it, Markdown must not be broken out of, nobody
must be mentioned by it, and what is shown must be in the order in which it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

TAB = "    "
_NAMED = {"\n": "\\n", "\r": "\\r"}
_FIRST_RAW_BYTE, _LAST_RAW_BYTE = 0xDC80, 0xDCFF
_MARKED = re.compile(r"[\\`*_\[\]<>|~&$]|@(?=\w)|#(?=\d)|(?<=[Gg][Hh])-(?=\d)|://|www\.")
_LEADING = re.compile(r"^(\s*)([#+\-=]|\d+[.)])(?=\s|$|[-=])")
_BACKTICKS = re.compile(r"`+")


def terminal(text: str) -> str:
    r"""The text as one line in which control, bidi and other invisible characters show as escapes: `\x1b`."""
    text = text.replace("\t", TAB)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or _is_space(char) else _escape(char) for char in text)


def _is_space(char: str) -> bool:
    """Spaces of other widths are not printable to Python, but harmless; separators of lines are not."""
    return char.isspace() and ord(char) >= 0xA0 and char not in "\u2028\u2029"


def _escape(char: str) -> str:
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if _FIRST_RAW_BYTE <= code <= _LAST_RAW_BYTE:  # a byte that was not UTF-8, kept by surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def markdown_text(text: str) -> str:
    """The text as running Markdown: nothing in it is markup, a link, a mention or a reference.

    What GitHub would link (`@name`, `#12`, `http://`) has its mark in a code span, which it leaves alone.
    """
    escaped = _MARKED.sub(_marked, terminal(text))
    return _LEADING.sub(lambda match: f"{match[1]}{_leading(match[2])}", escaped)


def _marked(match: re.Match[str]) -> str:
    found = match[0]
    if found[0] in "@#-:w$":
        return f"`{found}`"
    return f"\\{found}"


def _leading(mark: str) -> str:
    return f"\\{mark}" if len(mark) == 1 else f"{mark[:-1]}\\{mark[-1]}"


def markdown_code(text: str, *, cell: bool = False) -> str:
    """The text as a code span whose fence is longer than any run of backticks in it.

    In a table cell no code span can hold a `|` safely; there such a text becomes running text.
    """
    plain = terminal(text) or " "
    if cell and "|" in plain:
        return markdown_text(text)
    fence = "`" * (_longest_run(plain) + 1)
    pad = " " if plain[0] == "`" or plain[-1] == "`" or plain.strip() != plain else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def markdown_fence(text: str, language: str = "") -> str:
    """The text as a fenced block that it can't end: the fence is longer than any run of backticks in it."""
    lines = [terminal(line) for line in text.split("\n")]
    fence = "`" * max(3, _longest_run(text) + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def json_text(value: Mapping[str, Any]) -> str:
    """The JSON of a report in plain ASCII, so that a terminal has nothing to obey in it."""
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False).replace("\x7f", "\\u007f") + "\n"
