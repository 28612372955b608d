"""JSON that a command printed, read within bounds, and the lines on which its keys stand. No reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kb.evidence import Section

_MOST_CHARACTERS = 4_000_000


def json_of(section: Section) -> Any:
    """The value that the section's text is, from its first brace on; None where it is none or too large."""
    first = next((index for index, line in enumerate(section.lines) if line.lstrip()[:1] in {"{", "["}), None)
    if first is None:
        return None
    text = "\n".join(section.lines[first:])
    if len(text) > _MOST_CHARACTERS:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None
    return value


def objects_of(section: Section) -> Iterator[dict[str, Any]]:
    """The objects that the section's text is a list of, or the one that it is."""
    value = json_of(section)
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            yield one


def line_with(section: Section, *texts: str) -> int:
    """The first line that holds one of the texts, the first text that occurs winning; else the first line."""
    for text in texts:
        for index, line in enumerate(section.lines):
            if text in line:
                return index
    return 0


def at(value: Any, *keys: str) -> Any:
    """What stands at the end of these keys; None where one is missing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
