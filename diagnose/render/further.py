"""What follows the first screen of the text report: consequences, other findings, rivals, tests, gaps."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.render import around
from diagnose.render.blocks import commands, head, next_test, quotes, remedy
from diagnose.render.evidence import telling
from diagnose.render.first_screen import MOST_TESTS_OF_SEARCH, asked_first, is_short, other_remedy, probe_of
from diagnose.render.layout import BLANK, LABEL, Line, Span, line, paragraph, row, titled
from diagnose.render.report import (
    INSUFFICIENT,
    Report,
    consequences,
    is_search,
    no_gpu_here,
    outlook,
    shown,
    standing_faults,
    stands,
    tests_by_use,
)
from diagnose.render.words import VERDICTS, margin, named, place, remedy_terms, signed
from engine.result import Finding

MOST_OTHERS = 4
MOST_SUBJECTS = 8
MOST_TESTS = 3
MOST_ROWS = 8
NEAR = frozenset({"confirmed", "likely", "possible", "contradictory"})


def further(report: Report, width: int, *, everything: bool) -> list[Line]:
    """All sections below the first screen that have something to say."""
    view = outlook(report.diagnosis)
    tested = view != "healthy" and not no_gpu_here(report.diagnosis)
    faults = standing_faults(report.diagnosis) if view == "fault" else []
    sections = [
        *(_of_fault(faults, report, width) if faults else []),
        _states(report, width, skip_first=view in {"healthy", "state"}),
        _possible(report, width, faults) if view != "undecided" else [],
        _weaker(report, width) if everything else [],
        _tests(report, width, faults, skip=_tests_above(report, faults)) if tested else [],
        around.codes(report, width, everything=everything),
        around.contradictions(report, width),
        around.runs(report, width),
        around.earlier(report, width),
        around.differences(report, width),
        around.harmless(report, width, everything=everything),
        around.unexplained(report, width) if view != "undecided" else [],
        around.gaps(report, width),
        around.rules(report, width),
    ]
    return [one for section in sections if section for one in [BLANK, *section]]


def _tests_above(report: Report, faults: Sequence[Finding]) -> int:
    """How many next tests the first screen shows already."""
    if faults:
        return MOST_TESTS_OF_SEARCH if is_search(faults[0], report.diagnosis) else 0
    return MOST_TESTS if outlook(report.diagnosis) == "undecided" else 0


def _of_fault(faults: Sequence[Finding], report: Report, width: int) -> list[list[Line]]:
    first, *rest = faults
    elsewhere = _elsewhere(rest)
    others = [one for one in elsewhere if one != first.cause.cause]
    return [
        _follows(first, report, width),
        _tries(first, width) if is_search(first, report.diagnosis) else _other_remedies(first, width),
        _the_same(elsewhere.get(first.cause.cause, ()), width),
        *(_other_fault(elsewhere[one], first, report, width) for one in others[:MOST_OTHERS]),
        _more_faults([elsewhere[one][0] for one in others[MOST_OTHERS:]], width),
        _rivals(first, [*faults, *consequences(first, report.diagnosis)], report, width),
    ]


def _follows(finding: Finding, report: Report, width: int) -> list[Line]:
    """What only follows from this fault, and what follows from that."""
    found = consequences(finding, report.diagnosis)
    if not found:
        return []
    lines = titled(head("FOLLOWS FROM IT"), "repair the cause above, and these go too", width, "dim")
    for one in found:
        lines += _brief(one, width)
        for next_one in consequences(one, report.diagnosis):
            lines += _brief(next_one, width)
    return lines


def _brief(finding: Finding, width: int) -> list[Line]:
    """A finding in a row or two, with the place of its strongest line."""
    lines = telling(finding.hypothesis)
    where = place(lines[0].source) if lines else ""
    return row(Span("·"), f"{finding.cause.title} ({named(finding.cause)})", where, width, limit=3)


def _tries(finding: Finding, width: int) -> list[Line]:
    """What can be done while the cause behind it is not known, with the commands."""
    lines: list[Line] = []
    for offer in finding.remedies:
        lines += [*([BLANK] if lines else []), *remedy(offer, head("MEANWHILE"), width)]
    return lines


def _other_remedies(finding: Finding, width: int) -> list[Line]:
    """The remedies after the first, with their commands."""
    lines: list[Line] = []
    for number, offer in enumerate(finding.remedies[1:], 2):
        name = other_remedy(offer, finding.remedies[0], number).replace("Remedy", "REMEDY")
        lines += [*([BLANK] if lines else []), *remedy(offer, head(name), width)]
    return lines


def _elsewhere(faults: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The faults of each cause, in order: the same cause may be found in several places."""
    found: dict[str, list[Finding]] = {}
    for one in faults:
        found.setdefault(one.cause.cause, []).append(one)
    return found


def _subjects(findings: Sequence[Finding]) -> str:
    """What findings of one cause are about: a few names, and how many more."""
    names = [subject for one in findings for subject in one.subjects]
    more = len(names) - MOST_SUBJECTS
    return ", ".join(names[:MOST_SUBJECTS]) + (f" and {more} more" if more > 0 else "")


def _the_same(findings: Sequence[Finding], width: int) -> list[Line]:
    """Where else the first cause is found."""
    if not findings:
        return []
    certainty = " or ".join(dict.fromkeys(VERDICTS[one.verdict].lower() for one in findings))
    lines = titled(head("THE SAME ELSEWHERE"), f"{_subjects(findings)} ({certainty})", width, limit=4)
    where = [place(cite[0].source) for one in findings[:MOST_SUBJECTS] if (cite := telling(one.hypothesis))]
    return lines + paragraph(", ".join(where), width, 2, "dim", limit=3)


def _other_fault(findings: Sequence[Finding], first: Finding, report: Report, width: int) -> list[Line]:
    """Another standing fault: what, where, the strongest lines of its first place, its first remedy."""
    finding = findings[0]
    style = "bad" if finding.verdict == "confirmed" else "warn"
    about = " · ".join([named(finding.cause), _subjects(findings), _beside(finding, first)])
    lines = titled(Span(VERDICTS[finding.verdict], style), finding.cause.title, width, "head", limit=3)
    lines += [*paragraph(about, width, 2, "dim", limit=2), *quotes(telling(finding.hypothesis), width, 5)]
    if finding.remedies:
        offer = finding.remedies[0]
        lines += titled(head("  Run:"), offer.do, width, limit=2)
        lines += [
            line(Span(f"    {remedy_terms(offer.remedy)}", "dim")),
            *commands(offer.run, offer.remedy.run, 6),
        ]
    lines += paragraph(f"The proof: diagnose why {finding.cause.cause}", width, 2, "dim")
    return lines + _follows(finding, report, width)


def _beside(finding: Finding, first: Finding) -> str:
    """What a fault is beside the first one."""
    rival = next((one for one in first.rivals if one.cause == finding.cause.cause), None)
    return f"rival of the first, {margin(rival)}" if rival else "a separate fault"


def _more_faults(findings: Sequence[Finding], width: int) -> list[Line]:
    return [line(head("ALSO WRONG")), *_scored(findings, width)] if findings else []


def _rivals(finding: Finding, shown_above: Sequence[Finding], report: Report, width: int) -> list[Line]:
    """Other explanations of the same symptoms, without those that are shown above and the unlikely ones."""
    above = {one.cause.cause for one in shown_above}
    rivals = [one for one in finding.rivals if one.cause not in above]
    near = [one for one in rivals if one.verdict in NEAR][:MOST_ROWS]
    if not near:
        return []
    aside = {one.cause.cause for one in report.diagnosis.weaker if one.yields_to}
    lines = titled(head("OTHER EXPLANATIONS"), "of the same symptoms, and how far behind they are", width, "dim")
    for one in near:
        standing = "a fallback, set aside" if one.cause in aside else VERDICTS[one.verdict].lower()
        lines += row(Span("·"), f"{one.title} ({one.cause})", f"{standing}, {margin(one)}", width)
    more = len(rivals) - len(near)
    return lines + paragraph(f"and {more} less likely: --all", width, LABEL, "dim") if more else lines


def _states(report: Report, width: int, *, skip_first: bool) -> list[Line]:
    states = [one for one in report.diagnosis.findings if one.cause.kind == "state" and stands(one)]
    states = [one for one in states[skip_first:] if one.cause.cause != INSUFFICIENT]
    return [line(head("ALSO SO")), *(part for one in states for part in _brief(one, width))] if states else []


def _possible(report: Report, width: int, faults: Sequence[Finding]) -> list[Line]:
    """Findings that do not stand, without those that are shown as rivals of the first."""
    rivals = {rival.cause for rival in faults[0].rivals} if faults else set()
    weak = [one for one in report.diagnosis.findings if not stands(one) and one.cause.cause not in rivals]
    return [line(head("ALSO POSSIBLE")), *_scored(weak[:MOST_ROWS], width)] if weak else []


def _weaker(report: Report, width: int) -> list[Line]:
    weaker = shown(report.diagnosis, everything=True)[len(report.diagnosis.findings) :]
    return [line(head("WEAKER")), *_scored(weaker, width)] if weaker else []


def _scored(findings: Sequence[Finding], width: int) -> list[Line]:
    lines: list[Line] = []
    for one in findings:
        verdict = VERDICTS[one.verdict].lower()
        label = "-" if one.hypothesis.settled else signed(one.hypothesis.score)
        lines += row(Span(label), f"{one.cause.title} ({named(one.cause)})", verdict, width, limit=3)
    return lines


def _tests(report: Report, width: int, faults: Sequence[Finding], skip: int) -> list[Line]:
    """The next tests that are not shown above: those that the first screen points to before the others."""
    above, pointed = _on_first_screen(faults[0], report) if faults else (set(), set())
    ranked = tests_by_use(report.diagnosis, faults[0] if faults else None)
    ranked.sort(key=lambda one: one.probe.id not in pointed)
    above |= {one.probe.id for one in report.diagnosis.next_tests[:skip]}
    tests = [one for one in ranked if one.probe.id not in above]
    if not tests:
        return []
    lines = [line(head("NEXT TESTS"))]
    for number, one in enumerate(tests[:MOST_TESTS], skip + 1):
        lines += next_test(one, number, width)
    if len(tests) > MOST_TESTS:
        rest = "; ".join(one.probe.title for one in tests[MOST_TESTS:])
        lines += paragraph(f"And {len(tests) - MOST_TESTS} more: {rest}", width, 5, "dim", limit=2)
    return lines


def _on_first_screen(finding: Finding, report: Report) -> tuple[set[str], set[str]]:
    """The probes whose commands the first screen shows, and those that it only points to."""
    asked = [probe_of(one, finding, report) for one in asked_first(finding)]
    probes = [probe for probe in asked if probe is not None]
    above = {probe.id for probe in probes if is_short(probe, report)}
    if not finding.remedies:
        above |= {one.probe.id for one in tests_by_use(report.diagnosis, finding)[:1]}
    return above, {probe.id for probe in probes} - above
