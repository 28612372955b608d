"""What rules mean, said as plainly as it can be, and random programs to ask about it.

The matcher here has no index, no increment and nothing in common with the engines under test but the form: it
tries every choice of facts for every rule until nothing new follows.
"""

from __future__ import annotations

import math
import operator
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.matcher.form import AnyOf, Fact, Head, Inference, Pattern, Ref, Rule, RuleSetError, Scalar, Test

ORDERS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


def unknown(value: Scalar) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def sort_of(value: Scalar) -> str:
    if isinstance(value, bool):
        return "truth"
    return "number" if isinstance(value, (int, float)) else "text"


def holds(test: Test | AnyOf, fact: Fact, bound: Mapping[str, Fact]) -> bool:
    if isinstance(test, AnyOf):
        return any(all(holds(part, fact, bound) for part in option) for option in test.options)
    value = fact.get(test.field)
    if test.op in ("has", "lacks"):
        return unknown(value) == (test.op == "lacks")
    other = bound[test.value.alias].get(test.value.field) if isinstance(test.value, Ref) else test.value
    if unknown(value) or unknown(other):
        return False
    alike = sort_of(value) == sort_of(other)
    if test.op == "eq":
        return alike and value == other
    if test.op == "ne":
        return not (alike and value == other)
    return alike and sort_of(value) == "number" and ORDERS[test.op](value, other)


def pattern_matches(pattern: Pattern, fact: Fact, bound: Mapping[str, Fact]) -> bool:
    return fact["kind"] == pattern.kind and all(holds(test, fact, bound) for test in pattern.tests)


def matches(rule: Rule, facts: Sequence[Fact], bound: dict[str, Fact]) -> Iterator[dict[str, Fact]]:
    """Every binding of the rule that extends the one given."""
    free = [fact for fact in facts if not any(fact is other for other in bound.values())]
    if len(bound) == len(rule.patterns):
        if not any(pattern_matches(absent, fact, bound) for absent in rule.absent for fact in free):
            yield bound
        return
    pattern = rule.patterns[len(bound)]
    for fact in free:
        if pattern_matches(pattern, fact, bound):
            yield from matches(rule, facts, {**bound, pattern.alias: fact})


def conclusion(head: Head, bound: Mapping[str, Fact]) -> Fact:
    fact = {"kind": head.kind}
    for name, value in head.fields:
        fact[name] = bound[value.alias].get(value.field) if isinstance(value, Ref) else value
    return fact


def content(fact: Fact) -> tuple[Any, ...]:
    """What makes two facts the same: their known fields with typed values."""
    return tuple(sorted((name, type(value).__name__, value) for name, value in fact.items() if not unknown(value)))


def distinct(facts: Sequence[Fact]) -> list[Fact]:
    return list({content(fact): fact for fact in reversed(facts)}.values())[::-1]


def level_of_kinds(rules: Sequence[Rule]) -> dict[str, int]:
    """How many absences a kind comes after; RuleSetError where it would come after itself."""
    levels: defaultdict[str, int] = defaultdict(int)
    for _ in range(len(rules) + 1):
        before = dict(levels)
        for rule in rules:
            if rule.head is not None:
                levels[rule.head.kind] = max(levels[rule.head.kind], level_of_rule(rule, levels))
        if dict(levels) == before:
            return levels
    raise RuleSetError("circular absence")


def level_of_rule(rule: Rule, levels: Mapping[str, int]) -> int:
    present = [levels[pattern.kind] for pattern in rule.patterns]
    return max(present + [levels[absent.kind] + 1 for absent in rule.absent])


def reference(rules: Sequence[Rule], facts: Sequence[Fact]) -> tuple[set[Any], set[Any]]:
    """The contents of all derived facts, and all firings as `told` tells them."""
    levels = level_of_kinds(rules)
    everything = distinct(facts)
    given = {content(fact) for fact in everything}
    for level in sorted({level_of_rule(rule, levels) for rule in rules}):
        growing = True
        while growing:
            before = len(everything)
            for rule in rules:
                if rule.head is not None and level_of_rule(rule, levels) == level:
                    found = [conclusion(rule.head, bound) for bound in matches(rule, everything, {})]
                    everything = distinct([*everything, *found])
            growing = len(everything) > before
    firings = {
        (
            rule.name,
            tuple((alias, content(fact)) for alias, fact in bound.items()),
            content(conclusion(rule.head, bound)) if rule.head else None,
        )
        for rule in rules
        for bound in matches(rule, everything, {})
    }
    return {content(fact) for fact in everything} - given, firings


def told(inference: Inference, given: int) -> tuple[list[Any], list[Any]]:
    """Derived facts and firings of an inference with facts by content, in the order it gives them."""
    contents = [content(fact) for fact in inference.facts]
    firings = [
        (
            firing.rule,
            tuple((alias, contents[position]) for alias, position in firing.bindings),
            None if firing.derived is None else contents[firing.derived],
        )
        for firing in inference.firings
    ]
    return contents[given:], firings


# What can be asked of a program: j1 to j4 is the number of joined patterns, the others widen values or tests.
FEATURES = [
    "j1", "j1 text", "j1 floats", "j1 missing", "j1 mixed numbers", "j1 mixed", "j1 any", "j1 wild",
    "j2", "j3", "j4", "j2 text", "j3 text inequality", "j2 floats inequality", "j2 mixed numbers", "j2 mixed",
    "j3 mixed inequality", "j2 inequality", "j3 inequality", "j4 inequality", "j3 missing inequality",
    "j4 missing inequality mixed", "j2 wild inequality missing", "j2 names missing inequality",
    "j2 any", "j3 any missing", "j2 anyjoin", "j3 anyjoin missing inequality",
    "j1 absent", "j2 absent", "j3 absent", "j2 absent inequality", "j2 absent missing", "j2 absent any",
    "j1 absent anyjoin", "j2 absent anyjoin missing inequality", "j2 absent wild inequality missing",
    "j1 chain", "j2 chain", "j3 chain", "j2 chain inequality missing", "j2 chain wild mixed",
    "j1 chain absent", "j2 chain absent", "j2 chain absent any inequality missing",
    "j2 chain absent anyjoin names mixed missing",
]  # fmt: skip

TEXTS = [
    "a", "b", "c", "ab", "535.183.01", "x y", 'q"q', "é", "a\x00b", "\ud800", "s" * 70_000, "1", "", "None",
]  # fmt: skip
WILD = [
    2**62, 2**63, 2**64, 10**30, -(2**63), 1e16, 1e-7, 1e-320, float("inf"), -float("inf"), float("nan"),
    0, -0.0, 0.1, 2**53, 2**53 + 1, float(2**53), True, False, "True", "1e16", "s-1",
]  # fmt: skip
ODD_NAMES = ["id", "sid", "$and", "$s", "zero", "number", "v0", "kind of", "", "é", "c0", "boot", "$m", "m"]


class Generator:
    """One random program; the same seed and features give the same one anywhere."""

    def __init__(self, seed: int, features: str) -> None:
        self.random = random.Random(f"{seed}/{features}")
        self.features = set(features.split())
        self.patterns = next(count for count in (1, 2, 3, 4) if f"j{count}" in self.features)
        # Long joins and values of many types seldom meet; fewer kinds and tests make up for it.
        self.hard = self.patterns > 2 or "mixed" in self.features
        self.kinds = [f"k{number}" for number in range(2 if self.hard else self.random.randint(2, 4))]
        self.fields = self.random.sample(ODD_NAMES, 3) if "names" in self.features else ["p0", "p1", "p2"]
        self.values = self._values()

    def program(self) -> tuple[list[Rule], list[Fact]]:
        facts = [self._fact() for _ in range(self.random.randint(3, 12))]
        return [self._rule(number) for number in range(self.random.randint(1, 4))], facts

    def _values(self) -> list[Scalar]:
        if "wild" in self.features:
            return self.random.sample(WILD, 4)
        if "text" in self.features:
            return self.random.sample(TEXTS, 3)
        if "floats" in self.features:
            return self.random.sample([0.5, 1.5, 2.25, 3.0, 10.75, -1.5], 4)
        if "numbers" in self.features:
            return [1, 1.0, 2, 2.5]
        if "mixed" in self.features:
            return [1, "1", "a", True, None, 2, 1.0, False]
        return [0, 1, 2, 3]

    def _fact(self) -> Fact:
        fact: dict[str, Scalar] = {"kind": self.random.choice(self.kinds)}
        for field in self.fields:
            if "missing" not in self.features or self.random.random() < 0.75:
                fact[field] = self.random.choice(self.values)
        return fact

    def _constant(self) -> Scalar:
        return self.random.choice([value for value in self.values if not unknown(value)])

    def _own_test(self) -> Test:
        field, chance = self.random.choice(self.fields), self.random.random()
        if "missing" in self.features and chance < 0.3:
            return Test(self.random.choice(["has", "lacks"]), field)
        if chance < 0.6:
            return Test(self.random.choice(["eq", "eq", "ne"]), field, self._constant())
        return Test(self.random.choice(list(ORDERS)), field, self._constant())

    def _join(self, aliases: Sequence[str]) -> Test:
        op = "eq"
        if "inequality" in self.features and self.random.random() < 0.7:
            op = self.random.choice(["ne", *ORDERS])
        other = Ref(self.random.choice(aliases), self.random.choice(self.fields))
        return Test(op, self.random.choice(self.fields), other)

    def _tests(self, aliases: Sequence[str]) -> tuple[Test | AnyOf, ...]:
        tests: list[Test | AnyOf] = []
        if self.random.random() < (0.15 if self.hard else 0.4):
            tests.append(self._own_test())
        if "any" in self.features and self.random.random() < (0.3 if self.hard else 0.6):
            tests.append(AnyOf(((self._own_test(),), (self._own_test(), self._own_test()))))
        if aliases and self.random.random() < 0.9:
            tests.append(self._join(aliases))
            if self.random.random() < (0.1 if self.hard else 0.3):
                tests.append(self._join(aliases))
        if "anyjoin" in self.features and aliases and self.random.random() < (0.4 if self.hard else 0.8):
            tests.append(AnyOf(((self._own_test(),), (self._join(aliases), self._own_test()))))
            if self.random.random() < 0.3:
                tests.append(AnyOf(((self._join(aliases),), (self._join(aliases),))))
        return tuple(tests)

    def _rule(self, number: int) -> Rule:
        aliases = "abcd"[: self.patterns]
        patterns = [
            Pattern(alias, self.random.choice(self.kinds), self._tests(aliases[:place]))
            for place, alias in enumerate(aliases)
        ]
        absent = []
        if "absent" in self.features:
            absent = [
                Pattern(f"n{place}", self._absent_kind(), self._tests(aliases))
                for place in range(self.random.choice([0, 1, 1, 2]))
            ]
        head = None
        if "chain" in self.features and self.random.random() < 0.7:
            reference = Ref(self.random.choice(aliases), self.random.choice(self.fields))
            values = (reference, self._constant(), self._constant())
            head = Head(self._head_kind(), tuple(zip(self.fields, values, strict=True)))
        return Rule(f"r{number}", tuple(patterns), tuple(absent), head)

    # Chains and absence together: mostly so that an order exists, and now and then so that none may.
    def _absent_kind(self) -> str:
        if "chain" in self.features and self.random.random() < 0.9:
            return self.random.choice(self.kinds[: len(self.kinds) // 2])
        return self.random.choice(self.kinds)

    def _head_kind(self) -> str:
        if "absent" in self.features and self.random.random() < 0.9:
            return self.random.choice(self.kinds[len(self.kinds) // 2 :])
        return self.random.choice(self.kinds)


def program(seed: int, features: str) -> tuple[list[Rule], list[Fact]]:
    """A random program with the features named."""
    return Generator(seed, features).program()
