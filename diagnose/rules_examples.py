"""Runs the examples inside rules: each must get the verdict that it says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kb.asked import asked_lines
from kb.examples import example_readings
from kb.rule import PRIORS, Cause, Example, RuleBase, Verdict

if TYPE_CHECKING:
    from engine.result import Diagnosis, Finding, LedgerLine
    from kb.evidence import Reading


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """What one example of one cause came to."""

    cause: Cause
    example: Example
    verdict: Verdict
    finding: Finding | None
    """The strongest finding of the cause; None where it was not proposed."""
    reason: str
    """Why it was not proposed."""
    asked: frozenset[str]
    """The probes that are asked for."""

    @property
    def faults(self) -> list[str]:
        """What differs from what the example says; empty where it holds."""
        faults = []
        if self.verdict != self.example.expect:
            faults.append(f"expected {self.example.expect}, got {self.verdict}")
        missing = [probe for probe in self.example.asks if probe not in self.asked]
        if missing:
            found = ", ".join(sorted(self.asked)) or "nothing"
            faults.append(f"expected it to ask for {', '.join(missing)}, it asks for {found}")
        if self.example.says is not None and not any(self.example.says in text for text in self._said()):
            faults.append(f"expected the ledger to say `{self.example.says}`")
        return faults

    def _said(self) -> list[str]:
        lines = self.finding.hypothesis.ledger if self.finding else ()
        return [line.says for line in lines if line.truth == "true"]

    def ledger(self) -> list[str]:
        """The ledger in lines of text, or why there is none."""
        return ledger_of(self.finding) if self.finding else [self.reason or "it was not proposed"]


def ledger_of(finding: Finding) -> list[str]:
    """The prior, the clauses and the sum of a finding, in lines of text."""
    prior, hypothesis = finding.cause.prior, finding.hypothesis
    return [
        f"{PRIORS[prior]:+4}  prior: {prior}",
        *map(_in_words, hypothesis.ledger),
        f"{hypothesis.score:+4}  sum, about {hypothesis.about}",
    ]


def run_example(base: RuleBase, cause: Cause, example: Example, *, engine: str = "auto") -> ExampleRun:
    """The outcome of one example.

    Other causes can change only what states are asked (the outcome of all), so they are left out elsewhere.
    """
    from engine.session import assess_parts
    from engine.weigh import standing

    if cause.kind == "fault":
        base = base.model_copy(update={"causes": {cause.cause: cause}})
    parts = example_parts(example, base)
    diagnosis = assess_parts(base, parts, engine=engine, all_causes=cause.kind == "state")
    findings = [one for one in (*diagnosis.findings, *diagnosis.weaker) if one.cause.cause == cause.cause]
    best = max(findings, key=lambda one: standing(one.hypothesis), default=None)
    reason = diagnosis.not_applicable.get(cause.cause, "")
    return ExampleRun(
        cause=cause,
        example=example,
        verdict=best.verdict if best else _verdict_without_finding(reason),
        finding=best,
        reason=reason,
        asked=_asked(diagnosis, best),
    )


def example_parts(example: Example, base: RuleBase) -> dict[str, tuple[Reading, ...]]:
    """The readings of an example by the machine that they speak of; its log is read as a file would be."""
    stated = tuple(example_readings(example))
    if example.log is None:
        return {"": stated}
    parts = _log_parts(f"example: {example.name}", example.log, asked_lines(base))
    return {name: (*stated, *part) for name, part in parts.items()} or {"": stated}


@lru_cache(maxsize=256)  # for mutants, each of which is tried on it
def _log_parts(path: str, log: str, lines: tuple[str, ...]) -> dict[str, tuple[Reading, ...]]:
    from collectors.content import Content
    from collectors.open import File
    from diagnose.explain import read_files

    return read_files([File(path, Content(log.encode()))], lines)[1]


def _verdict_without_finding(reason: str) -> Verdict:
    return "not-assessed" if reason.startswith("not looked") else "not-applicable"


def _asked(diagnosis: Diagnosis, finding: Finding | None) -> frozenset[str]:
    ledger = finding.hypothesis.ledger if finding else ()
    of_ledger = {line.ask for line in ledger if line.ask}
    return frozenset(of_ledger | {test.probe.id for test in diagnosis.next_tests})


def _in_words(line: LedgerLine) -> str:
    weight = "   ?" if line.truth == "unknown" else f"{line.decibans:+4}"
    note = ", conclusive" if line.conclusive else ""
    tail = f": {line.unknown}" if line.truth == "unknown" else f": {line.says}" if line.truth == "true" else ""
    return f"{weight}  {line.clause} ({line.side}) is {line.truth}{note}{tail}"
