"""What lies around the findings of the text report: contradictions, runs, the past, machines, gaps."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.render.blocks import commands, head, quotes
from diagnose.render.codes import explained_codes, shown_tests
from diagnose.render.codes import in_words as code_in_words
from diagnose.render.earlier import earlier_events, in_words
from diagnose.render.evidence import cited
from diagnose.render.gaps import gaps_in_short
from diagnose.render.harmless import recognised
from diagnose.render.layout import LABEL, Line, Span, line, paragraph, row, titled
from diagnose.render.report import Report, outlook
from diagnose.render.words import REASONS, place
from kb.packs import Pack

MOST_EVENTS = 8
MOST_CODES = 6
MOST_GAPS = 6
MOST_DIFFERENCES = 6
MOST_NAMES = 3


def contradictions(report: Report, width: int) -> list[Line]:
    """Causes that one line proves and another refutes, and sources that disagree, with their lines."""
    lines: list[Line] = []
    for finding in (*report.diagnosis.findings, *report.diagnosis.weaker):
        if finding.verdict == "contradictory":
            cause = finding.cause.cause
            text = f"One line proves {cause} and another refutes it: diagnose why {cause}"
            lines += row(Span("!", "bad"), text, "", width)
    by_title = {one.title: one for one in reversed(report.diagnosis.contradictions)}
    for one in list(by_title.values())[::-1][:MOST_EVENTS]:
        lines += row(Span("!", "bad"), one.title, "", width)
        lines += quotes(cited(one.evidence), width, 6, indent=10)
    return [line(Span("CONTRADICTIONS", "bad")), *lines] if lines else []


def runs(report: Report, width: int) -> list[Line]:
    """Files with several runs: which one this is about."""
    lines: list[Line] = []
    for path, runs in report.runs.items():
        told = f"{path} holds {runs} runs of the job; this is about the last (--run 1 for the first)"
        lines += titled(head("RUNS") if not lines else Span(""), told, width, "dim", limit=2)
    return lines


def rules(report: Report, width: int) -> list[Line]:
    """Whose rules took part beside those of this program, and what they changed of these."""
    if not report.packs:
        return []
    lines = titled(head("YOUR RULES"), f"took part: {', '.join(map(pack_in_words, report.packs))}", width, "dim")
    for cause, one in sorted(report.overridden.items()):
        why = f" ({one.because})" if one.because else ""
        told = f"{cause} is overridden: {', '.join(one.changes)}{why}"
        lines += row(Span("!", "bad"), told, one.file, width, limit=3)
    return lines


def pack_in_words(pack: Pack) -> str:
    """Name and version of a directory of rules, and what named it."""
    return f"{pack.name}{' ' if pack.version else ''}{pack.version} ({pack.named_by})"


def earlier(report: Report, width: int) -> list[Line]:
    """What happened before the last boot and not since."""
    events = earlier_events(report.diagnosis)
    if not events:
        return []
    lines = titled(head("BEFORE THIS BOOT"), "accuses nothing today", width, "dim")
    for one in events[:MOST_EVENTS]:
        lines += row(Span("·"), in_words(one), place(one.evidence[0].source), width, limit=3)
    more = len(events) - MOST_EVENTS
    return lines + paragraph(f"and {more} more: --format json", width, LABEL, "dim") if more > 0 else lines


def harmless(report: Report, width: int, *, everything: bool) -> list[Line]:
    """Lines that look bad and are not: with `everything` each kind with the reason, else how many there are."""
    found = recognised(report.diagnosis)
    if not found:
        return []
    total = sum(one.count for one in found)
    told = "1 line looks bad and is not" if total == 1 else f"{total} lines look bad and are not"
    if not everything:
        return titled(head("HARMLESS"), f"{told}: --all shows why", width, "dim")
    lines = titled(head("HARMLESS"), told, width, "dim")
    for one in found:
        unless = f" Not so if {one.unless}." if one.unless else ""
        lines += row(Span("·"), f"{one.because}{unless}", place(one.evidence[0].source), width, limit=4)
        lines += quotes(cited(one.evidence, limit=1), width, 1, indent=10)
    return lines


def differences(report: Report, width: int) -> list[Line]:
    """In what the machines differ; what splits the sick from the well is marked."""
    if not report.differences:
        return []
    legend = "* splits the sick ones from the well" if any(one.splits for one in report.differences) else ""
    lines = titled(head("THE MACHINES DIFFER"), legend, width, "dim")
    for one in report.differences[:MOST_DIFFERENCES]:
        values = "; ".join(f"{value} on {_names(names)}" for value, names in one.machines.items())
        label = Span("*", "bad") if one.splits else Span("·")
        lines += row(label, f"{one.subject}: {values}", place(one.evidence[0].source), width, limit=3)
    more = len(report.differences) - MOST_DIFFERENCES
    return lines + paragraph(f"and {more} more: --format json", width, LABEL, "dim") if more > 0 else lines


def _names(names: Sequence[str]) -> str:
    """A few names of machines, or how many there are."""
    plain = [name.removeprefix("host ") for name in names]
    return ", ".join(plain) if len(plain) <= MOST_NAMES else f"{len(plain)} machines"


def unexplained(report: Report, width: int) -> list[Line]:
    """Symptoms that no standing cause explains."""
    lines: list[Line] = []
    for seen in report.diagnosis.symptoms:
        if not seen.explained_by:
            evidence = cited(seen.evidence)
            where = place(evidence[0].source) if evidence else ""
            lines += row(Span("·"), f"{seen.rule.title} ({seen.about})", where, width)
    return [line(head("NOT EXPLAINED")), *lines] if lines else []


def codes(report: Report, width: int, *, everything: bool) -> list[Line]:
    """What codes mean that no standing cause takes: where no fault stands, or with `everything`."""
    found = explained_codes(report.diagnosis)
    if not found or (outlook(report.diagnosis) == "fault" and not everything):
        return []
    lines = titled(head("WHAT THE CODES MEAN"), "by their catalogues; accuses nothing by itself", width, "dim")
    for one in found[:MOST_CODES]:
        lines += row(Span("·"), code_in_words(one), place(one.evidence[0].source), width, limit=5)
    if len(found) > MOST_CODES:
        lines += paragraph(f"and {len(found) - MOST_CODES} more: --format json", width, LABEL, "dim")
    for test in shown_tests(found[:MOST_CODES]):
        probe = report.probe(test)
        if probe is not None and probe.id not in {one.probe.id for one in report.diagnosis.next_tests}:
            lines += paragraph(f"To learn more: {probe.title}", width, LABEL, "dim")
            lines += commands(report.commands_of(test), probe.run, LABEL + 2)
    return lines


def gaps(report: Report, width: int) -> list[Line]:
    """What was looked for only in part or could not be read, and what follows."""
    parts = gaps_in_short(report.diagnosis)
    if not parts:
        return []
    lines = [line(head("NOT OR ONLY PARTLY READ"))]
    for one in parts[:MOST_GAPS]:
        lines += row(Span("·"), f"{one['what']}: {one['consequence']}", REASONS[one["reason"]], width, limit=3)
    if len(parts) > MOST_GAPS:
        lines += paragraph(f"and {len(parts) - MOST_GAPS} more: diagnose facts", width, LABEL, "dim")
    return lines
