"""Checks of names: ids, file names, and what clauses and bindings are called."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kb.check.walk import uses
from kb.errors import RuleError
from kb.load import shipped_rules
from kb.rule import Cause, Override, Probe, SymptomRule
from kb.vocabulary import vocabulary
from kb.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.load import Item, LoadedRules, Located

RESERVED = frozenset({"id", "sid", "exception"})
"""Names with a meaning of their own in rule engines."""

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
CAUSE_ID = re.compile(rf"{_KEBAB.pattern}\.{_KEBAB.pattern}")
"""An id of a cause: family.name."""
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")


def cause_is_in_the_vocabulary(loaded: LoadedRules) -> Iterator[RuleError]:
    """The id of a cause of this program is one of those that all programs know; users take ids of their own."""
    for rule in loaded.of(Cause):
        if rule.id in vocabulary():
            continue
        if _is_shipped(rule):
            message = f"`{rule.id}` is not in the vocabulary of causes{nearest(rule.id, vocabulary())}"
            yield RuleError(rule.place("cause"), message)
        elif not CAUSE_ID.fullmatch(rule.id):
            message = f"expected an id such as `acme.queue-stuck` (family.name), found `{rule.id}`"
            yield RuleError(rule.place("cause"), message)


def _is_shipped(rule: Located[Item]) -> bool:
    return Path(rule.path).is_relative_to(shipped_rules())


def file_is_named_after_the_rule(loaded: LoadedRules) -> Iterator[RuleError]:
    """A cause, or what overrides one, lies in FAMILY/NAME.yaml, a symptom in NAME.yaml."""
    for rule in loaded.items:
        if not isinstance(rule.item, Cause | Override):
            continue
        path = Path(rule.path)
        expected = f"{path.parent.name}.{path.stem}"
        sound = rule.id in vocabulary() or (not _is_shipped(rule) and CAUSE_ID.fullmatch(rule.id))
        if rule.id != expected and sound:
            yield RuleError(rule.place("cause"), f"expected `{expected}` after folder and file, found `{rule.id}`")
    for symptom in loaded.of(SymptomRule):
        stem = Path(symptom.path).stem
        if symptom.id != stem:
            yield RuleError(symptom.place("symptom"), f"expected `{stem}` after the file, found `{symptom.id}`")


def clause_names_are_plain_and_unique(loaded: LoadedRules) -> Iterator[RuleError]:
    """Clauses have names in kebab-case, and no name stands both under `for` and under `against`."""
    for rule in loaded.of(Cause):
        for side, clauses in (("for", rule.item.for_), ("against", rule.item.against)):
            for clause in clauses:
                if not _KEBAB.fullmatch(clause.name):
                    message = f"expected a clause name such as `versions-differ`, found `{clause.name}`"
                    yield RuleError(rule.place(side, clause.name, key=True), message)
        for name in {clause.name for clause in rule.item.for_} & {clause.name for clause in rule.item.against}:
            message = f"the clause `{name}` stands under `for` already"
            yield RuleError(rule.place("against", name, key=True), message)


def probe_and_symptom_ids_are_plain(loaded: LoadedRules) -> Iterator[RuleError]:
    """Probes and symptoms have ids in kebab-case."""
    for rule in loaded.items:
        if not isinstance(rule.item, Cause | Override) and not _KEBAB.fullmatch(rule.id):
            key = "id" if isinstance(rule.item, Probe) else "symptom"
            yield RuleError(rule.place(key), f"expected lower-case words joined by `-`, found `{rule.id}`")


def binding_names_are_plain(loaded: LoadedRules) -> Iterator[RuleError]:
    """Bindings are lower-case words, and none of the names that an engine needs for itself."""
    for use in uses(loaded):
        name = use.pattern.binding
        place = use.rule.place(*use.keys, key=True)
        if name in RESERVED:
            yield RuleError(place, f"the binding name `{name}` is reserved; use another")
        elif not _IDENTIFIER.fullmatch(name):
            yield RuleError(place, f"expected a binding name such as `module` or `old_library`, found `{name}`")
