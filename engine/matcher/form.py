"""The neutral form of rules, facts and conclusions: what a matcher takes, and what it gives back.

Everything here is a plain frozen value. Nothing says how matching is done, so that rules can be compiled once
and run by any matcher, and so that two matchers can be held against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Fact: TypeAlias = Mapping[str, Scalar]
Operator: TypeAlias = Literal["eq", "ne", "lt", "le", "gt", "ge", "has", "lacks"]


class MatcherError(Exception):
    """The root of what a matcher raises.

    MatcherError
    ├── RuleSetError   the rules cannot be run, whatever the facts
    ├── FactError      a fact is not one
    └── EngineError    one engine cannot do this run; another may
    """


class RuleSetError(MatcherError, ValueError):
    """The rules are wrong; the message lists every problem, one a line."""


class FactError(MatcherError, ValueError):
    """A fact has no kind, or holds something that is not a scalar."""


class EngineError(MatcherError, RuntimeError):
    """An engine is not there, or met one of its own limits; the message says which in a few words."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of `field` in the fact that `alias` is bound to."""

    alias: str
    field: str


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison of one field with a constant or with a field of another fact.

    Values of different type are unequal; int and float compare as numbers, and a bool is no number. The order
    operators hold between two numbers only. On an unknown value every operator but `lacks` is false.
    """

    __test__: ClassVar[bool] = False  # pytest takes a class of this name for a group of tests

    op: Operator
    field: str
    value: Scalar | Ref = None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Alternatives: it holds when all tests of at least one option hold."""

    options: tuple[tuple[Test, ...], ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A fact of one kind that passes all tests; `alias` names it for later patterns and for the head."""

    alias: str
    kind: str
    tests: tuple[Test | AnyOf, ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The fact that a firing concludes; a field whose value is unknown is left out of it."""

    kind: str
    fields: tuple[tuple[str, Scalar | Ref], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Fires for each choice of facts that match its patterns, where no other fact matches an absent pattern.

    A fact takes one pattern of a firing at most.
    """

    name: str
    patterns: tuple[Pattern, ...]
    absent: tuple[Pattern, ...] = ()
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class Firing:
    """One match of one rule: what each alias is bound to, and what was concluded.

    Facts are given by their position in `Inference.facts`. `derived` is None when the rule has no head; it is
    the position of an input fact when the conclusion was known before.
    """

    rule: str
    bindings: tuple[tuple[str, int], ...]
    derived: int | None


@dataclass(frozen=True, slots=True)
class Inference:
    """Everything that follows: the input facts as given, the derived ones after them, and why.

    Equal input facts take part once, under the position of the first. The order of derived facts and of
    firings depends on their content only, never on the order in which facts or rules came. `engine` says
    which one ran, and where it stood in for another, why.
    """

    facts: tuple[Fact, ...]
    firings: tuple[Firing, ...]
    engine: str
