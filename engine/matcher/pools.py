"""Facts sorted by what they pass: one pool for each kind with a set of conditions on a single fact.

A pool indexes its members by the fields that joins ask for, as soon as one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from engine.matcher.conditions import AnyCondition, Condition, Predicate, ReadyPattern, predicate
from engine.matcher.memory import Known, KnownFact

_Index: TypeAlias = dict[tuple[Known | None, ...], list[int]]


@dataclass(slots=True, eq=False)
class Pool:
    """Numbers of the facts that pass some conditions, indexed by whatever fields were asked for."""

    conditions: list[Predicate]
    members: list[int] = field(default_factory=list)
    indexes: dict[tuple[str, ...], _Index] = field(default_factory=dict)

    def add(self, number: int, fact: KnownFact) -> None:
        """Takes in a fact that passes the conditions."""
        self.members.append(number)
        for fields, index in self.indexes.items():
            index.setdefault(tuple([fact.get(name) for name in fields]), []).append(number)

    def index(self, fields: tuple[str, ...], facts: Sequence[KnownFact]) -> _Index:
        """The members by the values of these fields, kept up to date from now on."""
        index = self.indexes.get(fields)
        if index is None:
            index = self.indexes[fields] = {}
            for number in self.members:
                index.setdefault(tuple([facts[number].get(name) for name in fields]), []).append(number)
        return index


class Pools:
    """All pools of a run, and for each fact the few that could take it."""

    def __init__(self, facts: Sequence[KnownFact]) -> None:
        self.facts = facts
        self._pools: dict[tuple[str, tuple[AnyCondition, ...]], Pool] = {}
        self._routes: dict[Known, dict[str, dict[Known | None, list[Pool]]]] = {}

    def of(self, pattern: ReadyPattern) -> Pool:
        """The pool of the pattern, shared by all patterns that ask the same of a single fact."""
        key = (pattern.kind, pattern.own)
        if key not in self._pools:
            pool = self._pools[key] = Pool([*map(predicate, pattern.own)])
            values = {c.field: c.constant for c in pattern.own if isinstance(c, Condition) and c.op == "eq"}
            name, value = next(iter(values.items()), ("kind", pattern.kind))
            by_value = self._routes.setdefault(pattern.kind, {}).setdefault(name, {})
            by_value.setdefault(value, []).append(pool)
        return self._pools[key]

    def file(self, number: int) -> list[Pool]:
        """Files a fact and returns the pools that took it."""
        fact = self.facts[number]
        taken = list(self.taking(fact))
        for pool in taken:
            pool.add(number, fact)
        return taken

    def taking(self, fact: KnownFact) -> Iterator[Pool]:
        """The pools whose conditions the fact passes."""
        for name, by_value in self._routes.get(fact["kind"], {}).items():
            for pool in by_value.get(fact.get(name), ()):
                if all(condition(fact) for condition in pool.conditions):
                    yield pool
