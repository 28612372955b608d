"""The order in which rules may run: one that asks for absence waits for all that could end the absence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from engine.matcher.form import Rule, RuleSetError


def stratify(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Returns the rules in groups that are to be run one after the other, each to its end.

    Within a group no rule concludes a kind that another one, or itself, wants absent. Raises RuleSetError,
    naming the rules, where no such order exists.
    """
    _refuse_circles(rules)
    level: defaultdict[str, int] = defaultdict(int)
    changed = True
    while changed:
        changed = False
        for rule in rules:
            if rule.head is not None and level[rule.head.kind] < _level(rule, level):
                level[rule.head.kind] = _level(rule, level)
                changed = True
    groups: defaultdict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        groups[_level(rule, level)].append(rule)
    return [groups[number] for number in sorted(groups)]


def _level(rule: Rule, level: Mapping[str, int]) -> int:
    present = [level[pattern.kind] for pattern in rule.patterns]
    return max([*present, *(level[pattern.kind] + 1 for pattern in rule.absent)])


def _refuse_circles(rules: Sequence[Rule]) -> None:
    leads_to: defaultdict[str, set[str]] = defaultdict(set)
    for rule in rules:
        if rule.head is not None:
            for pattern in (*rule.patterns, *rule.absent):
                leads_to[pattern.kind].add(rule.head.kind)
    circular = [
        rule.name
        for rule in rules
        if rule.head is not None
        and rule.absent
        and not _reachable(rule.head.kind, leads_to).isdisjoint(pattern.kind for pattern in rule.absent)
    ]
    if circular:
        raise RuleSetError(
            "a rule may not conclude, not even through others, a kind that it wants absent: "
            + ", ".join(map(repr, circular))
        )


def _reachable(kind: str, leads_to: Mapping[str, set[str]]) -> set[str]:
    found, waiting = {kind}, [kind]
    while waiting:
        fresh = leads_to.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found
