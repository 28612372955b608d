"""The check of rules before they run: a mistake in a rule must never look like a rule that did not match."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from engine.matcher.form import AnyOf, Head, Operator, Pattern, Ref, Rule, RuleSetError, Test

_OPERATORS = frozenset(get_args(Operator))
_UNARY = frozenset({"has", "lacks"})
_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


def check_rules(rules: Sequence[Rule]) -> None:
    """Returns when all rules are well formed.

    Raises RuleSetError with every problem found: names used twice, rules without patterns, references to
    aliases that are not bound yet, comparisons that cannot mean anything.
    """
    problems = [f"two rules are named {name!r}" for name in _repeated(rule.name for rule in rules)]
    for rule in rules:
        problems += [f"rule {rule.name!r}: {problem}" for problem in _of_rule(rule)]
    if problems:
        raise RuleSetError("\n".join(problems))


def _of_rule(rule: Rule) -> Iterator[str]:
    if not rule.patterns:
        yield "it has no pattern; absence alone has nothing to be absent from"
    for alias in _repeated(pattern.alias for pattern in (*rule.patterns, *rule.absent)):
        yield f"the alias {alias!r} is used twice"
    bound: set[str] = set()
    for pattern in rule.patterns:
        yield from _of_pattern(pattern, bound)
        bound.add(pattern.alias)
    for pattern in rule.absent:
        yield from _of_pattern(pattern, bound)
    if rule.head is not None:
        yield from _of_head(rule.head, bound)


def _of_pattern(pattern: Pattern, bound: set[str]) -> Iterator[str]:
    if type(pattern.kind) is not str:
        yield f"pattern {pattern.alias!r}: the kind {pattern.kind!r} is not a string"
    for test in pattern.tests:
        if isinstance(test, AnyOf):
            if not test.options or not all(test.options):
                yield f"pattern {pattern.alias!r}: alternatives without a test"
            tests = [inner for option in test.options for inner in option]
        else:
            tests = [test]
        for inner in tests:
            for problem in _of_test(inner, bound):
                yield f"pattern {pattern.alias!r}, field {inner.field!r}: {problem}"


def _of_test(test: Test, bound: set[str]) -> Iterator[str]:
    if test.op not in _OPERATORS:
        yield f"unknown operator {test.op!r}; there are {', '.join(sorted(_OPERATORS))}"
    elif test.op in _UNARY:
        if test.value is not None:
            yield f"{test.op!r} takes no value, found {test.value!r}"
    elif isinstance(test.value, Ref):
        yield from _of_reference(test.value, bound)
    elif test.value is None:
        yield f"{test.op!r} with nothing is never true; say 'has' or 'lacks'"
    elif type(test.value) not in _SCALAR_TYPES or (type(test.value) is float and math.isnan(test.value)):
        yield f"cannot compare with {test.value!r}"


def _of_reference(reference: Ref, bound: set[str]) -> Iterator[str]:
    if reference.alias not in bound:
        yield f"{reference.alias}.{reference.field} refers to no earlier pattern"


def _of_head(head: Head, bound: set[str]) -> Iterator[str]:
    if type(head.kind) is not str:
        yield f"head: the kind {head.kind!r} is not a string"
    for field in _repeated(["kind", *(field for field, _ in head.fields)]):
        yield f"head: the field {field!r} is given twice"
    for field, value in head.fields:
        if isinstance(value, Ref):
            for problem in _of_reference(value, bound):
                yield f"head, field {field!r}: {problem}"
        elif type(value) not in _SCALAR_TYPES:
            yield f"head, field {field!r}: {value!r} is not a scalar"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
