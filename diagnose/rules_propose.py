"""Examples that would notice what no example of a rule notices yet: its own, each with one thing changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from diagnose.as_example import fact_line, stated_fields
from diagnose.rules_examples import example_parts, run_example
from diagnose.rules_mutate import Mutant
from engine.coverage import DERIVED
from kb.asked import all_patterns
from kb.evidence import Observed
from kb.examples import LOOKED, PARTLY, fact_of, listed
from kb.fieldtypes import NUMBERS, FieldType, field_types
from kb.rule import Cause, Example, RuleBase

MOST_VARIANTS = 150
MOST_PROPOSED = 6
Facts: TypeAlias = tuple[dict[str, Any], ...]
FAR = 1_000_000
"""Beyond what a rule compares a number with."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An example with the verdict that the rule gives it now, and the changes that it would notice."""

    example: Example
    notices: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """As it would stand in the rule."""
        yield f"- name: {self.example.name}"
        yield "  facts:"
        for entry in self.example.facts:
            for kind, body in entry.items():
                yield f"    {_line(kind, body)}"
        yield f"  expect: {self.example.expect}"


def proposals(base: RuleBase, cause: Cause, alive: Sequence[Mutant]) -> list[Proposal]:
    """The few changed examples that notice most of these mutants, those first that notice more than the others."""
    left = {mutant.change: mutant for mutant in alive}
    noticed = [(one, _noticed(base, one, alive)) for one in _variants(base, cause)]
    chosen: list[Proposal] = []
    while left and len(chosen) < MOST_PROPOSED:
        example, changes = max(noticed, key=lambda pair: len(pair[1] & left.keys()), default=(None, set()))
        told = sorted(changes & left.keys())
        if example is None or not told:
            break
        chosen.append(Proposal(example, tuple(told)))
        for change in told:
            del left[change]
    return chosen


def _noticed(base: RuleBase, example: Example, alive: Sequence[Mutant]) -> set[str]:
    """The mutants that give another verdict than the rule."""
    return {
        mutant.change
        for mutant in alive
        if run_example(mutant.in_place(base), mutant.cause, example, engine="plain").verdict != example.expect
    }


def _variants(base: RuleBase, cause: Cause) -> Iterator[Example]:
    """The examples of a cause with one fact less or more, or with one field changed, and the verdict of each."""
    tested = {(one.fact, test.field) for one in all_patterns([cause], (), ()) for test in one.tests}
    stated = [(example.name, _facts(base, example)) for example in cause.examples]
    every = [entry for _, facts in stated for entry in facts]
    found = (
        Example(name=f"{name}, {change}", facts=changed, expect="possible")
        for name, facts in stated
        for changed, change in (*_changed(facts, tested), *_joined(facts, every))
    )
    for variant in islice(found, MOST_VARIANTS):
        verdict = run_example(base, cause, variant, engine="plain").verdict
        yield variant.model_copy(update={"expect": verdict})


def _facts(base: RuleBase, example: Example) -> Facts:
    """The facts of an example, those that are read from its log among them."""
    if example.log is None:
        return example.facts
    parts = example_parts(example.model_copy(update={"facts": ()}), base).values()
    read = (one.fact for part in parts for one in part if isinstance(one, Observed))
    return (*example.facts, *({fact.kind: stated_fields(fact)} for fact in read if fact.kind not in DERIVED))


def _joined(facts: Facts, every: Sequence[dict[str, Any]]) -> Iterator[tuple[Facts, str]]:
    """The facts of an example with one more, of a kind that only others have."""
    kinds = {kind for entry in facts for kind in entry}
    more = {kind: entry for entry in every for kind in entry}
    for kind, entry in more.items():
        if kind not in kinds and kind not in {LOOKED, PARTLY}:
            yield (*facts, entry), f"and {kind}"


def _changed(facts: Facts, tested: set[tuple[str, str]]) -> Iterator[tuple[Facts, str]]:
    for place, entry in enumerate(facts):
        ((kind, body),) = entry.items()
        if kind in {LOOKED, PARTLY}:
            continue
        before, after = facts[:place], facts[place + 1 :]
        yield (*before, {LOOKED: [kind]}, *after), f"without {kind}"
        for name, of in field_types(kind).items():
            if (kind, name) in tested and not of.derived:
                for other in _others(of, (body or {}).get(name)):
                    fields = {
                        key: value for key, value in {**(body or {}), name: other}.items() if value is not None
                    }
                    if _is_fact(kind, fields):
                        yield (*before, {kind: fields}, *after), f"{kind} with {name} {_told(other)}"


def _others(of: FieldType, value: Any) -> list[Any]:
    """Other values of a field; None where it is not known."""
    if of.base == "true or false":
        return [not value]
    if of.choices:
        return [next(one for one in (*of.choices, None) if one != value)]
    if of.base in NUMBERS:
        return [one for one in (0, FAR) if one != value]
    return ["1.0" if of.is_version else "something else"] + ([] if of.required or value is None else [None])


def _told(value: Any) -> str:
    return "not known" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _is_fact(kind: str, fields: dict[str, Any]) -> bool:
    try:
        fact_of(kind, fields)
    except ValueError:
        return False
    return True


def _line(kind: str, body: Any) -> str:
    if kind in {LOOKED, PARTLY}:
        return f"- {kind}: [{', '.join(listed(body))}]"
    return fact_line(fact_of(kind, body))
