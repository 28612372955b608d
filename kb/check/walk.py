"""Walks over rules: every pattern with the place it stands at and what is bound before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from kb.errors import RuleError
from kb.rule import Cause, Clause, FieldTest, Filling, Pattern, Patterns, Probe, Remedy, SymptomRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kb.load import Item, LoadedRules, Located

Keys: TypeAlias = tuple[str | int, ...]
Role: TypeAlias = Literal["requires", "when", "unless"]
Part: TypeAlias = Clause | Remedy | Filling


@dataclass(frozen=True, slots=True)
class Use:
    """One pattern of one rule.

    `bound` are the bindings that it may refer to, `before` those that were there when it came, each with its
    fact kind. They differ where a pattern repeats a binding: it is tested where that was bound first.
    """

    rule: Located[Item]
    role: Role
    pattern: Pattern
    keys: Keys
    bound: Mapping[str, str]
    before: Mapping[str, str]

    def error_at_binding(self, message: str) -> RuleError:
        """A fault in the name of the binding."""
        return RuleError(self.rule.place(*self.keys, key=True), message)

    def error(self, message: str, *keys: str | int, key: bool = False) -> RuleError:
        """A fault at these keys below the pattern's fact kind; without any, at the kind itself."""
        return RuleError(self.rule.place(*self.keys, self.pattern.fact, *keys, key=key or not keys), message)

    def error_at(self, test: FieldTest, message: str, index: int = 0) -> RuleError:
        """A fault in one value of a test."""
        keys = (test.field,) if test.op == "is" else (test.field, test.op)
        return self.error(message, *keys, index)


def uses(loaded: LoadedRules) -> Iterator[Use]:
    """Every pattern of every rule, in the order of the files."""
    for rule in loaded.items:
        yield from uses_of(rule)


def uses_of(rule: Located[Item]) -> Iterator[Use]:
    """Every pattern of one rule."""
    item = rule.item
    if isinstance(item, Cause):
        yield from _in_order(rule, "requires", item.requires, ("requires",), {})
        for keys, part in parts_of(item):
            yield from _of_choices(rule, part.when, part.unless, keys, bindings(item.requires))
    elif isinstance(item, SymptomRule):
        yield from _of_choices(rule, item.when, item.unless, (), {})
    elif isinstance(item, Probe):
        for index, choice in enumerate(item.free_when):
            yield from _in_order(rule, "when", choice, ("free_when", index), {})
        for keys, filling in fillings_of(item):
            yield from _of_choices(rule, filling.when, filling.unless, keys, {})


def fillings_of(probe: Probe) -> Iterator[tuple[Keys, Filling]]:
    """What fills in the words of a probe, each with the keys that lead to it."""
    for index, filling in enumerate(probe.fill):
        yield ("fill", index), filling


def parts_of(cause: Cause) -> Iterator[tuple[Keys, Part]]:
    """The clauses and remedies of a cause, each with the keys that lead to it."""
    for side, clauses in (("for", cause.for_), ("against", cause.against)):
        for clause in clauses:
            yield (side, clause.name), clause
    for index, remedy in enumerate(cause.remedies):
        yield ("remedies", index), remedy


def bindings(patterns: Patterns) -> dict[str, str]:
    """The fact kind of each binding."""
    return {pattern.binding: pattern.fact for pattern in patterns}


def bound_in_all(choices: tuple[Patterns, ...], before: Mapping[str, str]) -> dict[str, str]:
    """The bindings that hold whichever of the alternatives matches, those from before among them."""
    if not choices:
        return dict(before)
    first, *others = [bindings(choice) for choice in choices]
    shared = {name: kind for name, kind in first.items() if all(other.get(name) == kind for other in others)}
    return {**shared, **before}


def _of_choices(
    rule: Located[Item], when: tuple[Patterns, ...], unless: Patterns, keys: Keys, before: Mapping[str, str]
) -> Iterator[Use]:
    for index, choice in enumerate(when):
        yield from _in_order(rule, "when", choice, (*keys, "when", index), before)
    bound = bound_in_all(when, before)
    for pattern in unless:
        yield Use(rule, "unless", pattern, (*keys, "unless", pattern.binding), bound, bound)


def _in_order(
    rule: Located[Item], role: Role, patterns: Patterns, keys: Keys, before: Mapping[str, str]
) -> Iterator[Use]:
    bound = dict(before)
    for pattern in patterns:
        names = list(bound)
        known = names[: names.index(pattern.binding)] if pattern.binding in bound else names
        reachable = {name: bound[name] for name in known}
        yield Use(rule, role, pattern, (*keys, pattern.binding), reachable, dict(bound))
        bound.setdefault(pattern.binding, pattern.fact)
