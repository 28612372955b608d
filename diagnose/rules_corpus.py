"""Rules against real cases: what they answer, beside what is right."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.cases import CASE, answers_of
from diagnose.explain import read_case
from diagnose.render.report import HEALTHY, STANDING, stands
from diagnose.rules_examples import ledger_of, run_example
from engine.result import Diagnosis, Finding
from engine.session import assess_parts
from kb.asked import asked_lines
from kb.errors import InputError
from kb.rule import Cause, RuleBase

ACCUSES = 0.5


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What one case came to."""

    name: str
    expected: tuple[str, ...]
    got: str
    accused: tuple[str, ...]
    """Causes that must not be accused and are."""
    told: tuple[str, ...]
    """For a case that is wrong: the ledgers, and the first clause that differs from an example that comes out."""
    seconds: float

    @property
    def faults(self) -> list[str]:
        """What is wrong, in lines; empty where all is right."""
        wrong = [] if self.got in self.expected else [f"expected {' or '.join(self.expected)}, got {self.got}"]
        return wrong + ([f"accused wrongly: {', '.join(self.accused)}"] if self.accused else [])


def corpus_runs(base: RuleBase, directory: Path, ids: Collection[str] | None = None) -> Iterator[CaseRun]:
    """All cases below a directory that have to do with these causes: one is right, or is the answer wrongly.

    Raises InputError where there is no case, or one can't be read.
    """
    folders = (
        [directory] if (directory / CASE).is_file() else sorted(one.parent for one in directory.glob(f"*/{CASE}"))
    )
    if not folders:
        raise InputError(f"{directory}: no case here; expected NAME/case.yaml with NAME/evidence")
    lines = asked_lines(base)
    for folder in folders:
        run = _run(base, folder, lines)
        if ids is None or {*run.expected, *(() if not run.faults else (run.got, *run.accused))} & set(ids):
            yield run


def _run(base: RuleBase, folder: Path, lines: Sequence[str]) -> CaseRun:
    started = time.perf_counter()
    answers = answers_of(folder / CASE)
    expected, must_not = answers.causes, answers.must_not
    diagnosis = assess_parts(base, read_case([str(folder / "evidence")], lines=lines).parts)
    got = diagnosis.findings[0].cause.cause if diagnosis.findings else HEALTHY
    accused = tuple(
        one.cause.cause
        for one in diagnosis.findings
        if one.confidence >= ACCUSES and one.cause.kind == "fault" and one.cause.cause in must_not
    )
    wrong = got not in expected or bool(accused)
    told = tuple(_told(base, diagnosis, expected, got)) if wrong else ()
    return CaseRun(folder.name, expected, got, accused, told, time.perf_counter() - started)


def _told(base: RuleBase, diagnosis: Diagnosis, expected: Sequence[str], got: str) -> Iterator[str]:
    all_findings = (*diagnosis.findings, *diagnosis.weaker)
    for name in dict.fromkeys((*expected, got)):
        found = next((one for one in all_findings if one.cause.cause == name), None)
        if found is None:
            known = "there is no rule for it" if name not in base.causes else "it was not proposed"
            yield f"{name}: {diagnosis.not_applicable.get(name, '') or known}"
            continue
        yield f"{name}: {found.verdict}"
        yield from (f"  {line}" for line in ledger_of(found))
        if name in expected:
            yield f"  {_first_difference(base, found)}"


def _first_difference(base: RuleBase, found: Finding) -> str:
    """The first clause that is otherwise here than in the nearest example that comes out."""
    here = [(line.clause, line.truth, line.unknown) for line in found.hypothesis.ledger]
    examples = _truths(base, found.cause)
    if stands(found):
        return f"it stands as {found.verdict}: another is before it"
    if not examples:
        return "none of its examples comes out"
    name, there = min(examples, key=lambda one: sum(one[1].get(clause) != truth for clause, truth, _ in here))
    for clause, truth, unknown in here:
        if there.get(clause) != truth:
            why = f" ({unknown})" if unknown else ""
            return f"first difference: {clause} is {truth} here{why}, {there.get(clause)} in its example `{name}`"
    return f"no clause differs from its example `{name}`"


def _truths(base: RuleBase, cause: Cause) -> list[tuple[str, dict[str, str]]]:
    """The examples that come out, each with the truth of every clause."""
    runs = [run_example(base, cause, one) for one in cause.examples if one.expect in STANDING]
    return [
        (run.example.name, {line.clause: line.truth for line in run.finding.hypothesis.ledger})
        for run in runs
        if run.finding is not None
    ]
