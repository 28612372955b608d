"""A comparison as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diagnose.render.json_report import report_json
from diagnose.render.layout import BLANK, Line, paragraph, show, width_of
from diagnose.render.report import Report, stands

if TYPE_CHECKING:
    from rich.console import Console

    from diagnose.compare import Comparison, Step

MOST_CHANGES = 20
MARK = {"went": "-", "came": "+", "stayed": "="}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as one JSON object: the report of each body of evidence, and the steps between them."""
    return {
        "schema": "diagnose.comparison/1",
        "inputs": list(comparison.names),
        "reports": [report_json(report) for report in comparison.reports],
        "steps": [_step_json(step) for step in comparison.steps],
    }


def _step_json(step: Step) -> dict[str, Any]:
    return {
        "before": step.before,
        "after": step.after,
        "story": list(step.story),
        "causes": [{"id": c.cause, "title": c.title, "fate": c.fate, "why": c.why} for c in step.causes],
        "symptoms": dict(step.symptoms),
        "facts": [
            {
                "subject": change.subject,
                "before": change.before,
                "after": change.after,
                "sources": [
                    {
                        "path": o.source.path,
                        "line": o.source.line,
                        "end_line": o.source.end_line,
                        "sha256": o.source.sha256,
                    }
                    for observed in change.evidence
                    for o in observed.roots()[:1]
                ],
            }
            for change in step.facts
        ],
        "looked_at_first": list(step.looked_at_first),
        "not_looked_at_again": list(step.not_looked_at_again),
    }


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Prints what each body of evidence comes to, and what changed from one to the next."""
    width = width_of(console)
    lines: list[Line] = []
    for name, report in zip(comparison.names, comparison.reports, strict=True):
        lines += paragraph(f"{name}: {_answer(report)}", width, 0, "head")
    for step in comparison.steps:
        lines += [BLANK, *_step_lines(step, width)]
    show(lines, console)


def _step_lines(step: Step, width: int) -> list[Line]:
    lines = paragraph(f"From {step.before} to {step.after}", width, 0, "head")
    for sentence in step.story or ("Nothing that counts has changed.",):
        lines += paragraph(sentence, width, 2, "head")
    for change in step.causes:
        lines += paragraph(f"{MARK[change.fate]} {change.cause} {change.fate}: {change.why}", width, 2)
    for fact in step.facts[:MOST_CHANGES]:
        text = f"{fact.subject}: {fact.before or 'not there'} → {fact.after or 'not there'}"
        lines += paragraph(text, width, 4, "dim")
    if len(step.facts) > MOST_CHANGES:
        lines += paragraph(f"and {len(step.facts) - MOST_CHANGES} more facts: --format json", width, 4, "dim")
    if step.looked_at_first:
        lines += paragraph(f"looked at for the first time: {_kinds(step.looked_at_first)}", width, 4, "dim")
    if step.not_looked_at_again:
        lines += paragraph(f"not looked at again: {_kinds(step.not_looked_at_again)}", width, 4, "dim")
    return lines


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(kind.replace("_", " ") for kind in kinds)


def _answer(report: Report) -> str:
    for finding in report.diagnosis.findings:
        if stands(finding):
            return f"{finding.cause.cause} ({finding.verdict})"
    return "nothing likely"
