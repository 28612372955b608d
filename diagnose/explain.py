"""The straight line, whole: evidence → files → readings → combined facts → diagnosis → report."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collectors.combine import combine
from collectors.hosts import by_host
from collectors.open import File, Opened, open_evidence
from collectors.readers.log_lines import line_readers
from collectors.scan import FileReading, read_all
from diagnose import __version__
from diagnose.differences import differences, with_faults
from diagnose.render.report import Report, Stats, stands
from diagnose.run_rules import RunRules, run_rules
from engine.result import Finding
from engine.session import assess_parts
from kb.asked import LINE
from kb.errors import InputError
from kb.evidence import Looked, Observed, Reading, Unread
from kb.rule import Cause, RuleBase

OF_AN_END = frozenset({"run_end", "run_outcome", "process_error", "process_exit"})
"""Kinds of facts that tell that a run of a job came to an end."""


@dataclass(frozen=True, slots=True)
class Case:
    """One body of evidence, read: what was handed over, what became of each file, and all readings."""

    opened: Opened
    files: tuple[FileReading, ...]
    readings: tuple[Reading, ...]
    parts: Mapping[str, tuple[Reading, ...]]
    """The readings by the machine they speak of, `host NAME`; one entry without name where there is only one."""

    @property
    def observed(self) -> list[Observed]:
        """All facts, read and combined."""
        return [reading for reading in self.readings if isinstance(reading, Observed)]

    @property
    def looked(self) -> list[Looked]:
        """All statements of what was looked for."""
        return [reading for reading in self.readings if isinstance(reading, Looked)]


def read_case(paths: Sequence[str], run: int | None = None, lines: Sequence[str] = ()) -> Case:
    """The evidence of these inputs; of logs that hold several runs, only that one (1 is the first).

    `lines`: texts by which rules ask for lines that no reader knows.

    Raises InputError where there is no evidence, or no such run.
    """
    opened = open_evidence(paths)
    if run is not None:
        from collectors.runs import only_run

        opened.files = only_run(opened.files, run)
    files, parts = read_files(opened.files, lines, opened.unread)
    everything = [reading for part in parts.values() for reading in part]
    return Case(opened, files, tuple(dict.fromkeys(everything)), parts)


def read_files(
    files: Sequence[File], lines: Sequence[str] = (), unread: Sequence[Unread] = ()
) -> tuple[tuple[FileReading, ...], dict[str, tuple[Reading, ...]]]:
    """What became of each file, and all readings, those of combiners too, by the machine that they speak of."""
    accounts, readings = read_all(files, line_readers(lines))
    if lines:  # what a log does not show may still have been so
        readings += [Looked(LINE, complete=False, where=one.path, reason="not-collected") for one in files]
    parts = {
        f"host {host}" if host else "": tuple(dict.fromkeys([*part, *combine(part), *unread]))
        for host, part in by_host(readings).items()
    }
    return tuple(accounts), parts


def rule_base() -> RuleBase:
    """The rules of a run for which no others are given. Raises InputError and RuleErrors."""
    return run_rules().base


def _runs(case: Case) -> dict[str, int]:
    """The files that show more than one run, and how many; only files that tell of the end of one are searched."""
    ended = {one.source.path for one in case.observed if one.fact.kind in OF_AN_END}
    if not ended:
        return {}
    from collectors.runs import count_runs

    counts = {file.path: count_runs(file) for file in case.opened.files if file.path in ended}
    return {path: runs for path, runs in counts.items() if runs > 1}


def explain(paths: Sequence[str], rule_directories: Sequence[Path] = (), run: int | None = None) -> Report:
    """The report on this evidence; without `run`, on the last of each log. Raises InputError and RuleErrors."""
    started = time.perf_counter()
    return _report(run_rules(rule_directories), paths, run, started)


def _report(rules: RunRules, paths: Sequence[str], run: int | None, started: float) -> Report:
    case = read_case(paths, run, rules.lines)
    diagnosis = assess_parts(rules.base, case.parts)
    diagnosis = replace(diagnosis, unread=(*rules.left_out, *diagnosis.unread))
    faults = [one for one in diagnosis.findings if one.cause.kind == "fault" and stands(one)]
    sick = set(with_faults((about for one in faults for about in one.subjects), diagnosis.parts))
    return Report(
        diagnosis=diagnosis,
        inputs=tuple(case.opened.inputs),
        version=__version__,
        stats=Stats(
            seconds=time.perf_counter() - started,
            bytes=sum(file.bytes for file in case.files),
            facts=len(diagnosis.observed),
            rules_fired=diagnosis.rules_fired,
            peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            engine=diagnosis.engine,
        ),
        probes=diagnosis.probes,
        differences=differences(case.parts, sick),
        runs={} if run is not None else _runs(case),
        packs=rules.packs,
        overridden=rules.base.overridden,
        rule_faults=rules.warnings,
    )


def asked_about(
    cause: str, paths: Sequence[str], rule_directories: Sequence[Path] = (), run: int | None = None
) -> tuple[Cause, Finding | None, Report]:
    """A cause by its id, what came of it on this evidence, and the whole report.

    Raises InputError where there is no such cause, and what `explain` raises.
    """
    started = time.perf_counter()
    rules = run_rules(rule_directories)
    base = rules.base
    if cause not in base.causes:
        from difflib import get_close_matches

        near = get_close_matches(cause, base.causes, 1)
        hint = f"did you mean {near[0]}?" if near else "`diagnose rules list` shows all"
        raise InputError(f"expected the id of a cause, found {cause!r}; {hint}")
    report = _report(rules, paths, run, started)
    found = (one for one in (*report.diagnosis.findings, *report.diagnosis.weaker) if one.cause.cause == cause)
    return base.causes[cause], next(found, None), report
