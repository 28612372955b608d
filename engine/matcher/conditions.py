"""The tests of a pattern, made ready to run: constants in comparable shape, aliases as places in the rule."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from engine.matcher.form import AnyOf, Operator, Pattern, Ref, Rule, Test
from engine.matcher.memory import Known, KnownFact, known

_ORDERS: dict[str, Callable[[Known, Known], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class Condition(NamedTuple):
    """One test, against `constant` or, where `place` is not None, against a field of the fact there."""

    op: Operator
    field: str
    constant: Known | None = None
    place: int | None = None
    other_field: str = ""


class Either(NamedTuple):
    """Alternatives: all conditions of at least one option must hold."""

    options: tuple[tuple[Condition, ...], ...]


AnyCondition: TypeAlias = Condition | Either
Predicate: TypeAlias = Callable[[KnownFact], bool]


class ReadyPattern(NamedTuple):
    """A pattern with its conditions parted: `own` ask about one fact alone, `joins` about other facts too."""

    kind: str
    own: tuple[AnyCondition, ...]
    joins: tuple[AnyCondition, ...]


class ReadyRule(NamedTuple):
    """A rule whose patterns are known by their place; absent patterns refer to the places of the others."""

    rule: Rule
    patterns: tuple[ReadyPattern, ...]
    absent: tuple[ReadyPattern, ...]


def ready(rule: Rule) -> ReadyRule:
    """The rule, made ready. It must have passed `check_rules`."""
    places = {pattern.alias: place for place, pattern in enumerate(rule.patterns)}
    return ReadyRule(
        rule,
        tuple(_ready_pattern(pattern, places) for pattern in rule.patterns),
        tuple(_ready_pattern(pattern, places) for pattern in rule.absent),
    )


def compare(op: Operator, value: Known | None, other: Known | None) -> bool:
    """Whether the operator holds between two values, of which None is one that is unknown."""
    if op == "lacks":
        return value is None
    if value is None:
        return False
    if op == "has":
        return True
    if other is None:
        return False
    if op == "eq":
        return value == other
    if op == "ne":
        return value != other
    return is_number(value) and is_number(other) and _ORDERS[op](value, other)


def is_number(value: Known) -> bool:
    """Whether the value can be ordered."""
    return type(value) is int or type(value) is float


def predicate(condition: AnyCondition) -> Predicate:
    """The condition, which asks about one fact alone, as a function that is quick to call for many."""
    if isinstance(condition, Condition):
        op, field, constant = condition[:3]
        if op == "eq":
            return lambda fact: fact.get(field) == constant
        return lambda fact: compare(op, fact.get(field), constant)
    asked = {(part.op, part.field) for option in condition.options for part in option}
    if len(asked) == 1 == max(map(len, condition.options)) and condition.options[0][0].op == "eq":
        # One field out of a list of values, which is what most alternatives are.
        only, values = condition.options[0][0].field, frozenset(part.constant for (part,) in condition.options)
        return lambda fact: fact.get(only) in values
    options = [[predicate(part) for part in option] for option in condition.options]
    return lambda fact: any(all(part(fact) for part in option) for option in options)


def holds(condition: AnyCondition, fact: KnownFact, bound: Sequence[KnownFact]) -> bool:
    """Whether the condition is true of the fact, beside those bound to the places of the rule."""
    if isinstance(condition, Either):
        return any(all(holds(part, fact, bound) for part in option) for option in condition.options)
    op, field, other, place, other_field = condition
    if place is not None:
        other = bound[place].get(other_field)
    return compare(op, fact.get(field), other)


def places_of(condition: AnyCondition) -> set[int]:
    """The places whose facts the condition compares with."""
    if isinstance(condition, Either):
        return {place for option in condition.options for part in option for place in places_of(part)}
    return set() if condition.place is None else {condition.place}


def _ready_pattern(pattern: Pattern, places: Mapping[str, int]) -> ReadyPattern:
    conditions = [_condition(test, places) for test in pattern.tests]
    return ReadyPattern(
        pattern.kind,
        tuple(condition for condition in conditions if not places_of(condition)),
        tuple(condition for condition in conditions if places_of(condition)),
    )


def _condition(test: Test | AnyOf, places: Mapping[str, int]) -> AnyCondition:
    if isinstance(test, AnyOf):
        return Either(tuple(tuple(_simple(part, places) for part in option) for option in test.options))
    return _simple(test, places)


def _simple(test: Test, places: Mapping[str, int]) -> Condition:
    if isinstance(test.value, Ref):
        return Condition(test.op, test.field, None, places[test.value.alias], test.value.field)
    return Condition(test.op, test.field, known(test.value))
