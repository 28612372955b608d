"""A comparison as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from diagnose.render.json_report import report_json
from diagnose.render.neutral import terminal
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
    from rich.padding import Padding
    from rich.text import Text

    def line(text: str, indent: int = 0, style: str = "") -> None:
        console.print(Padding(Text(terminal(text), style=style), (0, 0, 0, indent), expand=False))

    for name, report in zip(comparison.names, comparison.reports, strict=True):
        line(f"{name}: {_answer(report)}", style="bold")
    for step in comparison.steps:
        line("")
        line(f"From {step.before} to {step.after}", style="bold underline")
        for sentence in step.story or ("Nothing that counts has changed.",):
            line(sentence, 2, "bold")
        for change in step.causes:
            line(f"{MARK[change.fate]} {change.cause} {change.fate}: {change.why}", 2)
        _print_facts(step, line)


def _print_facts(step: Step, line: Callable[[str, int], None]) -> None:
    for change in step.facts[:MOST_CHANGES]:
        line(f"{change.subject}: {change.before or 'not there'} → {change.after or 'not there'}", 4)
    if len(step.facts) > MOST_CHANGES:
        line(f"and {len(step.facts) - MOST_CHANGES} more facts (--format json shows all)", 4)
    if step.looked_at_first:
        line(f"looked at for the first time: {_kinds(step.looked_at_first)}", 4)
    if step.not_looked_at_again:
        line(f"not looked at again: {_kinds(step.not_looked_at_again)}", 4)


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(kind.replace("_", " ") for kind in kinds)


def _answer(report: Report) -> str:
    for finding in report.diagnosis.findings:
        if stands(finding):
            return f"{finding.cause.cause} ({finding.verdict})"
    return "nothing likely"
