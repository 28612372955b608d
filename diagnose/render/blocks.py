"""The blocks that the text reports are made of, each a list of lines: ledger, quotes, remedies, tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from diagnose.render.evidence import Cited, absences, first_line, in_order
from diagnose.render.layout import LABEL, Line, Span, cells, line, paragraph, place_cut, row, squeezed, titled
from diagnose.render.neutral import terminal
from diagnose.render.report import Report
from diagnose.render.words import (
    clause_says,
    count,
    expectation,
    listed,
    place,
    probe_terms,
    remedy_terms,
    signed,
    verification,
    weight_label,
)
from engine.result import Finding, LedgerLine, NextTest, RemedyOffer
from kb.facts import fields_of

MOST_QUOTES = 6
_SHORTEST_KEPT = 3
_IN_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


def head(title: str, style: str = "head") -> Span:
    """The title of a section."""
    return Span(title, style)


def ledger(finding: Finding, report: Report, width: int, limit: int) -> list[Line]:
    """The ledger in at most `limit` lines: what counts, heaviest first, and how much is still unknown."""
    hypothesis = finding.hypothesis
    rows: list[list[Line]] = []
    if not hypothesis.settled:
        text = f"{finding.cause.prior} among the machines that come to us"
        rows.append(row(Span(signed(hypothesis.prior), "dim"), text, "", width))
    counted = [one for one in in_order(hypothesis) if one.truth != "unknown"]
    looked = {one.line.clause: one.where for one in absences(hypothesis, report.diagnosis.looked)}
    rows += [_ledger_row(one, finding, looked.get(one.clause, ()), width) for one in counted]
    open_lines = [one for one in hypothesis.ledger if one.truth == "unknown" and one.could_add]
    rows += _open_row(open_lines, width) if not hypothesis.settled else []
    return _within(rows, limit, finding.cause.cause, width)


def _ledger_row(one: LedgerLine, finding: Finding, looked: Sequence[str], width: int) -> list[Line]:
    source, more = first_line(one)
    where = place(source) if source else ""
    if more:
        where += f" (+{more})"
    elif looked:
        where = looked[0] if len(looked) == 1 else f"{looked[0]} (+{len(looked) - 1})"
    style = "for" if one.decibans > 0 else "against"
    says = clause_says(one, finding.hypothesis)
    return row(Span(weight_label(one), style), says, where, width, limit=3 if one.conclusive else 2)


def _open_row(open_lines: Sequence[LedgerLine], width: int) -> list[list[Line]]:
    if not open_lines:
        return []
    most = max(one.could_add for one in open_lines)
    what = "1 thing was" if len(open_lines) == 1 else f"{len(open_lines)} things were"
    says = f"{what} not looked at, worth up to {most} (below)"
    return [row(Span("?", "warn"), says, "", width)]


def _within(rows: Sequence[list[Line]], limit: int, cause: str, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, one in enumerate(rows):
        last = number == len(rows) - 1
        if len(lines) + len(one) > limit - (not last):
            return lines + paragraph(f"and {len(rows) - number} more: diagnose why {cause}", width, LABEL, "dim")
        lines += one
    return lines


def quotes(lines: Sequence[Cited], width: int, limit: int, indent: int = 2) -> list[Line]:
    """The lines as they stand, with their places; beside them where all fit, otherwise above."""
    shown = [one for one in lines if one.source.text][:MOST_QUOTES]
    places = [place(one.source) for one in shown]
    column = max(map(cells, places), default=0)
    room = width - indent - column - 2
    if all(cells(one_line(one)) <= room for one in shown):
        return [
            line(" " * indent, Span(f"{where:<{column}}  ", "dim"), one_line(one))
            for where, one in zip(places[:limit], shown, strict=False)
        ]
    return _above_each_other(shown, width, limit, indent)


def _above_each_other(shown: Sequence[Cited], width: int, limit: int, indent: int) -> list[Line]:
    """As many quotes as have room in two rows each, place and line; what is left over gives long lines a third."""
    quoted: list[Line] = []
    shown = shown[: max(1, limit // 2)]
    spare = limit - 2 * len(shown)
    room = width - indent - 2
    for one in shown:
        most = 2 if spare > 0 else 1
        parts = squeezed(one_line(one), room, most, words_to_keep(one))
        spare -= len(parts) - 1
        quoted.append(line(" " * indent, Span(place_cut(place(one.source), width - indent), "dim")))
        quoted += [line(" " * (indent + 2), part) for part in parts]
    return quoted


def one_line(one: Cited) -> str:
    """The first line of a citation, without the spaces around it, and how many lines follow it."""
    first, _, rest = one.source.text.strip().partition("\n")
    more = rest.count("\n") + 1 if rest else 0
    return f"{first.strip()} (+{count(more, 'line')})" if more else first.strip()


def words_to_keep(one: Cited) -> list[str]:
    """What should stay in sight where a line is cut.

    What the fact took from it, paths also by their names, and what it writes in capitals (IO_PAGE_FAULT).
    """
    values = [str(value) for value in fields_of(one.fact).values() if not isinstance(value, bool)]
    names = [value.rsplit("/", 1)[1] for value in values if "/" in value]
    words = [*values, *names, *_IN_CAPITALS.findall(one.source.text)]
    return [word for word in dict.fromkeys(words) if len(word) >= _SHORTEST_KEPT]


def command_lines(filled: Iterable[str], templates: Sequence[str]) -> list[str]:
    """Commands as lines, whole. Each has as many lines as the author of its rule gave it.

    A line break that a fact brought in shows as an escape: it must not begin a command of its own.
    """
    lines: list[str] = []
    known = dict(enumerate(templates))
    for number, command in enumerate(filled):
        own = command.count("\n") == known.get(number, "").count("\n")
        lines += command.rstrip("\n").split("\n") if own else [terminal(command)]
    return lines


def commands(filled: Iterable[str], templates: Sequence[str], indent: int) -> list[Line]:
    """Commands as they are to be run: never wrapped, never cut."""
    return [line(" " * indent, Span(part, "command")) for part in command_lines(filled, templates)]


def remedy(offer: RemedyOffer, title: Span, width: int, indent: int = 2) -> list[Line]:
    """What to do, what it interrupts, the commands, and the way back."""
    lines = titled(title, offer.do, width, limit=6)
    pad = " " * indent
    lines.append(line(Span(pad + remedy_terms(offer.remedy), "dim")))
    if offer.caution:
        lines += paragraph(f"Caution: {offer.caution}", width, indent, "warn")
    lines += commands(offer.run, offer.remedy.run, indent + 2)
    if offer.costs:
        lines += paragraph(f"Costs: {offer.costs}", width, indent)
    return [*lines, *undo(offer, width, indent)]


def undo(offer: RemedyOffer, width: int, indent: int) -> list[Line]:
    """The way back. A sentence is wrapped, a command is not."""
    lines: list[Line] = []
    for number, text in enumerate(offer.undo):
        lead = "Undo: " if number == 0 else "      "
        prose = text[:1].isupper() or text.endswith(".")
        lines += paragraph(lead + text, width, indent) if prose else [line(" " * indent + lead, text)]
    return lines


def worked(offer: RemedyOffer, finding: Finding, width: int) -> list[Line]:
    """How to see that a remedy worked."""
    lines = titled(head("IT WORKED IF"), expectation(offer, finding), width, limit=3)
    return lines + commands(verification(offer), offer.remedy.check, 4)


MOST_SEPARATED = 12
"""With more causes than these, a test does not tell two apart but shows where to look."""


def next_test(one: NextTest, number: int, width: int) -> list[Line]:
    """A next test: what it is, what it takes, its commands, what it tells."""
    lines = titled(Span(f"{number:>3}"), one.probe.title, width, "head", limit=2, indent=5)
    lines.append(line(Span(f"     {probe_terms(one.probe)}", "dim")))
    lines += commands(one.commands, one.probe.run, 7)
    lines += paragraph(one.probe.gives, width, 5, limit=3)
    if len(one.separates) > MOST_SEPARATED:
        lines += paragraph(f"Bears on {len(one.separates)} causes.", width, 5, "dim")
    elif one.separates:
        verb = "Would settle" if len(one.separates) == 1 else "Separates"
        lines += paragraph(f"{verb} {listed(one.separates, 4)}.", width, 5, "dim", limit=2)
    return lines
