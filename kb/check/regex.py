"""Whether a regular expression is sound, and can't take for ever on a long line."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<single>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:[a-zA-Z-]+|P=\w+|\#[^)]*)\))
    | (?P<open>\((?:\?(?:P<\w+>|<?[=!]|[a-zA-Z-]*:|>|\(\w+\)))?)
    | (?P<close>\))
    | (?P<either>\|)
    | (?P<endless>[*+]|\{\d*,\})
    | (?P<exactly>\{\d+\})
    | (?P<repeat>\?|\{\d*,\d+\})
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _Group:
    """What stands inside one pair of parentheses."""

    endless: bool = False
    """A part of it may repeat without end."""
    varies: bool = False
    """It may match in several ways: a repetition or alternatives."""


def fault_of_expression(text: str) -> str:
    """What is wrong with a regular expression; empty where nothing is.

    Refused are groups that repeat without end around something that repeats or has alternatives, `(a+)+`,
    `(a|ab)*`: on a line that nearly matches they may take time without bound.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        return f"not a regular expression: {error}"
    if _has_nested_repetition(text):
        return f"`{text}` repeats a group that itself repeats or has alternatives; such expressions may run away"
    return ""


def _runs_away(group: _Group, quantifier: re.Match[str]) -> bool:
    if quantifier.lastgroup in {"exactly", "repeat"}:
        return group.endless and quantifier[0] != "?"
    return quantifier.lastgroup == "endless"


def _has_nested_repetition(text: str) -> bool:
    stack = [_Group()]
    last = _Group()
    for token in _TOKEN.finditer(text):
        kind, before, last = token.lastgroup, last, _Group()
        if kind == "open":
            stack.append(_Group())
        elif kind == "close":
            last = stack.pop()
            stack[-1].endless |= last.endless
            stack[-1].varies |= last.varies
        elif before.varies and _runs_away(before, token):
            return True
        stack[-1].varies |= kind in {"either", "endless", "repeat"}
        stack[-1].endless |= kind == "endless"
    return False
