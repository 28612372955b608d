"""Which rules a fact could take part in, so that for a few facts more only those rules are run anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from engine.matcher.conditions import ready
from engine.matcher.form import Fact, Head, Ref, Rule
from engine.matcher.memory import known_fact
from engine.matcher.pools import Pool, Pools


class Takers:
    """Rules by the facts that pass the conditions of one of their patterns, wanted or absent, on a single fact."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Takes rules that passed `check_rules`."""
        self._pools = Pools([])
        self._rules: dict[Pool, set[str]] = defaultdict(set)
        self._of_kind: dict[str, set[str]] = defaultdict(set)
        for rule in map(ready, rules):
            for pattern in (*rule.patterns, *rule.absent):
                self._rules[self._pools.of(pattern)].add(rule.rule.name)
                self._of_kind[pattern.kind].add(rule.rule.name)

    def of(self, fact: Fact) -> set[str]:
        """The names of the rules that this fact could take part in, or keep from firing."""
        return {name for pool in self._pools.taking(known_fact(fact)) for name in self._rules[pool]}

    def of_conclusion(self, head: Head) -> set[str]:
        """The same for whatever a rule may conclude; all that speak of its kind where a value is not fixed."""
        if any(isinstance(value, Ref) for _, value in head.fields):
            return set(self._of_kind.get(head.kind, ()))
        return self.of(
            {"kind": head.kind, **{name: value for name, value in head.fields if not isinstance(value, Ref)}}
        )
