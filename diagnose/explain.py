"""The straight line, whole: evidence → files → readings → combined facts → diagnosis → report."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.combine import combine
from collectors.hosts import by_host
from collectors.open import Opened, open_evidence
from collectors.scan import FileReading, read_all
from diagnose import __version__
from diagnose.differences import differences, with_faults
from diagnose.render.report import Report, Stats, stands
from engine.result import Diagnosis, Finding
from engine.session import assess_parts
from kb.errors import InputError, RuleErrors
from kb.evidence import Looked, Observed, Reading
from kb.load import in_order, read_rules, shipped_rules
from kb.packs import Pack, packs
from kb.rule import Cause, RuleBase
from kb.rule_index import diagnosing_rules

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


def read_case(paths: Sequence[str], run: int | None = None) -> Case:
    """The evidence of these inputs; of logs that hold several runs, only that one (1 is the first).

    Raises InputError where there is no evidence, or no such run.
    """
    opened = open_evidence(paths)
    if run is not None:
        from collectors.runs import only_run

        opened.files = only_run(opened.files, run)
    files, readings = read_all(opened.files)
    parts = {
        f"host {host}" if host else "": tuple(dict.fromkeys([*part, *combine(part), *opened.unread]))
        for host, part in by_host(readings).items()
    }
    everything = [reading for part in parts.values() for reading in part]
    return Case(opened, tuple(files), tuple(dict.fromkeys(everything)), parts)


def rule_base(directories: Sequence[Path] = ()) -> RuleBase:
    """The shipped rules and those of the given directories. Raises RuleErrors with all their faults.

    Of what `diagnose rules lint` checks, the rules of a user need only what makes them run at all.
    """
    if not directories:
        return diagnosing_rules()
    from kb.check import links, patterns, texts

    loaded = read_rules(shipped_rules(), *directories)
    needed = (
        patterns.kinds_exist,
        patterns.fields_exist,
        patterns.literals_have_the_type_of_their_field,
        patterns.orderings_compare_what_has_an_order,
        patterns.expressions_are_safe,
        patterns.references_point_back,
        patterns.repeated_bindings_keep_their_kind,
        texts.placeholders_are_bound,
        links.about_is_machine_or_bound,
        links.overrides_change_what_is_there,
    )
    errors = [*loaded.errors, *(error for check in needed for error in check(loaded))]
    if errors:
        raise RuleErrors(sorted(errors, key=in_order))
    return loaded.base


def base_and_packs(directories: Sequence[Path] = ()) -> tuple[RuleBase, tuple[Pack, ...]]:
    """All rules of a run: those of this program, of packages, of the environment, and of the given directories."""
    found = packs(directories, __version__)
    return rule_base([one.path for one in found]), tuple(found)


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
    base, more = base_and_packs(rule_directories)
    return _report(base, more, paths, run, started)


def _report(
    base: RuleBase, more: tuple[Pack, ...], paths: Sequence[str], run: int | None, started: float
) -> Report:
    case = read_case(paths, run)
    diagnosis = assess_parts(base, case.parts)
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
        packs=more,
        overridden=base.overridden,
    )


def asked_about(
    cause: str, paths: Sequence[str], rule_directories: Sequence[Path] = (), run: int | None = None
) -> tuple[Cause, Finding | None, Diagnosis]:
    """A cause by its id, what came of it on this evidence, and the whole diagnosis.

    Raises InputError where there is no such cause, and what `explain` raises.
    """
    started = time.perf_counter()
    base, more = base_and_packs(rule_directories)
    if cause not in base.causes:
        from difflib import get_close_matches

        near = get_close_matches(cause, base.causes, 1)
        hint = f"did you mean {near[0]}?" if near else "`diagnose rules list` shows all"
        raise InputError(f"expected the id of a cause, found {cause!r}; {hint}")
    diagnosis = _report(base, more, paths, run, started).diagnosis
    found = (one for one in (*diagnosis.findings, *diagnosis.weaker) if one.cause.cause == cause)
    return base.causes[cause], next(found, None), diagnosis
