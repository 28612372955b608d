"""What was read from where: files with their readers, facts with their sources, and what was looked for.

Schema diagnose.facts/1: names are a contract, keys may only be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from diagnose.render.layout import (
    BLANK,
    Line,
    Span,
    cut,
    line,
    paragraph,
    place_cut,
    row,
    show,
    titled,
    width_of,
)
from diagnose.render.proof import source_of
from diagnose.render.words import AT_LENGTH, count, fact_fields, listed, place
from kb.evidence import Looked, Observed

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "diagnose.facts/1"
MOST_PLACES = 6
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


class FileReading(Protocol):
    """What became of one file."""

    @property
    def path(self) -> str:
        """As the user knows it."""

    @property
    def bytes(self) -> int:
        """Its size."""

    @property
    def readers(self) -> Sequence[str]:
        """The names of the readers that took it."""

    @property
    def facts(self) -> int:
        """How many facts came of it."""

    @property
    def unread_bytes(self) -> int:
        """How much of it no reader took."""

    @property
    def why_unread(self) -> str:
        """Why not; empty where all was read."""

    @property
    def lines(self) -> int:
        """How many lines it has; 0 where nobody counted them."""

    @property
    def quoted(self) -> int:
        """How many of them some fact stands on."""


def facts_json(
    files: Iterable[FileReading], observed: Iterable[Observed], looked: Iterable[Looked]
) -> dict[str, Any]:
    """The facts as plain values. Fields that are not known are there, as null."""
    return {
        "schema": SCHEMA,
        "files": [
            {
                "path": one.path,
                "bytes": one.bytes,
                "readers": list(one.readers),
                "facts": one.facts,
                "unread_bytes": one.unread_bytes,
                "why_unread": one.why_unread,
                "lines": one.lines,
                "quoted_lines": one.quoted,
            }
            for one in files
        ],
        "facts": [_fact(one) for one in observed],
        "looked": [
            {"kind": one.kind, "complete": one.complete, "where": one.where, "reason": one.reason}
            for one in looked
        ],
    }


def _fact(one: Observed) -> dict[str, Any]:
    return {
        "kind": one.fact.kind,
        "fields": one.fact.model_dump(mode="json", by_alias=True),
        "source": source_of(one.source),
        "text": one.source.text,
        "combined_from": [source_of(root.source) for root in one.roots()] if one.basis else [],
    }


def facts_text(
    files: Sequence[FileReading], observed: Sequence[Observed], looked: Sequence[Looked], console: Console
) -> None:
    """Prints the files, the facts by kind, and what was looked for."""
    width = width_of(console)
    show([*_files(files, width), *_facts(observed, width), *_looked(looked, width)], console)


def _files(files: Sequence[FileReading], width: int) -> list[Line]:
    unread = sum(one.unread_bytes for one in files)
    total = sum(one.bytes for one in files)
    summary = f"{count(len(files), 'file')}, {size(total)}, {size(unread)} of it in parts that no reader knows"
    lines = titled(Span("FILES", "head"), summary, width, "dim")
    for one in files:
        taken = ", ".join(one.readers) or "no reader"
        lines_of_it = f" on {one.quoted:,} of its {count(one.lines, 'line')}" if one.lines and one.readers else ""
        what = f"{size(one.bytes)}, {count(one.facts, 'fact')}{lines_of_it}, {taken}"
        lines.append(line("  ", place_cut(one.path, width - 2)))
        lines += paragraph(what, width, 4, "dim" if one.readers else "warn", limit=3)
        if one.unread_bytes or one.why_unread:
            lines += paragraph(f"{size(one.unread_bytes)} not read: {one.why_unread}", width, 4, "warn", limit=2)
    return lines


def _facts(observed: Sequence[Observed], width: int) -> list[Line]:
    by_kind: dict[str, list[Observed]] = {}
    for one in observed:
        by_kind.setdefault(one.fact.kind, []).append(one)
    summary = f"{count(len(observed), 'fact')} of {count(len(by_kind), 'kind')}"
    lines = [BLANK, *titled(Span("FACTS", "head"), summary, width, "dim")]
    for kind in sorted(by_kind):
        lines.append(line("  ", Span(kind, "head"), Span(f"  {len(by_kind[kind])}", "dim")))
        for one in by_kind[kind]:
            lines += _fact_lines(one, width)
    return lines


def _fact_lines(one: Observed, width: int) -> list[Line]:
    lines = paragraph(fact_fields(one.fact) or "(no fields known)", width, 4, limit=3)
    for root in one.roots()[:MOST_PLACES]:
        at = place(root.source)
        text = root.source.text.strip().split("\n")[0].strip()
        where = f"{place_cut(at, width // 2)}  " if at else ""
        lines.append(line(Span(f"      {where}", "dim"), Span(cut(text, max(width - 6 - len(where), 20)), "dim")))
    more = len(one.roots()) - MOST_PLACES
    return [*lines, line(Span(f"      and {count(more, 'more line')}", "dim"))] if more > 0 else lines


def _looked(looked: Sequence[Looked], width: int) -> list[Line]:
    lines = [
        BLANK,
        *titled(
            Span("LOOKED FOR", "head"),
            "all: what is not above is absent; part: it may still be there",
            width,
            "dim",
        ),
    ]
    by_kind: dict[str, list[Looked]] = {}
    for one in looked:
        by_kind.setdefault(one.kind, []).append(one)
    for kind in sorted(by_kind):
        whole = [one.where for one in by_kind[kind] if one.complete]
        partly = [
            f"{one.where} ({AT_LENGTH[one.reason or 'truncated']})" for one in by_kind[kind] if not one.complete
        ]
        label = Span("all", "good") if whole else Span("part", "warn")
        where = listed(list(dict.fromkeys([*whole, *partly])), MOST_PLACES)
        lines += row(label, f"{kind} in {where}", "", width, limit=3)
    return lines


def size(number: int) -> str:
    """A number of bytes in words: `512 B`, `1.5 MiB`."""
    value, unit = float(number), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{number:,} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"
