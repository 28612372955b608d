"""The report for a terminal, written for a tired engineer at three in the morning.

The first screen answers, in this order: what is wrong, how sure, which lines show it, what to run, how to see
that it worked, and what was not looked at. Everything else follows, shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnose.render.first_screen import fault_screen, state_screen, undecided_screen
from diagnose.render.further import further
from diagnose.render.layout import BLANK, Line, Span, line, paragraph, show, width_of
from diagnose.render.report import Report, outlook, standing_faults, stands
from diagnose.render.words import VERDICTS, count, named
from engine.result import Finding

if TYPE_CHECKING:
    from rich.console import Console


def render_text(report: Report, console: Console, *, quiet: bool = False, everything: bool = False) -> None:
    """Prints the report. `quiet`: one line for each cause that stands; `everything`: the weak causes too."""
    if quiet:
        show(quiet_lines(report), console)
        return
    width = width_of(console)
    show(
        [
            *_first_screen(report, width),
            *further(report, width, everything=everything),
            *_last_line(report, width),
        ],
        console,
    )


def quiet_lines(report: Report) -> list[Line]:
    """One line for each confirmed or likely cause; where no fault stands, that first."""
    standing = [finding for finding in report.diagnosis.findings if stands(finding)]
    view = outlook(report.diagnosis)
    if view == "fault":
        return [_quiet(finding) for finding in standing if finding.cause.kind == "fault"]
    if view == "undecided":
        return [
            line(
                Span("The evidence can't tell.", "warn"),
                f" {count(len(report.diagnosis.next_tests), 'test')} would.",
            )
        ]
    return [line(Span("No fault found.", "good")), *(_quiet(finding) for finding in standing)]


def _quiet(finding: Finding) -> Line:
    follows = f" (follows from {finding.consequence_of})" if finding.consequence_of else ""
    subjects = f" [{', '.join(finding.subjects)}]" if finding.subjects else ""
    verdict = VERDICTS[finding.verdict].lower()
    return line(Span(verdict, "bad"), f"  {named(finding.cause)}  {finding.cause.title}{subjects}{follows}")


def _first_screen(report: Report, width: int) -> list[Line]:
    view = outlook(report.diagnosis)
    if view == "fault":
        return fault_screen(standing_faults(report.diagnosis)[0], report, width)
    if view == "undecided":
        return undecided_screen(report, width)
    first = next(finding for finding in report.diagnosis.findings if stands(finding))
    return state_screen(first, report, width)


def _last_line(report: Report, width: int) -> list[Line]:
    stats = report.stats
    files = sum(one.files for one in report.inputs)
    parts = [
        f"diagnose {report.version}",
        f"{stats.engine} engine",
        count(stats.facts, "fact"),
        count(files, "file"),
        f"{stats.seconds:.1f} s",
    ]
    return [BLANK, *paragraph(" · ".join(parts), width, style="dim")]
