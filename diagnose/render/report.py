"""What every renderer gets: the diagnosis, what it was drawn from, what it took; and the outlook of it all.

Nothing here knows a format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collectors.open import Input
from diagnose.differences import Difference
from engine.result import Diagnosis, Finding, NextTest
from kb.packs import Pack
from kb.rule import Overridden, Probe, Verdict

Outlook: TypeAlias = Literal["fault", "healthy", "state", "undecided"]

STANDING: frozenset[Verdict] = frozenset({"confirmed", "likely"})
UNPROPOSED: frozenset[Verdict] = frozenset({"not-applicable", "not-assessed"})
HEALTHY = "state.healthy"
INSUFFICIENT = "state.insufficient-evidence"


@dataclass(frozen=True, slots=True)
class Stats:
    """What the run took."""

    seconds: float
    bytes: int
    facts: int
    rules_fired: int
    peak_rss_mb: float
    engine: str


@dataclass(frozen=True, slots=True)
class Report:
    """A diagnosis with all that a renderer needs beside it."""

    diagnosis: Diagnosis
    inputs: Sequence[Input]
    version: str
    stats: Stats
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """All probes of the rule base, so that every unknown clause can name the command that would tell."""

    differences: Sequence[Difference] = ()
    """In what the machines differ, where there are several."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """Files that hold several runs of a job, of which the last was looked at, and how many."""
    packs: Sequence[Pack] = ()
    """Directories with more rules than those of this program."""
    overridden: Mapping[str, Overridden] = field(default_factory=dict)
    """What they change of the causes of this program."""
    rule_faults: Sequence[str] = ()
    """What is wrong with them, a line for each fault."""

    def probe(self, ask: str | None, kinds: Sequence[str] = ()) -> Probe | None:
        """The probe that a clause asks for; where it asks for none, the first that brings one of these kinds."""
        known = {test.probe.id: test.probe for test in self.diagnosis.next_tests} | dict(self.probes)
        if ask is not None:
            return known.get(ask)
        return next((one for one in known.values() if set(kinds) & set(one.covers)), None)

    def commands_of(self, ask: str | None, kinds: Sequence[str] = ()) -> tuple[str, ...]:
        """The commands of that probe; empty where there is none."""
        probe = self.probe(ask, kinds)
        if probe is None:
            return ()
        tests = {test.probe.id: test.commands for test in self.diagnosis.next_tests}
        return tests.get(probe.id, probe.run)


def outlook(diagnosis: Diagnosis) -> Outlook:
    """What the whole comes to: a fault stands, all is well, a state explains it, or nothing is decided."""
    standing = [finding for finding in diagnosis.findings if stands(finding)]
    if any(finding.cause.kind == "fault" for finding in standing):
        return "fault"
    ids = [finding.cause.cause for finding in standing]
    if not ids or INSUFFICIENT in ids:
        return "undecided"
    return "healthy" if ids[0] == HEALTHY else "state"


def no_gpu_here(diagnosis: Diagnosis) -> bool:
    """Whether the machine was searched for GPUs and has none, and the evidence shows no trouble at all."""
    if diagnosis.symptoms or any(finding.cause.kind == "fault" for finding in diagnosis.findings):
        return False
    ledger = [
        line for one in diagnosis.findings if one.cause.cause == INSUFFICIENT for line in one.hypothesis.ledger
    ]
    return any(line.clause == "no-gpu-here" and line.truth == "true" for line in ledger)


def stands(finding: Finding) -> bool:
    """Whether it is confirmed or likely."""
    return finding.verdict in STANDING


def shown(diagnosis: Diagnosis, *, everything: bool) -> tuple[Finding, ...]:
    """The findings of the report; with `everything` also the weaker ones that were proposed at all."""
    if not everything:
        return diagnosis.findings
    return diagnosis.findings + tuple(one for one in diagnosis.weaker if one.verdict not in UNPROPOSED)


def standing_faults(diagnosis: Diagnosis) -> list[Finding]:
    """Confirmed and likely faults that follow from none of the others; the first, where all do."""
    faults = [finding for finding in diagnosis.findings if stands(finding) and finding.cause.kind == "fault"]
    known = {finding.cause.cause for finding in faults}
    return [finding for finding in faults if finding.consequence_of not in known] or faults[:1]


def consequences(finding: Finding, diagnosis: Diagnosis) -> list[Finding]:
    """The findings that only follow from this one."""
    return [one for one in diagnosis.findings if one.consequence_of == finding.cause.cause and one is not finding]


def is_search(finding: Finding, diagnosis: Diagnosis) -> bool:
    """Whether it says only where things got stuck, so that the tests that tell why come before any remedy."""
    return finding.cause.fallback and bool(diagnosis.next_tests)


def tests_by_use(diagnosis: Diagnosis, finding: Finding | None) -> list[NextTest]:
    """The next tests, those that could move this finding first, otherwise in their order."""
    if finding is None:
        return list(diagnosis.next_tests)
    return sorted(diagnosis.next_tests, key=lambda test: finding.cause.cause not in test.separates)
