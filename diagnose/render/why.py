"""Why a cause came out, as a proof tree; and why another did not, with the smallest change that would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diagnose.render.blocks import commands, quotes
from diagnose.render.evidence import opposing
from diagnose.render.gain import Gain, smallest_change
from diagnose.render.layout import BLANK, LABEL, Line, Span, line, paragraph, row, show, titled, width_of
from diagnose.render.report import UNPROPOSED, stands
from diagnose.render.tree import branches, drawn
from diagnose.render.words import (
    VERDICTS,
    clause_says,
    listed,
    named,
    not_known,
    plain_kind,
    signed,
    stakes,
    sureness,
    weight_label,
)
from engine.result import Diagnosis, Finding, Hypothesis, LedgerLine
from kb.rule import LIKELY, Cause

if TYPE_CHECKING:
    from rich.console import Console

MOST_SUBJECTS = 4
NOT_LOOKED = "not looked: "


def render_why(
    finding: Finding, console: Console, *, full: bool = False, diagnosis: Diagnosis | None = None
) -> None:
    """Prints the proof of a finding: each clause with its first line; with `full`, every fact and line.

    The diagnosis, where it is given, tells the titles of symptoms and where absent facts were looked for.
    """
    width = width_of(console)
    cause, hypothesis = finding.cause, finding.hypothesis
    lines = [
        *_title(finding, width),
        *paragraph(" ".join(cause.because.split()), width, 2, "dim"),
        BLANK,
        *drawn(branches(finding, diagnosis, full=full), width, full=full),
        BLANK,
        *_sum(hypothesis, width),
        *paragraph(sureness(finding), width),
    ]
    lines += _standing_beside(finding, width)
    lines += [line(Span(f"  {reference}", "dim")) for reference in cause.references]
    if not full:
        lines.append(line(Span("  Every fact and every line: --full", "dim")))
    show(lines, console)


def render_why_not(cause: Cause, diagnosis: Diagnosis, console: Console) -> None:
    """Prints what failed, what was not looked for, what speaks against a cause, what would make it likely."""
    width = width_of(console)
    found = [one for one in (*diagnosis.findings, *diagnosis.weaker) if one.cause.cause == cause.cause]
    proposed = [one for one in found if one.verdict not in UNPROPOSED]
    lines = titled(Span(named(cause), "head"), cause.title, width, indent=2)
    for finding in proposed[:MOST_SUBJECTS]:
        lines += [BLANK, *_why_not(finding, diagnosis, width)]
    if len(proposed) > MOST_SUBJECTS:
        subjects = [finding.hypothesis.about for finding in proposed[MOST_SUBJECTS:]]
        lines += [BLANK, *paragraph(f"Likewise for {listed(subjects, 6)}.", width)]
    if not proposed:
        lines += [BLANK, *_not_proposed(cause, diagnosis, width)]
    show(lines, console)


def _title(finding: Finding, width: int) -> list[Line]:
    style = "bad" if finding.verdict == "confirmed" else "warn"
    lines = titled(Span(VERDICTS[finding.verdict], style), finding.cause.title, width, "head")
    about = " · ".join([named(finding.cause), *finding.subjects])
    return [*lines, *paragraph(about, width, 2, "dim")]


def _sum(hypothesis: Hypothesis, width: int) -> list[Line]:
    """The sum that a reader can check with a finger."""
    counted = [one.decibans for one in hypothesis.ledger if one.decibans and not one.conclusive]
    terms = [f"{signed(hypothesis.prior)} ({hypothesis.cause.prior})", *map(signed, counted)]
    if hypothesis.settled:
        return paragraph(f"Besides the lines that settle it: {' '.join(terms)}", width, style="dim")
    return paragraph(f"{' '.join(terms)} = {signed(hypothesis.score)}", width, style="head")


def _standing_beside(finding: Finding, width: int) -> list[Line]:
    lines: list[Line] = []
    if finding.consequence_of:
        lines += paragraph(f"It only follows from {finding.consequence_of}: repair that.", width)
    if finding.yields_to:
        lines += paragraph(
            f"It is set aside: {finding.yields_to} explains the same and is the better answer.", width
        )
    return lines


def _why_not(finding: Finding, diagnosis: Diagnosis, width: int) -> list[Line]:
    hypothesis = finding.hypothesis
    lines = titled(Span(VERDICTS[finding.verdict], "warn"), f"{hypothesis.about}: {sureness(finding)}", width)
    lines += _standing_beside(finding, width)
    if stands(finding) and not finding.yields_to:
        return [*lines, *paragraph(f"It did come out: diagnose why {finding.cause.cause}", width)]
    against = [one for one in hypothesis.ledger if one.decibans < 0]
    failed = [one for one in hypothesis.ledger if one.truth == "false" and one.side == "for" and not one.decibans]
    lines += _section("SPEAKS AGAINST IT", [part for one in against for part in _judged(one, hypothesis, width)])
    lines += quotes(opposing(hypothesis), width, 6, LABEL)
    lines += _section("DID NOT COME TRUE", [part for one in failed for part in _judged(one, hypothesis, width)])
    return [*lines, *_open(hypothesis, diagnosis, width)]


def _section(title: str, lines: Sequence[Line]) -> list[Line]:
    return [line(Span(title, "head")), *lines] if lines else []


def _judged(one: LedgerLine, hypothesis: Hypothesis, width: int) -> list[Line]:
    return row(Span(weight_label(one), "against"), clause_says(one, hypothesis), one.clause, width, limit=3)


def _open(hypothesis: Hypothesis, diagnosis: Diagnosis, width: int) -> list[Line]:
    """What was not looked at, and whether that could make the cause likely."""
    unknown = sorted((one for one in hypothesis.ledger if one.truth == "unknown"), key=lambda one: -one.could_add)
    lines: list[Line] = []
    for one in unknown:
        lines += row(Span("?", "warn"), clause_says(one, hypothesis), stakes(one, hypothesis), width)
        lines += paragraph(f"({not_known(one)})", width, LABEL, "dim", limit=2)
    return [*_section("WAS NOT LOOKED AT", lines), *_change(hypothesis, diagnosis, width)]


def _change(hypothesis: Hypothesis, diagnosis: Diagnosis, width: int) -> list[Line]:
    title = Span("WHAT WOULD MAKE IT LIKELY", "head")
    refuted = [one for one in hypothesis.ledger if one.conclusive and one.decibans < 0]
    if refuted:
        return titled(title, "Nothing, as long as what refutes it holds.", width)
    gains, reached = smallest_change(hypothesis)
    if not gains:
        return titled(title, "Nothing that could still be looked at.", width)
    if reached < LIKELY:
        what = f"Nothing: with all of it so, it would come to {signed(reached)}; {signed(LIKELY)} is needed."
        return titled(title, what, width)
    lines = titled(title, "This, if it turns out so:", width)
    for gain in gains:
        lines += _gain(gain, hypothesis, diagnosis, width)
    sure = any(gain.conclusive for gain in gains)
    outcome = "be confirmed" if sure else f"stand at {signed(reached)}, likely from {signed(LIKELY)}"
    return [*lines, *paragraph(f"It would then {outcome}.", width, LABEL)]


def _gain(gain: Gain, hypothesis: Hypothesis, diagnosis: Diagnosis, width: int) -> list[Line]:
    says = clause_says(gain.line, hypothesis)
    says = says if gain.line.side == "for" else f"not so: {says}"
    label = "proves" if gain.conclusive else signed(gain.decibans)
    run = next((test.commands for test in diagnosis.next_tests if test.probe.id == gain.line.ask), ())
    lines = row(Span(label, "for"), says, f"test {gain.line.ask}" if gain.line.ask else "", width)
    return lines + commands(run, [], LABEL + 2)


def _not_proposed(cause: Cause, diagnosis: Diagnosis, width: int) -> list[Line]:
    """A requirement did not match, or was never looked for."""
    reason = diagnosis.not_applicable.get(cause.cause)
    if reason is None:
        return paragraph("It was not weighed in this run, and no reason was kept.", width)
    needed = ", ".join(dict.fromkeys(plain_kind(pattern.fact) for pattern in cause.requires))
    if reason.startswith(NOT_LOOKED):
        lines = titled(Span("NOT ASSESSED", "warn"), plain_kind(reason.removeprefix(NOT_LOOKED)), width)
        lines += paragraph(f"It needs: {needed}.", width, 2)
        return [*lines, *_tests_for(cause, diagnosis, width)]
    lines = titled(Span("DOES NOT APPLY", "warn"), plain_kind(reason), width)
    lines += paragraph(f"It needs: {needed}.", width, 2)
    kinds = {pattern.fact for pattern in cause.requires}
    where = dict.fromkeys(one.where for one in diagnosis.looked if one.kind in kinds and one.complete)
    return [
        *lines,
        *(paragraph(f"Looked for in {listed(list(where), 4)}.", width, 2, "dim") if where else []),
    ]


def _tests_for(cause: Cause, diagnosis: Diagnosis, width: int) -> list[Line]:
    kinds = {pattern.fact for pattern in cause.requires}
    lines: list[Line] = []
    for test in diagnosis.next_tests:
        if kinds & set(test.probe.covers):
            lines += paragraph(f"{test.probe.title}:", width, 2)
            lines += commands(test.commands, test.probe.run, 4)
    return lines
