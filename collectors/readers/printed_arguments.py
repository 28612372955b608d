"""The names and values in the printed form of a Python call or dict, taken apart without evaluating it.

`(model_path='/m', tp_size=4, x=[1, (2, 'a,b')])` or `{'port': 8000, 'model': '/m'}`. Text that ends before
the closing bracket gives what is complete; its last, cut value is dropped. No reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex

MOST_VALUE = 300

_PAIR = regex(r"""\s*['"]?(?P<name>[A-Za-z_]\w{0,80})['"]?\s{0,4}(?:=|:)\s{0,4}(?P<value>\S.*)""", re.DOTALL)
_TOKEN = regex(r"""['"(\[{)\]},\\]""")
_OPEN = "([{"
_CLOSE = ")]}"


def printed_arguments(text: str) -> dict[str, str]:
    """The arguments of the first bracket in the text; strings without their quotes, the rest as printed."""
    start = min((at for at in map(text.find, _OPEN) if at >= 0), default=-1)
    if start < 0:
        return {}
    pairs = (_PAIR.fullmatch(part[: MOST_VALUE * 2]) for part in _parts(text, start + 1))
    return {pair["name"]: _plain(pair["value"].rstrip()) for pair in pairs if pair}


def _parts(text: str, start: int) -> Iterator[str]:
    """What stands between the commas at the depth of the first bracket."""
    depth, at = 0, start
    while (token := _TOKEN.search(text, at)) is not None:
        char, at = token[0], token.end()
        if char == "\\":
            at += 1
        elif char in "'\"":
            at = _string_end(text, at, char)
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            if depth == 0:
                yield text[start : token.start()]
                return
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start : token.start()]
            start = at


def _string_end(text: str, at: int, quote: str) -> int:
    """The position behind the closing quote, or the end of the text."""
    while (end := text.find(quote, at)) >= 0:
        backslashes = len(text[at:end]) - len(text[at:end].rstrip("\\"))
        if backslashes % 2 == 0:
            return end + 1
        at = end + 1
    return len(text)


def _plain(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return value[:MOST_VALUE]
