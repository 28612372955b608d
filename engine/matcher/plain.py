"""Our own matcher: nothing to install, and the measure that the other one is held against.

A new fact is joined only outward from the places it can take (semi-naive), so that no firing is looked for
twice, and by index wherever fields must be equal. Strata run one after the other, so that absence is asked when
it is final.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.matcher.conditions import AnyCondition, Condition, ReadyRule, holds, places_of, ready
from engine.matcher.form import Rule
from engine.matcher.memory import KnownFact, WorkingMemory
from engine.matcher.pools import Pool, Pools

_FREE = -1


@dataclass(slots=True)
class _Step:
    """How to find the fact for one place once others are bound: by index, then by what is left to check."""

    place: int
    pool: Pool
    fields: tuple[str, ...] = ()
    sources: tuple[tuple[int, str], ...] = ()
    checks: tuple[tuple[int, AnyCondition], ...] = ()

    def candidates(self, bound: Sequence[int], facts: Sequence[KnownFact]) -> Sequence[int]:
        if not self.fields:
            return self.pool.members
        values = tuple([facts[bound[place]].get(name) for place, name in self.sources])
        return () if None in values else self.pool.index(self.fields, facts).get(values, ())


class _Matcher:
    """One rule with its pools; it finds the bindings that a fact in a given place takes part in."""

    def __init__(self, rule: ReadyRule, pools: Pools) -> None:
        self.rule = rule.rule
        self._facts = pools.facts
        self.pools = [pools.of(pattern) for pattern in rule.patterns]
        self._joins = [(place, join) for place, pattern in enumerate(rule.patterns) for join in pattern.joins]
        last, everyone = len(self.pools), set(range(len(self.pools)))
        self._absent = [
            _step(last, pools.of(pattern), [(last, join) for join in pattern.joins], everyone)
            for pattern in rule.absent
        ]
        self._plans: dict[int, list[_Step]] = {}

    def bindings(self) -> Iterator[tuple[int, ...]]:
        """All bindings among the facts filed so far, begun at the place with the fewest."""
        start = min(range(len(self.pools)), key=lambda place: len(self.pools[place].members))
        for number in self.pools[start].members:
            yield from self.bindings_with(start, number)

    def bindings_with(self, start: int, number: int) -> Iterator[tuple[int, ...]]:
        """The bindings in which the fact takes the place `start`; each fact takes one place only."""
        if start not in self._plans:
            self._plans[start] = self._plan(start)
        bound = [_FREE] * len(self.pools)
        bound[start] = number
        yield from self._extend(self._plans[start], 0, bound)

    def blocked(self, binding: tuple[int, ...]) -> bool:
        """Whether a fact outside the binding matches a pattern that must be absent."""
        for step in self._absent:
            for number in step.candidates(binding, self._facts):
                if number not in binding and self._passes(step, (*binding, number)):
                    return True
        return False

    def _extend(self, plan: list[_Step], depth: int, bound: list[int]) -> Iterator[tuple[int, ...]]:
        if depth == len(plan):
            yield tuple(bound)
            return
        step = plan[depth]
        for number in step.candidates(bound, self._facts):
            if number not in bound:
                bound[step.place] = number
                if self._passes(step, bound):
                    yield from self._extend(plan, depth + 1, bound)
                bound[step.place] = _FREE

    def _passes(self, step: _Step, bound: Sequence[int]) -> bool:
        if not step.checks:
            return True
        facts = [self._facts[number] for number in bound]  # for free places any: no check asks about them
        return all(holds(condition, facts[place], facts) for place, condition in step.checks)

    def _plan(self, start: int) -> list[_Step]:
        """The other places, each time the one that most equalities tie to those already bound."""
        plan, done, left = [], {start}, set(range(len(self.pools))) - {start}
        while left:
            steps = [_step(place, self.pools[place], self._joins, done) for place in sorted(left)]
            step = max(steps, key=lambda step: len(step.fields))
            plan.append(step)
            done.add(step.place)
            left.remove(step.place)
        return plan


def _step(place: int, pool: Pool, conditions: Iterable[tuple[int, AnyCondition]], done: set[int]) -> _Step:
    fields, sources, checks = [], [], []
    for owner, condition in conditions:
        involved = places_of(condition) | {owner}
        if place not in involved or not involved <= done | {place}:
            continue
        if isinstance(condition, Condition) and condition.op == "eq" and condition.place is not None:
            ends = [(owner, condition.field), (condition.place, condition.other_field)]
            mine, other = ends if owner == place else reversed(ends)
            fields.append(mine[1])
            sources.append(other)
        else:
            checks.append((owner, condition))
    return _Step(place, pool, tuple(fields), tuple(sources), tuple(checks))


def run(strata: Sequence[Sequence[Rule]], memory: WorkingMemory) -> None:
    """Fires all rules on the facts of the memory, and leaves the firings there."""
    pools = Pools(memory.facts)
    groups = [[_Matcher(ready(rule), pools) for rule in group] for group in strata]
    for number in range(len(memory.facts)):
        pools.file(number)
    for group in groups:
        _run_group(group, pools, memory)


def _run_group(group: Sequence[_Matcher], pools: Pools, memory: WorkingMemory) -> None:
    uses: defaultdict[Pool, list[tuple[_Matcher, int]]] = defaultdict(list)
    for matcher in group:
        for place, pool in enumerate(matcher.pools):
            uses[pool].append((matcher, place))
    agenda = deque((matcher, binding) for matcher in group for binding in matcher.bindings())
    while agenda:
        matcher, binding = agenda.popleft()
        concluded = None if matcher.blocked(binding) else memory.conclude(matcher.rule, binding)
        if concluded is not None:
            for pool in pools.file(concluded):
                for follower, place in uses.get(pool, ()):
                    found = follower.bindings_with(place, concluded)
                    agenda.extend((follower, binding) for binding in found)
