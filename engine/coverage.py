"""What was looked for. Decides whether a clause that did not come true is false, or only unknown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from engine.compile import ORDERINGS, SYMPTOM, flag_field, joined, key_field, version_fields
from kb.evidence import Looked
from kb.facts import version_key
from kb.rule import Clause, FieldTest, Pattern, Patterns, Ref

DERIVED = frozenset({"symptom", "outcome", "disagreement"})
"""Kinds that reasoning itself adds: it always looks for all of them."""

Bound = Mapping[str, Mapping[str, Any]]
Candidates = Mapping[str, Sequence[Mapping[str, Any]]]


class Doubt(NamedTuple):
    """Why something is unknown, in words, and the fact kinds that would tell; nothing of both where it is not."""

    why: str = ""
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactsByKind:
    """Encoded facts by kind. Which of them could match a pattern is asked for each hypothesis, and found once."""

    by_kind: Mapping[str, Sequence[Mapping[str, Any]]]
    _found: dict[int, tuple[Pattern, list[Mapping[str, Any]]]] = field(default_factory=dict)
    """By the identity of the pattern, which is kept beside it so that no other can have it."""

    @classmethod
    def of(cls, encoded: Iterable[Mapping[str, Any]]) -> FactsByKind:
        """These facts."""
        by_kind: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for fact in encoded:
            by_kind[fact["kind"]].append(fact)
        return cls(by_kind)

    def could_match(self, pattern: Pattern, bound: Bound) -> list[Mapping[str, Any]]:
        """The facts that match the pattern, or might if what is not known were known."""
        facts = self.by_kind.get(pattern.fact, ())
        if any(ref.binding in bound for ref in _refs(pattern)):
            return [fact for fact in facts if _could_match(pattern, fact, bound)]
        if id(pattern) not in self._found:
            self._found[id(pattern)] = pattern, [fact for fact in facts if _could_match(pattern, fact, {})]
        return self._found[id(pattern)][1]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which fact kinds were looked for, and the encoded facts."""

    complete: frozenset[str]
    partly: frozenset[str]
    facts: tuple[FactsByKind, ...]

    @classmethod
    def of(cls, looked: Iterable[Looked], *facts: FactsByKind) -> Coverage:
        """Coverage from all statements of what was looked for, and all facts."""
        statements = list(looked)
        complete = frozenset(one.kind for one in statements if one.complete) | DERIVED
        return cls(complete, frozenset(one.kind for one in statements) - complete, facts)

    def why_unknown(self, clause: Clause, requires: Patterns, bound: Bound) -> Doubt:
        """Why a clause that did not come true is unknown; no doubt where it is false."""
        doubts = [self._alternative(joined(requires, when), bound) for when in clause.when or ((),)]
        return Doubt(
            "; ".join(dict.fromkeys(doubt.why for doubt in doubts if doubt.why)),
            tuple(dict.fromkeys(kind for doubt in doubts for kind in doubt.kinds)),
        )

    def why_unsure(self, unless: Patterns, matches: Sequence[Bound]) -> list[Doubt]:
        """For each match that came true for want of a fact: why that is unknown; no doubt where it is sure."""
        missing = [pattern.fact for pattern in unless if pattern.fact not in self.complete]
        if missing:
            return [Doubt(_not_looked(self, missing), tuple(dict.fromkeys(missing)))] * len(matches)
        vague = {
            pattern.binding: list(filter(partial(_is_vague, pattern), self._of(pattern))) for pattern in unless
        }
        if not any(vague.values()) and not any(_refs(pattern) for pattern in unless):
            return [Doubt()] * len(matches)
        return [self._why_unsure(unless, bound, vague) for bound in matches]

    def _why_unsure(self, unless: Patterns, bound: Bound, vague: Candidates) -> Doubt:
        possible = {
            pattern.binding: [
                fact
                for fact in (self._of(pattern) if _refers_to_unknown(pattern, bound) else vague[pattern.binding])
                if fact not in bound.values() and _could_match(pattern, fact, bound)
            ]
            for pattern in unless
        }
        return _unknown_fields(unless, bound, possible)

    def _of(self, pattern: Pattern) -> Sequence[Mapping[str, Any]]:
        return [fact for facts in self.facts for fact in facts.by_kind.get(pattern.fact, ())]

    def _could_match(self, pattern: Pattern, bound: Bound) -> Sequence[Mapping[str, Any]]:
        found = [some for facts in self.facts if (some := facts.could_match(pattern, bound))]
        return found[0] if len(found) == 1 else [fact for some in found for fact in some]

    def why_not_proposed(self, requires: Patterns) -> tuple[str, bool]:
        """Which requirement of a cause did not match, and whether that is for want of looking."""
        for pattern in requires:
            if not self._could_match(pattern, {}):
                looked = pattern.fact in self.complete
                if pattern.fact == SYMPTOM:
                    return "none of the symptoms that it would explain is seen", False
                return (f"no {described(pattern)}" if looked else _not_looked(self, [pattern.fact])), not looked
        return "the requirements match no facts together", False

    def _alternative(self, patterns: Patterns, bound: Bound) -> Doubt:
        wanted = [pattern for pattern in patterns if pattern.binding not in bound]
        tests_of_bound = [pattern for pattern in patterns if pattern.binding in bound]
        if not all(_could_match(pattern, bound[pattern.binding], bound) for pattern in tests_of_bound):
            return Doubt()
        possible = {pattern.binding: self._could_match(pattern, bound) for pattern in wanted}
        if any(not possible[p.binding] and p.fact in self.complete for p in wanted):
            return Doubt()
        missing = [p for p in wanted if p.fact not in self.complete]
        if missing:
            telling = [p for p in missing if not possible[p.binding]] or missing
            kinds = dict.fromkeys(p.fact for p in telling)
            return Doubt(_not_looked(self, [p.fact for p in missing]), tuple(kinds))
        return _unknown_fields(patterns, bound, possible)


def _unknown_fields(patterns: Patterns, bound: Bound, possible: Candidates) -> Doubt:
    """All kinds were looked at: unknown only where a test needs a field that some candidate does not have."""
    candidates = {**possible, **{name: [fact] for name, fact in bound.items()}}
    gaps = dict.fromkeys(
        (fact["kind"], field)
        for pattern in patterns
        if candidates[pattern.binding]
        for test in pattern.tests
        for binding, field in _needed(pattern, test)
        for fact in candidates.get(binding, ())
        if field not in fact
    )
    why = "; ".join(f"{kind}.{field} is not known" for kind, field in gaps)
    return Doubt(why, tuple(dict.fromkeys(kind for kind, _ in gaps)))


def _refs(pattern: Pattern) -> list[Ref]:
    return [value for test in pattern.tests for value in test.values if isinstance(value, Ref)]


def _is_vague(pattern: Pattern, fact: Mapping[str, Any]) -> bool:
    """Whether a field that the pattern tests is not known."""
    return any(test.op != "known" and test.field not in fact for test in pattern.tests)


def _refers_to_unknown(pattern: Pattern, bound: Bound) -> bool:
    needed = [one for test in pattern.tests for one in _needed(pattern, test) if one[0] in bound]
    return any(field not in bound[binding] for binding, field in needed)


def _needed(pattern: Pattern, test: FieldTest) -> list[tuple[str, str]]:
    """The fields that a test compares: its own, and those of other bindings that it refers to."""
    if test.op == "known":
        return []
    refs = [(value.binding, value.field) for value in test.values if isinstance(value, Ref)]
    return [(pattern.binding, test.field), *refs]


def _not_looked(coverage: Coverage, kinds: Sequence[str]) -> str:
    words = [
        f"{kind} was looked for only in part" if kind in coverage.partly else f"{kind} was not looked for"
        for kind in dict.fromkeys(kinds)
    ]
    return "; ".join(words)


def described(pattern: Pattern) -> str:
    """A pattern in words, for messages: `a_kind with name x`."""
    tests = " and ".join(
        f"{test.field}{'' if test.op == 'is' else ' ' + test.op} {' or '.join(map(str, test.values))}"
        for test in pattern.tests
    )
    return f"{pattern.fact} with {tests}" if tests else pattern.fact


def _could_match(pattern: Pattern, fact: Mapping[str, Any], bound: Bound) -> bool:
    return all(_could_hold(pattern.fact, test, fact, bound) for test in pattern.tests)


def _could_hold(kind: str, test: FieldTest, fact: Mapping[str, Any], bound: Bound) -> bool:
    """Whether a test holds, or might if what is not known were known."""
    if test.op == "known":
        return (test.field in fact) == (test.values == (True,))
    if test.field not in fact:
        return True
    wanted: list[Any] = []
    for value in test.values:
        if isinstance(value, Ref):
            if value.field not in bound.get(value.binding, {}):
                return True
            wanted.append(bound[value.binding][value.field])
        else:
            wanted.append(value)
    return _holds(kind, test, fact, wanted)


def _holds(kind: str, test: FieldTest, fact: Mapping[str, Any], wanted: Sequence[Any]) -> bool:
    found = fact[test.field]
    if test.op == "is":
        return any(_same(found, value) for value in wanted)
    if test.op == "not":
        return not any(_same(found, value) for value in wanted)
    if test.op == "matches":
        return any(fact.get(flag_field(test.field, str(value))) is True for value in wanted)
    return _ordered(kind, test, fact, wanted[0])


def _same(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _ordered(kind: str, test: FieldTest, fact: Mapping[str, Any], wanted: Any) -> bool:
    found = fact[test.field]
    if test.field in version_fields(kind):
        found, wanted = fact.get(key_field(test.field)), version_key(str(wanted))
    if not isinstance(found, (int, float)) or not isinstance(wanted, (int, float)):
        return False
    index = ORDERINGS.index(test.op)
    return (found < wanted, found <= wanted, found > wanted, found >= wanted)[index]
