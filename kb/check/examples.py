"""Checks of the examples inside rules: their facts are facts, and both outcomes are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kb.check.patterns import is_unknown_word
from kb.errors import RuleError
from kb.examples import LOOKED, PARTLY, fact_of, listed
from kb.facts import fact_types
from kb.fieldtypes import field_types
from kb.rule import Cause
from kb.wording import in_words, mismatch, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.check.walk import Keys
    from kb.load import LoadedRules, Located

POSITIVE = frozenset({"confirmed", "likely"})


def facts_are_valid(loaded: LoadedRules) -> Iterator[RuleError]:
    """Every fact of an example could have been read, and `looked` and `partly` name kinds."""
    for rule in loaded.of(Cause):
        for number, example in enumerate(rule.item.examples):
            for index, entry in enumerate(example.facts):
                yield from _faults_of_entry(rule, ("examples", number, "facts", index), entry)


def _faults_of_entry(rule: Located[Cause], keys: Keys, entry: dict[str, Any]) -> Iterator[RuleError]:
    if len(entry) != 1:
        yield RuleError(
            rule.place(*keys), f"expected one `kind: {{field: value}}`, found {len(entry) or 'no'} kinds"
        )
        return
    ((kind, body),) = entry.items()
    if kind in {LOOKED, PARTLY}:
        for index, name in enumerate(listed(body)):
            if not isinstance(name, str):
                yield RuleError(rule.place(*keys, kind, index), mismatch("a fact kind", name))
            elif name not in fact_types():
                message = f"unknown fact kind `{name}`{nearest(name, fact_types())}"
                yield RuleError(rule.place(*keys, kind, index), message)
    elif kind not in fact_types():
        hint = nearest(kind, (*fact_types(), LOOKED, PARTLY))
        yield RuleError(rule.place(*keys, kind, key=True), f"unknown fact kind `{kind}`{hint}")
    elif body is not None and not isinstance(body, dict):
        yield RuleError(rule.place(*keys, kind), mismatch("fields `{field: value}`", body))
    else:
        yield from _faults_of_fact(rule, (*keys, kind), kind, body or {})


def _faults_of_fact(rule: Located[Cause], keys: Keys, kind: str, fields: dict[str, Any]) -> Iterator[RuleError]:
    types = field_types(kind)
    stated = {}
    for name, value in fields.items():
        if name not in types:
            hint = nearest(name, types) or f"; there are {', '.join(types)}"
            yield RuleError(rule.place(*keys, name, key=True), f"`{kind}` has no field `{name}`{hint}")
        elif types[name].derived:
            yield RuleError(rule.place(*keys, name, key=True), f"`{name}` follows from other fields; leave it out")
        else:
            stated[name] = value
            if is_unknown_word(value, types[name]):
                message = f"`{value}` is no value of `{name}`; leave out what is not known"
                yield RuleError(rule.place(*keys, name), message)
    try:
        fact_of(kind, stated)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            if fault["type"] == "missing":
                yield RuleError(rule.place(*keys, key=True), f"`{kind}`: {in_words(fault)}")
            else:
                field = fault["loc"][0]
                yield RuleError(rule.place(*keys, field), f"field `{field}`: {in_words(fault)}")


def something_is_shown(loaded: LoadedRules) -> Iterator[RuleError]:
    """An example has facts, the text of a log, or both."""
    for rule in loaded.of(Cause):
        for number, example in enumerate(rule.item.examples):
            if not example.model_fields_set & {"facts", "log"}:
                yield RuleError(
                    rule.place("examples", number, key=True), "expected `facts`, or `log: |` with a pasted text"
                )


def names_are_unique(loaded: LoadedRules) -> Iterator[RuleError]:
    """No two examples of a cause have one name."""
    for rule in loaded.of(Cause):
        seen: set[str] = set()
        for number, example in enumerate(rule.item.examples):
            if example.name in seen:
                yield RuleError(
                    rule.place("examples", number, "name"),
                    f"the example `{example.name}` stands above already",
                )
            seen.add(example.name)


def asks_name_probes(loaded: LoadedRules) -> Iterator[RuleError]:
    """`asks` names probes."""
    probes = loaded.base.probes
    for rule in loaded.of(Cause):
        for number, example in enumerate(rule.item.examples):
            for index, probe in enumerate(example.asks):
                if probe not in probes and probe not in loaded.unread:
                    place = rule.place("examples", number, "asks", index)
                    yield RuleError(place, f"unknown probe `{probe}`{nearest(probe, probes)}")


def both_outcomes_are_shown(loaded: LoadedRules) -> Iterator[RuleError]:
    """A rule shows when it comes out and when not: with two look-alikes, or one while it is on trial."""
    for rule in loaded.of(Cause):
        if rule.item.status == "deprecated":
            continue
        place = rule.place("examples", key=True)
        positive = sum(example.expect in POSITIVE for example in rule.item.examples)
        other = len(rule.item.examples) - positive
        wanted = 2 if rule.item.status == "stable" else 1
        if not positive:
            yield RuleError(place, "expected an example that ends confirmed or likely")
        if other < wanted:
            asked = f"{wanted} examples that end" if wanted > 1 else "an example that ends"
            message = f"expected {asked} otherwise than confirmed or likely, found {other or 'none'}"
            yield RuleError(place, message)
