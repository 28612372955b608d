"""Which mechanisms of a cause have an example: each alternative of a strong or conclusive clause for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnose.rules_examples import ExampleRun, run_example

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.rule import Cause, Clause, RuleBase

HEAVY = frozenset({"strong", "conclusive"})


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One alternative of a clause, counted from 1, and whether examples show it."""

    clause: str
    alternative: int
    of: int
    """How many alternatives the clause has."""
    seen: bool
    """It is true in some example."""

    def __str__(self) -> str:
        return self.clause if self.of == 1 else f"{self.clause}, alternative {self.alternative}"


def mechanisms(base: RuleBase, cause: Cause) -> list[Mechanism]:
    """All mechanisms of a cause, in the order of the file."""
    split = cause.model_copy(update={"for_": tuple(part for clause in cause.for_ for part in _parts(clause))})
    base = base.model_copy(update={"causes": {**base.causes, cause.cause: split}})
    seen = {name for example in cause.examples for name in _true(run_example(base, split, example))}
    return [
        Mechanism(clause.name, number, len(clause.when), _name(clause, number) in seen)
        for clause in cause.for_
        if clause.weight in HEAVY
        for number in range(1, len(clause.when) + 1)
    ]


def _true(run: ExampleRun) -> set[str]:
    """The clauses that hold in an example."""
    lines = run.finding.hypothesis.ledger if run.finding else ()
    return {line.clause for line in lines if line.truth == "true"}


def _parts(clause: Clause) -> Iterator[Clause]:
    """The clause, one for each of its alternatives."""
    if len(clause.when) < 2:
        yield clause
        return
    for number, when in enumerate(clause.when, 1):
        yield clause.model_copy(update={"name": _name(clause, number), "when": (when,)})


def _name(clause: Clause, number: int) -> str:
    return clause.name if len(clause.when) < 2 else f"{clause.name}/{number}"
