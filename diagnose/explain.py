"""The straight line, whole: evidence → files → readings → combined facts → diagnosis → report."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.combiners import combine
from collectors.open import Opened, open_evidence
from collectors.scan import FileReading, read_all
from diagnose import __version__
from diagnose.render.report import Report, Stats
from engine.session import assess
from kb.evidence import Looked, Observed, Reading
from kb.load import load_rules, shipped_rules
from kb.rule import RuleBase


@dataclass(frozen=True, slots=True)
class Case:
    """One body of evidence, read: what was handed over, what became of each file, and all readings."""

    opened: Opened
    files: tuple[FileReading, ...]
    readings: tuple[Reading, ...]

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
    everything = [*readings, *combine(readings), *opened.unread]
    return Case(opened, tuple(files), tuple(dict.fromkeys(everything)))


def rule_base(directories: Sequence[Path] = ()) -> RuleBase:
    """The shipped rules and those of the given directories. Raises RuleErrors with all their faults."""
    return load_rules(shipped_rules(), *directories)


def explain(paths: Sequence[str], rule_directories: Sequence[Path] = ()) -> Report:
    """The report on this evidence. Raises InputError and RuleErrors."""
    started = time.perf_counter()
    base = rule_base(rule_directories)
    case = read_case(paths)
    diagnosis = assess(base, case.readings)
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
    )
