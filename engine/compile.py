"""Rules as authors write them → the neutral form of the matcher, and facts → the scalars it compares.

What matchers are bad at is done here: versions become integers, regular expressions become flags, lists of
values become alternatives. A compiled rule keeps what it stands for (`Part`), so that firings can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_type_hints

from engine.matcher.form import AnyOf, Head, Ref, Rule, Test
from engine.matcher.form import Pattern as MatcherPattern
from kb.asked import all_patterns
from kb.evidence import Observed
from kb.facts import fact_type, fields_of, version_key
from kb.facts.base import VersionMark
from kb.rule import Alternatives, Cause, FieldTest, Pattern, Patterns, Probe, SymptomRule
from kb.rule import Ref as FieldRef

ORDERINGS = ("lt", "le", "gt", "ge")
SYMPTOM = "symptom"


@dataclass(frozen=True, slots=True)
class Part:
    """What a compiled rule stands for: a symptom, requirements of a cause, a clause, what fills in a command."""

    owner: str
    role: Literal["symptom", "requires", "for", "against", "remedy", "fill", "free"]
    name: str = ""
    choice: int = 0
    """Which alternative of a clause or a remedy."""
    alone: bool = False
    """It says nothing of what the requirements bind: it is matched once for all hypotheses of its cause."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Matcher rules, and for each of their names what it stands for."""

    rules: tuple[Rule, ...]
    parts: Mapping[str, Part]


def key_field(field: str) -> str:
    """Name of the integer beside a version field, by which versions are ordered."""
    return f"{field} as number"


def flag_field(field: str, pattern: str) -> str:
    """Name of the flag that says that a field matches a regular expression."""
    return f"{field} matches {pattern}"


@cache
def version_fields(kind: str) -> frozenset[str]:
    """The fields of a fact kind that hold versions."""
    found = fact_type(kind)
    if found is None:
        return frozenset()
    stated = {
        info.alias or name: _marks(info.annotation, info.metadata) for name, info in found.model_fields.items()
    }
    derived = {
        info.alias or name: _marks(get_type_hints(info.wrapped_property.fget, include_extras=True)["return"], ())
        for name, info in found.model_computed_fields.items()
    }
    return frozenset(
        name for name, marks in (stated | derived).items() if any(isinstance(mark, VersionMark) for mark in marks)
    )


def _marks(annotation: Any, metadata: Sequence[Any]) -> Iterable[Any]:
    yield from metadata
    for part in getattr(annotation, "__args__", ()):
        yield from getattr(part, "__metadata__", ())


def compile_symptom(symptom: SymptomRule) -> Compiled:
    """The rules that derive a symptom: one for each alternative of `when`."""
    about = _about_value(symptom.about)
    head = Head(SYMPTOM, (("id", symptom.symptom), ("about", about)))
    rules = {
        f"symptom {symptom.symptom} {number}": _rule(
            f"symptom {symptom.symptom} {number}", patterns, symptom.unless, head
        )
        for number, patterns in enumerate(symptom.when)
    }
    return Compiled(tuple(rules.values()), dict.fromkeys(rules, Part(symptom.symptom, "symptom")))


def _about_value(about: str) -> str | Ref:
    if not about.startswith("$"):
        return about
    binding, _, field = about[1:].partition(".")
    return Ref(binding, field)


def compile_cause(cause: Cause, kinds: Set[str] | None = None) -> Compiled:
    """The rules of a cause: its requirements, and each alternative of each clause joined to them.

    Given the kinds of facts that there are, without the rules that want another one: they can't fire.
    """
    if kinds is not None and not _are_there(cause.requires, kinds):
        return Compiled((), {})
    rules = [_rule(f"{cause.cause} requires", cause.requires, ())]
    parts = {rules[0].name: Part(cause.cause, "requires")}
    conditions: list[tuple[Literal["for", "against", "remedy"], str, Alternatives, Patterns]] = [
        *(("for", clause.name, clause.when, clause.unless) for clause in cause.for_),
        *(("against", clause.name, clause.when, clause.unless) for clause in cause.against),
        *(
            ("remedy", str(place), remedy.when, remedy.unless)
            for place, remedy in enumerate(cause.remedies)
            if remedy.when or remedy.unless
        ),
    ]
    for role, name, choices, unless in conditions:
        for number, when in enumerate(choices or ((),)):
            if kinds is not None and not _are_there(when, kinds):
                continue
            alone = _stands_alone(cause.requires, when, unless)
            rule = _rule(
                f"{cause.cause} {role} {name} {number}", when if alone else joined(cause.requires, when), unless
            )
            rules.append(rule)
            parts[rule.name] = Part(cause.cause, role, name, number, alone)
    return Compiled(tuple(rules), parts)


def _are_there(patterns: Patterns, kinds: Set[str]) -> bool:
    return all(pattern.fact in kinds for pattern in patterns)


def _stands_alone(requires: Patterns, when: Patterns, unless: Patterns) -> bool:
    """Whether no fact that the requirements bind has to do with these patterns, nor could be one of theirs."""
    bound = {pattern.binding for pattern in requires}
    kinds = {pattern.fact for pattern in requires}
    refs = {
        value.binding
        for pattern in when
        for test in pattern.tests
        for value in test.values
        if isinstance(value, FieldRef)
    }
    named = {pattern.binding for pattern in when}
    return bool(when) and not unless and bound.isdisjoint(named | refs) and kinds.isdisjoint(p.fact for p in when)


def compile_probe(probe: Probe) -> Compiled:
    """The rules that find what the words of a probe's commands stand for, and whether it interrupts nothing."""
    rules, parts = [], {}
    for number, when in enumerate(probe.free_when):
        name = f"probe {probe.id} free {number}"
        rules.append(_rule(name, when, ()))
        parts[name] = Part(probe.id, "free")
    for place, filling in enumerate(probe.fill):
        for number, when in enumerate(filling.when):
            name = f"probe {probe.id} {place} {number}"
            rules.append(_rule(name, when, filling.unless))
            parts[name] = Part(probe.id, "fill", str(place))
    return Compiled(tuple(rules), parts)


def joined(requires: Patterns, when: Patterns) -> Patterns:
    """The patterns of both; a binding that `when` repeats gets its tests added to the one it repeats."""
    extra = {pattern.binding: pattern for pattern in when}
    merged = [
        pattern.model_copy(update={"tests": pattern.tests + extra.pop(pattern.binding).tests})
        if pattern.binding in extra
        else pattern
        for pattern in requires
    ]
    return (*merged, *(pattern for pattern in when if pattern.binding in extra))


def compile_all(
    causes: Iterable[Cause],
    symptoms: Iterable[SymptomRule],
    probes: Iterable[Probe] = (),
    kinds: Set[str] | None = None,
) -> Compiled:
    """The rules of all symptoms, causes and probes together; `kinds` as for one cause."""
    of_causes = (compile_cause(cause, kinds) for cause in causes)
    compiled = [*map(compile_symptom, symptoms), *of_causes, *map(compile_probe, probes)]
    parts: dict[str, Part] = {}
    for one in compiled:
        parts.update(one.parts)
    return Compiled(tuple(rule for one in compiled for rule in one.rules), parts)


def _rule(name: str, patterns: Patterns, unless: Patterns, head: Head | None = None) -> Rule:
    return Rule(
        name=name,
        patterns=tuple(map(_pattern, patterns)),
        absent=tuple(map(_pattern, unless)),
        head=head,
    )


def _pattern(pattern: Pattern) -> MatcherPattern:
    tests = tuple(part for test in pattern.tests for part in _tests(pattern.fact, test))
    return MatcherPattern(pattern.binding, pattern.fact, tests)


def _tests(kind: str, test: FieldTest) -> tuple[Test | AnyOf, ...]:
    values = [Ref(value.binding, value.field) if isinstance(value, FieldRef) else value for value in test.values]
    if test.op == "known":
        return (Test("has" if values == [True] else "lacks", test.field),)
    if test.op == "not":
        return tuple(Test("ne", test.field, value) for value in values)
    if test.op in ORDERINGS:
        return (_ordering(kind, test, values[0]),)
    if test.op == "matches":
        options = [Test("eq", flag_field(test.field, str(value)), True) for value in values]
    else:
        options = [Test("eq", test.field, value) for value in values]
    return (options[0],) if len(options) == 1 else (AnyOf(tuple((option,) for option in options)),)


def _ordering(kind: str, test: FieldTest, value: Any) -> Test:
    if test.field not in version_fields(kind):
        return Test(test.op, test.field, value)  # type: ignore[arg-type]
    if isinstance(value, Ref):
        return Test(test.op, key_field(test.field), Ref(value.alias, key_field(value.field)))  # type: ignore[arg-type]
    return Test(test.op, key_field(test.field), version_key(str(value)))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Encoder:
    """Turns facts into what the matcher compares; knows the regular expressions that the rules use."""

    expressions: Mapping[str, tuple[tuple[str, str], ...]]
    """By kind, field and source of each; compiled when a fact of the kind is met, since most never are."""
    kinds: frozenset[str]
    """All kinds of facts that the rules speak of."""

    @classmethod
    def of(cls, causes: Iterable[Cause], symptoms: Iterable[SymptomRule], probes: Iterable[Probe] = ()) -> Encoder:
        """The encoder for these rules."""
        found: dict[str, dict[tuple[str, str], None]] = {}
        kinds: set[str] = set()
        for pattern in all_patterns(causes, symptoms, probes):
            kinds.add(pattern.fact)
            for test in pattern.tests:
                if test.op == "matches":
                    for value in test.values:
                        found.setdefault(pattern.fact, {})[test.field, str(value)] = None
        return cls({kind: tuple(table) for kind, table in found.items()}, frozenset(kinds))

    def encode(self, observed: Observed) -> dict[str, Any]:
        """The fact as scalars: its fields, an integer beside each version, a flag for each expression."""
        kind = observed.fact.kind
        encoded: dict[str, Any] = {"kind": kind, **fields_of(observed.fact)}
        for field in version_fields(kind):
            if field in encoded:
                encoded[key_field(field)] = version_key(encoded[field])
        for field, expression in self.expressions.get(kind, ()):
            if field in encoded:
                encoded[flag_field(field, expression)] = bool(_compiled(expression).search(str(encoded[field])))
        return encoded


_compiled = cache(re.compile)
