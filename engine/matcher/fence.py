"""Rules and facts said in the little that durable-rules 2.0.28 does right.

What it does wrong on ordinary input (types coerced, missing properties, alternatives, values of its C types,
hash collisions, tables that overflow) cannot be said in the form that is built here. This module imports
nothing of it.

A field becomes one integer: 0 where it is unknown, the rank of its value among all numbers of the run where
it is a number, and a negative number that stands for its value where it is anything else. So the engine
compares exactly what the rules mean, whatever the size or the text of a value.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from math import prod
from typing import Any, TypeAlias

from engine.matcher.conditions import (
    AnyCondition,
    Condition,
    Either,
    Predicate,
    ReadyPattern,
    ReadyRule,
    is_number,
    predicate,
)
from engine.matcher.form import EngineError, Ref
from engine.matcher.memory import Known, KnownFact, known

EnginePattern: TypeAlias = dict[str, Any]
EngineFact: TypeAlias = dict[str, int | str]

# A fact is offered to all patterns of its kind from a stack of 64 (error 303); kinds share one table of 512,
# which is searched for ever once it is full; a firing has 16 slots (304), a pattern 32 for its joins (113), a
# fact 255 properties (302). Rules are parted over several rulesets to stay below the first two; what exceeds
# one of the others is refused.
PATTERNS_PER_KIND = 60
KINDS_PER_RULESET = 400
RULES_PER_RULESET = 2000
PATTERNS_PER_RULE = 14
JOINS_PER_PATTERN = 24
FIELDS_PER_KIND = 200
# No limit of the engine: alternatives across facts multiply, and the plain matcher needs no copies for them.
VARIANTS_PER_RULE = 256

_ORDERS = {"lt": "$lt", "le": "$lte", "gt": "$gt", "ge": "$gte"}
_RESERVED = ("id", "sid", "kind", "number", "zero", "boot", "sid-0", "$s", "$m", "m")


def fnv(text: str) -> int:
    """The 32-bit hash by which the engine tells names and fact ids apart, and nothing but it."""
    digest = 2166136261
    for byte in text.encode():
        digest = ((digest ^ byte) * 16777619) & 0xFFFFFFFF
    return digest


class Names:
    """Hands out short names of which no two have the same hash."""

    def __init__(self) -> None:
        self._taken = {fnv(name) for name in _RESERVED}
        self._next = 0

    def fresh(self, prefix: str) -> str:
        """A name that the engine can tell from all others given out."""
        while True:
            name = f"{prefix}{self._next}"
            self._next += 1
            digest = fnv(name)
            if digest not in self._taken:
                self._taken.add(digest)
                return name


class Codes:
    """Values as integers, once all numbers of the run are known."""

    def __init__(self, values: Iterable[Known]) -> None:
        numbers = {value for value in values if is_number(value)}
        self._codes: dict[Known, int] = {number: rank for rank, number in enumerate(sorted(numbers), 1)}
        self._others = 0

    def of(self, value: Known | None) -> int:
        """0 for unknown, above it for numbers, in their order, below it for anything else."""
        if value is None:
            return 0
        if value not in self._codes:
            self._others -= 1
            self._codes[value] = self._others
        return self._codes[value]


@dataclass(slots=True)
class Ruleset:
    """Rules that the engine holds together: their patterns by name, and what each stands for."""

    definitions: dict[str, list[EnginePattern]] = field(default_factory=dict)
    rules: dict[str, ReadyRule] = field(default_factory=dict)
    kinds: Counter[int] = field(default_factory=Counter)

    def has_room(self, kinds: Counter[int]) -> bool:
        """Whether a rule with this many patterns for each kind still fits."""
        return (
            len(self.rules) < RULES_PER_RULESET
            and len(self.kinds.keys() | kinds.keys()) <= KINDS_PER_RULESET
            and all(self.kinds[kind] + times <= PATTERNS_PER_KIND for kind, times in kinds.items())
        )

    def add(self, rule: ReadyRule, patterns: list[EnginePattern], kinds: Counter[int]) -> None:
        """Takes a rule in; there must be room."""
        name = f"r{len(self.rules)}"
        self.definitions[name], self.rules[name] = patterns, rule
        self.kinds.update(kinds)


class Fence:
    """Translates the rules and facts of one run. Raises EngineError for what its tables cannot hold."""

    def __init__(self, rules: Sequence[ReadyRule], facts: Sequence[KnownFact]) -> None:
        self._codes = Codes(_values(rules, facts))
        self._names = Names()
        self._kinds: dict[Known, int] = {}
        self._properties: dict[str, str] = {}
        self._fields: defaultdict[Known, set[str]] = defaultdict(set)
        self._choices: defaultdict[Known, dict[Either, tuple[str, Predicate]]] = defaultdict(dict)
        self._told: dict[int, EngineFact] = {}
        for rule in rules:
            self._survey(rule)

    def rulesets(self, group: Iterable[ReadyRule]) -> list[Ruleset]:
        """The rules of one stratum, each in as many variants as it has alternatives across facts."""
        rulesets: list[Ruleset] = []
        for rule in group:
            for variant in _variants(rule):
                patterns = self._patterns(variant)
                kinds = Counter(self._kinds[pattern.kind] for pattern in variant.patterns)
                kinds.update(-self._kinds[pattern.kind] for pattern in variant.absent)
                room = next((ruleset for ruleset in rulesets if ruleset.has_room(kinds)), None)
                if room is None:
                    rulesets.append(room := Ruleset())
                room.add(rule, patterns, kinds)
        return rulesets

    def kind(self, fact: KnownFact, *, shadow: bool) -> int:
        """The kind as a ruleset counts it; 0 where no rule asks for it."""
        kind = self._kinds.get(fact["kind"], 0)
        return -kind if shadow else kind

    def fact(self, number: int, fact: KnownFact, *, shadow: bool) -> EngineFact:
        """The fact as the engine gets it, or its shadow, which only absent patterns see."""
        if number not in self._told:
            told: EngineFact = {"number": number, "zero": 0}
            for name in self._fields[fact["kind"]]:
                told[self._properties[name]] = self._codes.of(fact.get(name))
            for name, choice in self._choices[fact["kind"]].values():
                told[name] = int(choice(fact))
            self._told[number] = told
        return {"kind": self.kind(fact, shadow=shadow), "id": self._names.fresh("f"), **self._told[number]}

    def _survey(self, rule: ReadyRule) -> None:
        """Notes which fields of which kinds the rule asks for, and its alternatives within one fact."""
        for pattern in (*rule.patterns, *rule.absent):
            self._kinds.setdefault(pattern.kind, len(self._kinds) + 1)
            for condition in pattern.own:
                if isinstance(condition, Either) and condition not in self._choices[pattern.kind]:
                    self._choices[pattern.kind][condition] = (self._names.fresh("c"), predicate(condition))
            for condition in (*_simple(pattern.own, whole=True), *_simple(pattern.joins)):
                self._note(pattern.kind, condition.field)
                if condition.place is not None:
                    self._note(rule.patterns[condition.place].kind, condition.other_field)
            if len(self._fields[pattern.kind]) + len(self._choices[pattern.kind]) > FIELDS_PER_KIND:
                raise EngineError(f"more than {FIELDS_PER_KIND} fields of one kind")

    def _note(self, kind: str, name: str) -> None:
        self._fields[kind].add(name)
        if name not in self._properties:
            self._properties[name] = self._names.fresh("v")

    def _patterns(self, rule: ReadyRule) -> list[EnginePattern]:
        if len(rule.patterns) + len(rule.absent) > PATTERNS_PER_RULE:
            raise EngineError(f"more than {PATTERNS_PER_RULE} patterns in one rule")
        patterns = []
        for place, pattern in enumerate(rule.patterns):
            tests, joins = self._tests(pattern, self._kinds[pattern.kind])
            patterns.append({f"c{place}": {"$and": [*tests, *_closed(joins, first=place == 0)]}})
        for place, pattern in enumerate(rule.absent):
            tests, joins = self._tests(pattern, -self._kinds[pattern.kind])
            # The shadow of a fact that is bound already must not block.
            joins += [
                {"$neq": {"number": {f"c{other}": "number"}}}
                for other, bound in enumerate(rule.patterns)
                if bound.kind == pattern.kind
            ]
            patterns.append({f"a{place}$not": {"$and": [*tests, *_closed(joins)]}})
        return patterns

    def _tests(self, pattern: ReadyPattern, kind: int) -> tuple[list[EnginePattern], list[EnginePattern]]:
        tests: list[EnginePattern] = [{"kind": kind}]
        joins: list[EnginePattern] = []
        for condition in (*pattern.own, *pattern.joins):
            if isinstance(condition, Either):
                tests.append({self._choices[pattern.kind][condition][0]: 1})
            elif condition.place is None:
                tests += self._own(condition)
            else:
                more_tests, more_joins = self._join(condition)
                tests += more_tests
                joins += more_joins
        return tests, joins

    def _own(self, condition: Condition) -> list[EnginePattern]:
        name, code = self._properties[condition.field], self._codes.of(condition.constant)
        if condition.op == "lacks":
            return [{name: 0}]
        if condition.op == "has":
            return [{"$neq": {name: 0}}]
        if condition.op == "eq":
            return [{name: code}]
        if condition.op == "ne":
            return [{"$neq": {name: 0}}, {"$neq": {name: code}}]
        if code < 0:
            return [{"zero": 1}]  # what is no number is not ordered: never true
        return [{"$gt": {name: 0}}, {_ORDERS[condition.op]: {name: code}}]

    def _join(self, condition: Condition) -> tuple[list[EnginePattern], list[EnginePattern]]:
        name = self._properties[condition.field]
        other = {f"c{condition.place}": self._properties[condition.other_field]}
        if condition.op == "eq":
            return [{"$neq": {name: 0}}], [{name: other}]
        if condition.op == "ne":
            return [{"$neq": {name: 0}}], [{"$neq": {"zero": other}}, {"$neq": {name: other}}]
        return [{"$gt": {name: 0}}], [{"$lt": {"zero": other}}, {_ORDERS[condition.op]: {name: other}}]


def _closed(joins: list[EnginePattern], *, first: bool = False) -> list[EnginePattern]:
    """The joins and one that is always true: where the last one fails, the engine reads beyond its array."""
    if len(joins) > JOINS_PER_PATTERN:
        raise EngineError(f"more than {JOINS_PER_PATTERN} joins in one pattern")
    return joins if first else [*joins, {"zero": {"c0": "zero"}}]


def _variants(rule: ReadyRule) -> Iterator[ReadyRule]:
    """The rule once for each choice among alternatives that compare with other facts, so that none is left.

    The same firing may come from several. Alternatives of an absent pattern must all be absent, so each
    becomes an absent pattern of its own.
    """
    count = prod(_ways(pattern) for pattern in rule.patterns) * max([1, *map(_ways, rule.absent)])
    if count > VARIANTS_PER_RULE:
        raise EngineError(f"more than {VARIANTS_PER_RULE} combinations of alternatives in one rule")
    absent = tuple(chosen for pattern in rule.absent for chosen in _chosen(pattern))
    for patterns in product(*map(_chosen, rule.patterns)):
        yield ReadyRule(rule.rule, patterns, absent)


def _ways(pattern: ReadyPattern) -> int:
    return prod(len(join.options) for join in pattern.joins if isinstance(join, Either))


def _chosen(pattern: ReadyPattern) -> list[ReadyPattern]:
    options = [join.options if isinstance(join, Either) else ((join,),) for join in pattern.joins]
    return [pattern._replace(joins=tuple(chain.from_iterable(choice))) for choice in product(*options)]


def _simple(conditions: Iterable[AnyCondition], *, whole: bool = False) -> Iterator[Condition]:
    """The single conditions; those inside alternatives too, unless these are one property as a whole."""
    for condition in conditions:
        if isinstance(condition, Condition):
            yield condition
        elif not whole:
            for option in condition.options:
                yield from option


def _values(rules: Iterable[ReadyRule], facts: Iterable[KnownFact]) -> Iterator[Known]:
    """Every value that the run can meet: a derived fact holds nothing but these."""
    for fact in facts:
        yield from fact.values()
    for rule in rules:
        for pattern in (*rule.patterns, *rule.absent):
            for condition in _simple((*pattern.own, *pattern.joins)):
                if condition.constant is not None:
                    yield condition.constant
        for _, value in () if rule.rule.head is None else rule.rule.head.fields:
            constant = None if isinstance(value, Ref) else known(value)
            if constant is not None:
                yield constant
