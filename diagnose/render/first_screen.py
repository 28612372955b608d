"""The first screen of the text report, in three forms: a fault stands, a state stands, nothing is decided.

No more than 24 lines come before the commands to run.
"""

from __future__ import annotations

from diagnose.render.blocks import command_lines, commands, head, ledger, next_test, quotes, remedy, worked
from diagnose.render.codes import explained_codes
from diagnose.render.evidence import cited, telling, unknowns, unlooked
from diagnose.render.layout import BLANK, LABEL, Line, Span, line, paragraph, row, titled
from diagnose.render.report import (
    INSUFFICIENT,
    Report,
    is_search,
    no_gpu_here,
    outlook,
    standing_faults,
    tests_by_use,
)
from diagnose.render.words import (
    VERDICTS,
    clause_says,
    count,
    listed,
    margin,
    named,
    not_known,
    place,
    probe_terms,
    signed,
    stakes,
    sureness,
)
from engine.result import Diagnosis, Finding, LedgerLine, RemedyOffer, SymptomSeen
from kb.rule import LIKELY, Probe

FEWEST_LEDGER_LINES, MOST_LEDGER_LINES = 4, 7
FEWEST_QUOTE_LINES, MOST_QUOTE_LINES = 5, 9
BEFORE_COMMANDS = 24
MOST_UNKNOWN = 3
MOST_COMMAND_LINES = 3
MOST_TESTS_FIRST = 3
MOST_TESTS_OF_SEARCH = 2
MOST_SEEN = 5
MOST_OTHERS = 2


def fault_screen(finding: Finding, report: Report, width: int) -> list[Line]:
    """What is wrong, how sure, the lines, what to run, how to see that it worked, what was not looked at."""
    headline = [*_headline(finding, report, width), BLANK]
    action = _fault_action(finding, report, width)
    room = BEFORE_COMMANDS - len(headline) - _before_commands(action) - len((BLANK, BLANK, "THE LINES"))
    most = FEWEST_LEDGER_LINES if finding.hypothesis.settled else MOST_LEDGER_LINES
    ledger_room = min(most, max(FEWEST_LEDGER_LINES, room - FEWEST_QUOTE_LINES - len(("HOW SURE",))))
    sure = _sure(finding, report, width, ledger_room)
    quote_room = min(MOST_QUOTE_LINES, max(FEWEST_QUOTE_LINES, room - len(sure)))
    lines = _lines(finding, width, quote_room)
    return [*headline, *sure, BLANK, *lines, BLANK, *action, *_not_looked(finding, report, width)]


def _before_commands(action: list[Line]) -> int:
    """How many lines of a block come before its first command."""
    is_command = (any(span.style == "command" for span in one) for one in action)
    return next((number for number, found in enumerate(is_command) if found), len(action))


def state_screen(finding: Finding, report: Report, width: int) -> list[Line]:
    """No fault, and what the machine is doing instead."""
    lines = titled(Span("NO FAULT FOUND", "good"), finding.cause.title, width)
    lines += [line(Span(f"  {VERDICTS[finding.verdict].lower()} · {_about(finding)}", "dim")), BLANK]
    lines += [
        *_sure(finding, report, width, MOST_LEDGER_LINES),
        BLANK,
        *_lines(finding, width, MOST_QUOTE_LINES),
        BLANK,
    ]
    if finding.remedies:
        lines += _action(finding, width)
    return lines + _looked_at(report, width) + _not_looked(finding, report, width)


def undecided_screen(report: Report, width: int) -> list[Line]:
    """That the evidence can't tell, what is seen, and what to run next."""
    diagnosis = report.diagnosis
    possible = [finding for finding in diagnosis.findings if finding.cause.kind == "fault"]
    absent = no_gpu_here(diagnosis)
    codes = explained_codes(diagnosis)
    lines = titled(*_undecided(diagnosis, bool(possible), bool(codes)), width)
    seen = [one for symptom in diagnosis.symptoms[:MOST_SEEN] for one in _seen(symptom, width)]
    for code in codes[:MOST_SEEN] if not seen else ():
        seen += row(Span("·"), f"{code.code}: {code.means}", place(code.evidence[0].source), width)
    seen += [one for says in _looked_and_absent(diagnosis) for one in row(Span("·"), says, "", width)]
    lines += [BLANK, line(head("SEEN")), *seen] if seen else []
    lines += [BLANK, *(_where_the_gpus_are(width) if absent else _run_next(report, width))]
    if possible:
        lines += [BLANK, line(head("POSSIBLE CAUSES"), Span(f"  likely begins at {signed(LIKELY)}", "dim"))]
    for finding in possible:
        text = f"{named(finding.cause)}: {finding.cause.title}"
        lines += row(Span(signed(finding.hypothesis.score)), text, "", width)
    return lines


def _undecided(diagnosis: Diagnosis, possible: bool, codes: bool) -> tuple[Span, str]:
    """The headline where nothing is decided, and what stands beside it."""
    if no_gpu_here(diagnosis):
        return Span("NO NVIDIA GPU HERE", "warn"), "This machine has none, so that nothing can be said of one."
    if not (diagnosis.observed or diagnosis.symptoms or possible):
        text = "No reader knows what was handed over. `diagnose facts` lists what became of each file."
        return Span("NOTHING UNDERSTOOD", "warn"), text
    if diagnosis.symptoms or possible:
        return Span("THE EVIDENCE CAN'T TELL", "warn"), "No cause is confirmed or likely."
    if codes:
        return Span("THE EVIDENCE CAN'T TELL", "warn"), "Errors are there that no cause known here explains."
    text = "But the evidence does not suffice to call the machine healthy."
    return Span("NO FAULT FOUND", "warn"), text


def _where_the_gpus_are(width: int) -> list[Line]:
    """What to do where the evidence is of a machine without a GPU."""
    text = "Collect on the machine that has the GPUs. If it is this one, ask whether PCI sees them:"
    return [
        *titled(head("RUN THIS NEXT"), text, width),
        *commands(["lspci -nn -d 10de:", "diagnose collect"], [], 4),
    ]


def _looked_and_absent(diagnosis: Diagnosis) -> list[str]:
    """What was looked for and is not there, as far as it speaks for the evidence being insufficient."""
    return [
        one.says
        for finding in diagnosis.findings
        if finding.cause.cause == INSUFFICIENT
        for one in finding.hypothesis.ledger
        if one.side == "for" and one.truth == "true" and not one.evidence
    ]


def _seen(symptom: SymptomSeen, width: int) -> list[Line]:
    evidence = cited(symptom.evidence)
    return row(Span("·"), symptom.rule.title, place(evidence[0].source) if evidence else "", width)


def _run_next(report: Report, width: int) -> list[Line]:
    tests = report.diagnosis.next_tests
    if not tests:
        lines = titled(head("RUN THIS NEXT"), "Collect on the machine itself while the fault is there.", width)
        return [*lines, *commands(["diagnose collect"], [], 4)]
    lines = [line(head("RUN THIS NEXT"))]
    for number, one in enumerate(tests[:MOST_TESTS_FIRST], 1):
        lines += next_test(one, number, width)
    return lines


def _headline(finding: Finding, report: Report, width: int) -> list[Line]:
    style = "bad" if finding.verdict == "confirmed" else "warn"
    lines = titled(Span(VERDICTS[finding.verdict], style), finding.cause.title, width, "head", limit=3)
    lines += paragraph(_about(finding), width, 2, "dim", limit=2)
    titles = {seen.rule.symptom: seen.rule.title for seen in report.diagnosis.symptoms}
    if finding.explains:
        explained = "; ".join(titles.get(one, one) for one in finding.explains)
        lines += paragraph(f"Explains: {explained}", width, 2, limit=2)
    return lines + _others(finding, report, width)


def _about(finding: Finding) -> str:
    return " · ".join([named(finding.cause), *finding.subjects])


def _others(finding: Finding, report: Report, width: int) -> list[Line]:
    """The other standing faults, a line each, so that none is below the first screen unannounced."""
    rivals = {rival.cause: rival for rival in finding.rivals}
    others = standing_faults(report.diagnosis)[1:]
    same = [one.hypothesis.about for one in others if one.cause.cause == finding.cause.cause]
    lines = paragraph(f"The same for {listed(same, 4)}", width, 2, limit=1) if same else []
    others = [one for one in others if one.cause.cause != finding.cause.cause]
    for other in others[:MOST_OTHERS]:
        rival = rivals.get(other.cause.cause)
        lead = f"Rival ({margin(rival)})" if rival else "A separate fault, below"
        lines += paragraph(f"{lead}: {other.cause.title}", width, 2, limit=1)
    return lines


def _sure(finding: Finding, report: Report, width: int, limit: int) -> list[Line]:
    return [
        *titled(head("HOW SURE"), sureness(finding), width),
        *ledger(finding, report, width, limit),
    ]


def _lines(finding: Finding, width: int, limit: int) -> list[Line]:
    return [line(head("THE LINES")), *quotes(telling(finding.hypothesis), width, limit)]


def _fault_action(finding: Finding, report: Report, width: int) -> list[Line]:
    if is_search(finding, report.diagnosis):
        lines = titled(head("RUN THIS NEXT"), "What is behind it does not show yet; these tests tell.", width)
        for number, one in enumerate(report.diagnosis.next_tests[:MOST_TESTS_OF_SEARCH], 1):
            lines += next_test(one, number, width)
        return [*lines, BLANK]
    return _action(finding, width) if finding.remedies else _no_remedy(report, finding, width)


def _action(finding: Finding, width: int) -> list[Line]:
    first, *others = finding.remedies
    title = "RUN THIS" if first.remedy.lasting else "RUN THIS (workaround)"
    lines = remedy(first, head(title), width)
    for number, offer in enumerate(others, 2):
        lines += paragraph(f"{other_remedy(offer, first, number)}, below: {offer.do}", width, 2, "dim", limit=2)
    return [*lines, BLANK, *worked(first, finding, width), BLANK]


def other_remedy(offer: RemedyOffer, first: RemedyOffer, number: int) -> str:
    """The name of a further remedy beside the first."""
    if offer.remedy.prevents:
        return f"Remedy {number} (keeps it from coming back)"
    if not offer.remedy.lasting:
        return f"Remedy {number} (workaround)"
    return f"Remedy {number}" if first.remedy.lasting else f"Remedy {number} (the lasting repair)"


def _no_remedy(report: Report, finding: Finding, width: int) -> list[Line]:
    lines = titled(head("RUN THIS"), "No remedy is known for this machine.", width)
    for number, one in enumerate(tests_by_use(report.diagnosis, finding)[:1], 1):
        lines += next_test(one, number, width)
    return [*lines, BLANK]


def _looked_at(report: Report, width: int) -> list[Line]:
    complete = {one.kind for one in report.diagnosis.looked if one.complete}
    files = count(sum(one.files for one in report.inputs), "file")
    text = f"{files}, {count(report.stats.facts, 'fact')}; {count(len(complete), 'kind')} of facts completely."
    return [*titled(head("LOOKED AT"), text, width), BLANK]


def _not_looked(finding: Finding, report: Report, width: int) -> list[Line]:
    """The clauses that are unknown, each with the command that would tell."""
    lines = [one for one in unknowns(finding.hypothesis) if one.could_add]
    if not lines:
        return titled(head("NOT LOOKED AT"), "Nothing that could change this answer.", width)
    if finding.hypothesis.settled:
        text = f"{count(len(lines), 'thing')}, not needed for this answer: diagnose why {finding.cause.cause}"
        return titled(head("NOT LOOKED AT"), text, width, limit=3)
    shown = [part for one in asked_first(finding) for part in _unknown(one, finding, report, width)]
    rest = len(lines) - MOST_UNKNOWN
    more = (
        paragraph(f"and {rest} more: diagnose why {finding.cause.cause}", width, LABEL, "dim") if rest > 0 else []
    )
    return [line(head("NOT LOOKED AT"), Span("  each could change this answer", "dim")), *shown, *more]


def asked_first(finding: Finding) -> list[LedgerLine]:
    """The unknown clauses that the first screen shows."""
    if finding.hypothesis.settled:
        return []
    return [one for one in unknowns(finding.hypothesis) if one.could_add][:MOST_UNKNOWN]


def probe_of(one: LedgerLine, finding: Finding, report: Report) -> Probe | None:
    """The probe that would tell whether a clause is true."""
    return report.probe(one.ask, unlooked(one, finding.hypothesis, report.diagnosis.looked))


def is_short(probe: Probe, report: Report) -> bool:
    """Whether its commands have room on the first screen; otherwise they stand among the next tests."""
    if outlook(report.diagnosis) != "fault" or probe not in [one.probe for one in report.diagnosis.next_tests]:
        return True
    return len(command_lines(probe.run, probe.run)) <= MOST_COMMAND_LINES


def _unknown(one: LedgerLine, finding: Finding, report: Report, width: int) -> list[Line]:
    hypothesis = finding.hypothesis
    lines = row(Span("?", "warn"), clause_says(one, hypothesis), stakes(one, hypothesis), width)
    lines += paragraph(f"({not_known(one)})", width, LABEL, "dim", limit=1)
    probe = probe_of(one, finding, report)
    if probe is None:
        return lines
    if not is_short(probe, report):
        return [*lines, *paragraph(f"See NEXT TESTS: {probe.title}", width, LABEL)]
    lines += commands(report.commands_of(probe.id), probe.run, LABEL + 2)
    return [*lines, *paragraph(probe_terms(probe), width, LABEL, "dim")]
