"""The report as Markdown, fit to be pasted into an issue.

Whatever comes from the evidence or is filled in from it passes `neutral`: it can end no fence, open no tag,
and mention nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnose.render.around import pack_in_words
from diagnose.render.blocks import MOST_SEPARATED, command_lines, one_line
from diagnose.render.codes import explained_codes
from diagnose.render.codes import in_words as code_in_words
from diagnose.render.earlier import earlier_events, in_words
from diagnose.render.evidence import (
    Cited,
    absences,
    cited,
    first_line,
    in_order,
    opposing,
    telling,
    unknowns,
    unlooked,
)
from diagnose.render.gaps import unknown_parts
from diagnose.render.harmless import recognised
from diagnose.render.neutral import markdown_code, markdown_fence
from diagnose.render.neutral import markdown_text as text
from diagnose.render.report import (
    INSUFFICIENT,
    Report,
    consequences,
    no_gpu_here,
    outlook,
    shown,
    stands,
)
from diagnose.render.words import (
    REASONS,
    VERDICTS,
    clause_says,
    count,
    expectation,
    margin,
    not_known,
    place,
    probe_terms,
    remedy_terms,
    signed,
    stakes,
    sureness,
    verification,
    weight_label,
)
from engine.result import Finding, LedgerLine, NextTest, RemedyOffer, SymptomSeen

MOST_QUOTES, MOST_AGAINST = 8, 2


def render_markdown(report: Report, *, everything: bool = False) -> str:
    """The report as Markdown; with `everything` the weak causes too."""
    diagnosis = report.diagnosis
    standing = [one for one in diagnosis.findings if stands(one) and one.cause.cause != INSUFFICIENT]
    weak = [one for one in shown(diagnosis, everything=everything) if not stands(one)]
    parts = [
        *_opening(report),
        *(part for one in standing for part in _finding(one, report)),
        *_weak(weak),
        *_symptoms(diagnosis.symptoms),
        *_tests(diagnosis.next_tests),
        *_codes(report, everything=everything),
        *_contradictions(report),
        *_earlier(report),
        *_differences(report),
        *(_harmless(report) if everything else []),
        *_gaps(report),
        *_rules(report),
        *_closing(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(report: Report) -> list[str]:
    view = outlook(report.diagnosis)
    if view in {"healthy", "state"}:
        return ["## No fault found"]
    if no_gpu_here(report.diagnosis):
        return ["## No NVIDIA GPU here", "Collect on the machine that has the GPUs."]
    if view == "undecided":
        diagnosis = report.diagnosis
        suspects = any(finding.cause.kind == "fault" for finding in diagnosis.findings)
        suspicious = diagnosis.symptoms or suspects or explained_codes(diagnosis)
        title = "The evidence can't tell" if suspicious else "No fault found, but not enough to say healthy"
        return [f"## {title}", "No cause is confirmed or likely. The next tests below would tell more."]
    return []


def _finding(finding: Finding, report: Report) -> list[str]:
    cause = finding.cause
    notes = [cause.standing] if cause.status == "deprecated" else []
    about = " · ".join([markdown_code(cause.cause), *map(text, [*notes, *finding.subjects])])
    parts = [f"## {VERDICTS[finding.verdict].capitalize()}: {text(cause.title)}", about]
    if finding.consequence_of:
        parts.append(f"Only follows from {markdown_code(finding.consequence_of)}: repair that.")
    parts += ["### How sure", text(sureness(finding)), _ledger(finding, report)]
    parts += ["### The lines", *_quotes(telling(finding.hypothesis)[:MOST_QUOTES])]
    against = opposing(finding.hypothesis, MOST_AGAINST)
    parts += ["### Against it", *_quotes(against)] if against else []
    parts += _remedies(finding)
    parts += _missing(finding, report)
    rivals = [
        f"- {text(one.title)} ({markdown_code(one.cause)}): {VERDICTS[one.verdict].lower()}, {margin(one)}"
        for one in finding.rivals
        if one.cause not in {follows.cause.cause for follows in consequences(finding, report.diagnosis)}
    ]
    return [*parts, *(["### Other explanations", "\n".join(rivals)] if rivals else [])]


def _ledger(finding: Finding, report: Report) -> str:
    hypothesis = finding.hypothesis
    looked = {one.line.clause: one.where for one in absences(hypothesis, report.diagnosis.looked)}
    rows = [(signed(hypothesis.prior), f"{finding.cause.prior} among the machines that come to us", "")]
    for one in in_order(hypothesis):
        if one.truth == "unknown":
            rows.append(("?", f"{clause_says(one, hypothesis)} ({not_known(one)})", ""))
        else:
            rows.append((weight_label(one), clause_says(one, hypothesis), _place(one, looked.get(one.clause, ()))))
    return _table(("weight", "what", "where"), rows)


def _place(one: LedgerLine, looked: Sequence[str]) -> str:
    source, more = first_line(one)
    if source is None:
        return looked[0] if looked else ""
    return f"{place(source)} (+{more})" if more else place(source)


def _table(head: Sequence[str], rows: Iterable[tuple[str, str, str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "| ---: | --- | --- |"]
    for weight, what, where in rows:
        lines.append(f"| {weight} | {text(what)} | {markdown_code(where, cell=True) if where else ''} |")
    return "\n".join(lines)


def _quotes(lines: Iterable[Cited]) -> list[str]:
    return [f"In {markdown_code(place(one.source))}:\n{markdown_fence(one.source.text)}" for one in lines]


def _remedies(finding: Finding) -> list[str]:
    parts: list[str] = []
    for number, offer in enumerate(finding.remedies, 1):
        kind = "" if offer.remedy.lasting else " (workaround)"
        kind = " (keeps it from coming back)" if offer.remedy.prevents else kind
        parts.append(f"### Remedy {number}{kind}: {text(offer.do)}")
        parts += _remedy(offer, finding)
    return parts


def _remedy(offer: RemedyOffer, finding: Finding) -> list[str]:
    remedy = offer.remedy
    notes = [remedy_terms(remedy).capitalize() + "."]
    notes += [f"Costs: {text(offer.costs)}."] if offer.costs else []
    notes += [f"**Caution:** {text(offer.caution)}"] if offer.caution else []
    parts = [" ".join(notes)]
    parts += [_commands(offer.run, remedy.run)] if offer.run else []
    parts += ["Undo:", _commands(offer.undo, remedy.undo, "")] if offer.undo else []
    parts.append(f"It worked if {text(expectation(offer, finding))}:")
    return [*parts, _commands(verification(offer), remedy.check)]


def _commands(filled: Sequence[str], templates: Sequence[str], language: str = "sh") -> str:
    return markdown_fence("\n".join(command_lines(filled, templates)), language)


def _missing(finding: Finding, report: Report) -> list[str]:
    hypothesis = finding.hypothesis
    items: list[str] = []
    for one in unknowns(hypothesis):
        if not one.could_add:
            continue
        items.append(f"- {text(clause_says(one, hypothesis))}: {text(not_known(one))}; {stakes(one, hypothesis)}")
        kinds = unlooked(one, hypothesis, report.diagnosis.looked)
        commands = report.commands_of(one.ask, kinds)
        items += [_indented(_commands(commands, commands))] if commands else []
    return ["### Not looked at", "\n".join(items)] if items else []


def _indented(block: str) -> str:
    return "\n".join(f"  {one}" for one in block.split("\n"))


def _weak(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    rows = [
        (
            signed(one.hypothesis.score),
            f"{one.cause.title} ({VERDICTS[one.verdict].lower()})",
            one.cause.cause,
        )
        for one in findings
    ]
    return ["## Possible, and weaker", _table(("score", "cause", "id"), rows)]


def _symptoms(symptoms: Sequence[SymptomSeen]) -> list[str]:
    items = []
    for seen in symptoms:
        lines = cited(seen.evidence, limit=1)
        where = f" ({markdown_code(place(lines[0].source))}: {markdown_code(one_line(lines[0]))})" if lines else ""
        explained = "" if seen.explained_by else " **Nothing explains it.**"
        items.append(f"- {text(seen.rule.title)}{where}{explained}")
    return ["## Symptoms", "\n".join(items)] if items else []


def _tests(tests: Sequence[NextTest]) -> list[str]:
    parts = ["## Next tests"] if tests else []
    for number, one in enumerate(tests, 1):
        few = len(one.separates) <= MOST_SEPARATED
        bears_on = ", ".join(map(markdown_code, one.separates)) if few else f"{len(one.separates)} causes"
        parts.append(f"**{number}. {text(one.probe.title)}** ({probe_terms(one.probe)}; for {bears_on})")
        parts.append(_commands(one.commands, one.probe.run))
        parts.append(text(one.probe.gives))
    return parts


def _contradictions(report: Report) -> list[str]:
    parts = ["## Contradictions"] if report.diagnosis.contradictions else []
    for one in report.diagnosis.contradictions:
        parts.append(text(one.title))
        parts += _quotes(cited(one.evidence, limit=4))
    return parts


def _differences(report: Report) -> list[str]:
    items = []
    for one in report.differences:
        values = "; ".join(f"{text(value)} on {text(', '.join(names))}" for value, names in one.machines.items())
        mark = " **Splits the sick from the well.**" if one.splits else ""
        items.append(f"- {text(one.subject)}: {values}{mark}")
    return ["## The machines differ", "\n".join(items)] if items else []


def _earlier(report: Report) -> list[str]:
    items = [f"- {text(in_words(one))}" for one in earlier_events(report.diagnosis)]
    return ["## Before this boot", "\n".join(items)] if items else []


def _harmless(report: Report) -> list[str]:
    items = []
    for one in recognised(report.diagnosis):
        unless = f" Not so if {text(one.unless)}." if one.unless else ""
        where = markdown_code(place(one.evidence[0].source))
        items.append(f"- {text(one.because)}{unless} ({count(one.count, 'line')}, first {where})")
    return ["## Looks bad and is not", "\n".join(items)] if items else []


def _codes(report: Report, *, everything: bool) -> list[str]:
    """What codes mean that no standing cause takes: where no fault stands, or with `everything`."""
    if outlook(report.diagnosis) == "fault" and not everything:
        return []
    items = []
    for one in explained_codes(report.diagnosis):
        probe = report.probe(one.test or None)
        more = f" To learn more: {text(probe.title)} ({markdown_code(probe.id)})." if probe else ""
        items.append(f"- {text(code_in_words(one))}{more} ({markdown_code(place(one.evidence[0].source))})")
    return ["## What the codes mean", "\n".join(items)] if items else []


def _gaps(report: Report) -> list[str]:
    gaps = unknown_parts(report.diagnosis)
    items = [f"- {text(one['what'])} ({REASONS[one['reason']]}): {text(one['consequence'])}" for one in gaps]
    return ["## Not or only partly read", "\n".join(items)] if items else []


def _rules(report: Report) -> list[str]:
    items = [f"- {text(pack_in_words(one))} took part" for one in report.packs]
    for cause, one in sorted(report.overridden.items()):
        why = f" ({text(one.because)})" if one.because else ""
        changes = text(", ".join(one.changes))
        items.append(f"- **{markdown_code(cause)} is overridden:** {changes}{why}, in {markdown_code(one.file)}")
    return ["## Your rules", "\n".join(items)] if items else []


def _closing(report: Report) -> list[str]:
    stats = report.stats
    files = count(sum(one.files for one in report.inputs), "file")
    facts = count(stats.facts, "fact")
    program = f"diagnose {text(report.version)}, {stats.engine} engine"
    return [f"*{program}, {facts} from {files}, {stats.seconds:.1f} s*"]
