"""The keys and values of YAML text, line by line with their path, without loading it. No reader.

For manifests as people paste them: in parts, several documents in one, templates between. A list item is a step
of the path of its own, named by its line, so that the keys of one item are told from those of the next. Flow
collections, `{a: b}` and `[a, b]`, are taken apart where they are flat. Anchors and block texts stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from collectors.readers._regex import regex

MOST_DEPTH = 40
MOST_COLUMNS = 600

_LINE = regex(
    r"(?P<indent> {0,120})(?P<dashes>(?:- {1,6}){0,4})"
    r"(?:(?P<key>[\"']?[\w./-]{1,120}[\"']?):(?:\s|$))?(?P<value>.*)"
)
_PAIR = regex(r"(?P<key>[\w./-]{1,120}): {0,4}(?P<value>\"[^\"]{0,200}\"|[^,{}]{0,200})")


class Entry(NamedTuple):
    """One scalar value, its line, and the keys that lead to it; list items are steps like `[12]`."""

    at: int
    path: tuple[str, ...]
    value: str

    def ends(self, *keys: str) -> bool:
        """Whether the path ends with these keys, items not counted."""
        return tuple(key for key in self.path if not key.startswith("["))[-len(keys) :] == keys

    def under(self, key: str) -> str | None:
        """The item of the innermost list of this name that the value belongs to."""
        for step in range(len(self.path) - 2, -1, -1):
            if self.path[step] == key and self.path[step + 1].startswith("["):
                return self.path[step + 1]
        return None


def entries(lines: Sequence[str]) -> Iterator[Entry]:
    """All scalars in order. `---` begins a document: its entry has the path ("---",)."""
    stack: list[tuple[int, str]] = []
    for index, whole in enumerate(lines):
        line = whole[:MOST_COLUMNS].rstrip()
        if line.startswith("---"):
            stack = []
            yield Entry(index, ("---",), "")
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            continue
        indent = 2 * len(match["indent"])
        if match["dashes"]:
            stack = [step for step in stack if step[0] <= indent]
            stack.append((indent + 1, f"[{index}]"))
            indent += 2 * len(match["dashes"])
        else:
            stack = [step for step in stack if step[0] < indent]
        if match["key"] is not None and len(stack) < MOST_DEPTH:
            stack.append((indent, match["key"].strip("\"'")))
        value = _plain(match["value"])
        if value and 0 < len(stack) <= MOST_DEPTH:
            yield from _values(index, tuple(key for _, key in stack), value)


def _plain(value: str) -> str:
    value = value.strip()
    if value[:1] not in {'"', "'"}:
        value = value.partition(" #")[0].strip()
    return value


def _values(index: int, path: tuple[str, ...], value: str) -> Iterator[Entry]:
    if value.startswith("{"):
        for pair in _PAIR.finditer(value):
            yield Entry(index, (*path, pair["key"]), pair["value"].strip().strip("[\"']"))
    elif value.startswith("[") and value.endswith("]"):
        for number, item in enumerate(value[1:-1].split(",")):
            yield Entry(index, (*path, f"[{index}.{number}]"), item.strip().strip("\"'"))
    else:
        yield Entry(index, path, value.strip("\"'"))
