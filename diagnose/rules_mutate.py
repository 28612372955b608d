"""Mutants of a rule: each differs from it in one place, and should be killed by one of its examples.

A mutant that no example kills shows a clause, a weight or a test of which nobody has said what it is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnose.rules_examples import run_example
from kb.pattern import FieldTest, Operator, Pattern, Patterns
from kb.rule import Cause, Clause, RuleBase, Weight

if TYPE_CHECKING:
    from typing import Literal

    Side = Literal["for_", "against"]

OPPOSITE: dict[Operator, Operator] = {
    "is": "not",
    "not": "is",
    "lt": "ge",
    "ge": "lt",
    "le": "gt",
    "gt": "le",
}
WEAKER: dict[Weight, Weight] = {"conclusive": "strong", "strong": "moderate", "moderate": "weak"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule with one change, and the change in words."""

    cause: Cause
    change: str

    def in_place(self, base: RuleBase) -> RuleBase:
        """The rule base with it in place of the rule."""
        return base.model_copy(update={"causes": {**base.causes, self.cause.cause: self.cause}})


def mutants(cause: Cause) -> Iterator[Mutant]:
    """All mutants of a cause: its tests turned round or left out, its clauses left out, turned or weakened.

    None of them is the same rule by construction: a test that repeats what `requires` asks of the same fact, or
    that a field is known which is tested further, is not left out.
    """
    for patterns, change in _patterns(cause.requires, "requires"):
        if patterns:
            yield Mutant(cause.model_copy(update={"requires": patterns}), change)
    sides: tuple[Side, ...] = ("for_", "against")
    for side in sides:
        clauses: tuple[Clause, ...] = getattr(cause, side)
        for index, clause in enumerate(clauses):
            for changed, change in _clauses(clause, cause.requires):
                rest = (*clauses[:index], *changed, *clauses[index + 1 :])
                yield Mutant(cause.model_copy(update={side: rest}), f"{clause.name}: {change}")
            yield Mutant(_turned(cause, side, index), f"{clause.name}: moved to the other side")


def survivors(base: RuleBase, cause: Cause) -> tuple[list[Mutant], int]:
    """The mutants that no example of the cause notices, and how many there are in all."""
    alive: list[Mutant] = []
    total = 0
    for mutant in mutants(cause):
        total += 1
        changed = mutant.in_place(base)
        if not any(
            run_example(changed, mutant.cause, example, engine="plain").faults for example in cause.examples
        ):
            alive.append(mutant)
    return alive, total


def untold(base: RuleBase, cause: Cause) -> list[str]:
    """The clauses of a cause that no example makes true, and those that none leaves untrue."""
    truths: dict[str, set[str]] = {clause.name: set() for clause in cause.clauses}
    for example in cause.examples:
        finding = run_example(base, cause, example, engine="plain").finding
        for line in finding.hypothesis.ledger if finding else ():
            truths[line.clause].add(line.truth)
    return [f"{name}: no example makes it true" for name, seen in truths.items() if "true" not in seen] + [
        f"{name}: no example has it other than true" for name, seen in truths.items() if seen == {"true"}
    ]


def _turned(cause: Cause, side: Side, index: int) -> Cause:
    """A clause for it speaks against it, and the other way round."""
    other: Side = "against" if side == "for_" else "for_"
    clauses: tuple[Clause, ...] = getattr(cause, side)
    moved = clauses[index]
    rest = (*clauses[:index], *clauses[index + 1 :])
    return cause.model_copy(update={side: rest, other: (*getattr(cause, other), moved)})


def _clauses(clause: Clause, requires: Patterns) -> Iterator[tuple[tuple[Clause, ...], str]]:
    yield (), "left out"
    if clause.weight in WEAKER:
        weaker = WEAKER[clause.weight]
        yield (clause.model_copy(update={"weight": weaker}),), f"{weaker} instead of {clause.weight}"
    if clause.otherwise is not None:
        yield (clause.model_copy(update={"otherwise": None}),), "without its otherwise"
    if clause.unless:
        yield (clause.model_copy(update={"unless": ()}),), "without its unless"
    for number, choice in enumerate(clause.when):
        for patterns, change in _patterns(choice, "when", requires):
            if patterns:
                when = (*clause.when[:number], patterns, *clause.when[number + 1 :])
                yield (clause.model_copy(update={"when": when}),), change


def _patterns(patterns: Patterns, where: str, requires: Patterns = ()) -> Iterator[tuple[Patterns, str]]:
    """The patterns with one test turned round or left out."""
    asked = {(one.binding, test) for one in requires for test in one.tests}
    for place, pattern in enumerate(patterns):
        for index, test in enumerate(pattern.tests):
            name = f"{where} {pattern.binding}.{test.field}"
            is_implied = (pattern.binding, test) in asked or _follows(test, pattern.tests)
            for tests, change in _tests(pattern.tests, index, test, is_implied=is_implied):
                changed = Pattern(binding=pattern.binding, fact=pattern.fact, tests=tests)
                yield (*patterns[:place], changed, *patterns[place + 1 :]), f"{name} {change}"


def _follows(test: FieldTest, tests: Sequence[FieldTest]) -> bool:
    """Whether a test only asks that a field is known which another one compares."""
    return (
        test.op == "known"
        and test.values == (True,)
        and any(one.field == test.field and one.op != "known" for one in tests)
    )


def _tests(
    tests: Sequence[FieldTest], index: int, test: FieldTest, *, is_implied: bool
) -> Iterator[tuple[tuple[FieldTest, ...], str]]:
    before, after = tuple(tests[:index]), tuple(tests[index + 1 :])
    if test.op in OPPOSITE:
        turned = test.model_copy(update={"op": OPPOSITE[test.op]})
        yield (*before, turned, *after), f"{turned.op} instead of {test.op}"
    if not is_implied:
        yield (*before, *after), "not tested"
