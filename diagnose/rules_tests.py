"""Runs what tests rules, examples, cases and mutants, and prints what fails."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import typer

from diagnose.junit import Outcome
from diagnose.render.words import count as counted
from diagnose.rules_corpus import corpus_runs
from diagnose.rules_examples import run_example
from diagnose.rules_mutate import survivors, untold
from diagnose.rules_propose import proposals
from kb.rule import Cause, RuleBase


def tested_examples(base: RuleBase, causes: Sequence[Cause]) -> list[Outcome]:
    """Runs the examples of these causes and prints those that fail."""
    tests = []
    for cause in causes:
        for example in cause.examples:
            started = time.perf_counter()
            run = run_example(base, cause, example)
            told = (*run.faults, "ledger:", *run.ledger()) if run.faults else ()
            tests.append(Outcome(cause.cause, example.name, told, time.perf_counter() - started))
    _print_failed(tests, f"{counted(len(tests), 'example')} of {counted(len(causes), 'cause')}")
    return tests


def tested_cases(base: RuleBase, corpus: Path, ids: Sequence[str] | None) -> list[Outcome]:
    """Runs the cases that have to do with these causes and prints those that are wrong."""
    runs = corpus_runs(base, corpus, ids)
    tests = [Outcome("corpus", run.name, (*run.faults, *run.told), run.seconds) for run in runs]
    _print_failed(tests, counted(len(tests), "case"))
    return tests


def _print_failed(tests: Sequence[Outcome], total: str) -> None:
    failed = [one for one in tests if one.failed]
    for one in failed:
        typer.echo("\n".join([f"FAILED {one.group}: {one.name}", *(f"  {line}" for line in one.failed)]))
    typer.echo(f"{total}, {len(failed)} failed", err=True)


def print_survivors(base: RuleBase, causes: Sequence[Cause], *, propose: bool = False) -> None:
    """Prints the changes that no example notices, cause by cause, and the share of those that one does.

    With `propose` also examples that would notice them.
    """
    alive = total = 0
    for cause in causes:
        mutants, of_cause = survivors(base, cause)
        alive, total = alive + len(mutants), total + of_cause
        changes = (*(one.change for one in mutants), *untold(base, cause))
        typer.echo(f"{cause.cause}: {of_cause - len(mutants)} of {counted(of_cause, 'change')} are noticed")
        typer.echo("".join(f"  {change}\n" for change in changes), nl=False)
        for one in proposals(base, cause, mutants) if propose else ():
            typer.echo(f"  # this example would notice {counted(len(one.notices), 'change')}: {one.notices[0]}, …")
            typer.echo("".join(f"  {line}\n" for line in one.lines()), nl=False)
    share = 100 * (total - alive) // total if total else 100
    typer.echo(f"{counted(total, 'change')} of {counted(len(causes), 'cause')}, {share} % noticed", err=True)
