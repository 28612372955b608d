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
from engine.session import assess_parts
from kb.errors import RuleErrors
from kb.evidence import Looked, Observed, Reading
from kb.load import in_order, load_rules, read_rules, shipped_rules
from kb.rule import RuleBase


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


def read_case(paths: Sequence[str]) -> Case:
    """The evidence of these inputs. Raises InputError where there is none."""
    opened = open_evidence(paths)
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
        return load_rules(shipped_rules())
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
    )
    errors = [*loaded.errors, *(error for check in needed for error in check(loaded))]
    if errors:
        raise RuleErrors(sorted(errors, key=in_order))
    return loaded.base


def explain(paths: Sequence[str], rule_directories: Sequence[Path] = ()) -> Report:
    """The report on this evidence. Raises InputError and RuleErrors."""
    started = time.perf_counter()
    base = rule_base(rule_directories)
    case = read_case(paths)
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
        probes=base.probes,
        differences=differences(case.parts, sick),
    )
