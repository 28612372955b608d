"""Rules that were read → a rule base: one rule for each id, and what users override is overridden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb.errors import RuleError
from kb.rule import Cause, Changes, Clause, Overridden, Override, Probe, RuleBase, SymptomRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kb.load import Item, Located

ID_KEYS: Mapping[type[Any], str] = {Cause: "cause", SymptomRule: "symptom", Probe: "id", Override: "cause"}
"""The key under which each kind of rule has its id."""

HOW_TO_OVERRIDE = "; to replace it write `overrides: whole`, to change weights only `overrides: {weights: …}`"


def base_of(items: Iterable[Located[Item]]) -> RuleBase:
    """The rule base of these rules: of several with one id the first, or the one that overrides the others."""
    causes: dict[str, Cause] = {}
    symptoms: dict[str, SymptomRule] = {}
    probes: dict[str, Probe] = {}
    files: dict[str, str] = {}
    overridden: dict[str, Overridden] = {}
    overrides = []
    for one in items:
        if isinstance(one.item, Override):
            overrides.append(one)
            continue
        if isinstance(one.item, Cause):
            if one.item.overrides and one.id not in overridden:
                overridden[one.id] = Overridden(file=one.path, changes=("all of it",))
                causes.pop(one.id, None)
                files.pop(one.id, None)
            causes.setdefault(one.id, one.item)
        elif isinstance(one.item, SymptomRule):
            symptoms.setdefault(one.id, one.item)
        else:
            probes.setdefault(one.id, one.item)
            continue
        files.setdefault(one.id, one.path)
    for one in overrides:
        if one.id in causes and isinstance(one.item, Override):
            causes[one.id], changes = _changed(causes[one.id], one.item.overrides)
            overridden[one.id] = Overridden(file=one.path, changes=changes, because=one.item.because)
    return RuleBase.model_construct(
        causes=causes, symptoms=symptoms, probes=probes, files=files, overridden=overridden
    )


def _changed(cause: Cause, wanted: Changes) -> tuple[Cause, tuple[str, ...]]:
    """The cause with these changes, and what they change in words."""
    update: dict[str, Any] = {}
    words = []
    for key in ("status", "prior"):
        value, before = getattr(wanted, key), getattr(cause, key)
        if value is not None and value != before:
            update[key] = value
            words.append(f"{key} {value} instead of {before}")
    if update.get("status", "deprecated") != "deprecated":
        update["replaced_by"] = ()
    for side in ("for_", "against"):
        clauses: tuple[Clause, ...] = getattr(cause, side)
        update[side] = tuple(
            one.model_copy(update={"weight": wanted.weights.get(one.name, one.weight)}) for one in clauses
        )
        words += [
            f"{one.name} {wanted.weights[one.name]} instead of {one.weight}"
            for one in clauses
            if wanted.weights.get(one.name, one.weight) != one.weight
        ]
    return cause.model_copy(update=update), tuple(words) or ("nothing",)


def repeated_ids(items: Iterable[Located[Item]]) -> Iterator[RuleError]:
    """The rules whose id is taken, but for one that says that it overrides the other."""
    first: dict[tuple[type, str], Located[Item]] = {}
    for one in items:
        key = (type(one.item), one.id)
        before = first.setdefault(key, one)
        if before is one:
            continue
        if _overrides(one) != _overrides(before):
            first[key] = one if _overrides(one) else before
            continue
        name = ID_KEYS[type(one.item)]
        what = "overridden" if isinstance(one.item, Override) else "defined"
        hint = HOW_TO_OVERRIDE if isinstance(one.item, Cause) and not _overrides(one) else ""
        yield RuleError(one.place(name), f"`{one.id}` is {what} already: {before.place(name)}{hint}")


def _overrides(one: Located[Item]) -> bool:
    return isinstance(one.item, Cause) and one.item.overrides is not None
