"""Checks of what rules say of each other: symptoms, causes, probes, clauses, references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kb.check.walk import bindings, bound_in_all, parts_of
from kb.errors import RuleError
from kb.facts import fact_types
from kb.fieldtypes import field_types
from kb.rule import Cause, Clause, Override, Probe, Remedy, SymptomRule
from kb.vocabulary import vocabulary
from kb.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kb.load import LoadedRules, Located

_REFERENCE = re.compile(r"https?://[^\s/]+\.[^\s]+|own: *\S.*")


def about_is_machine_or_bound(loaded: LoadedRules) -> Iterator[RuleError]:
    """A rule speaks of the machine, or of a field of a fact that is bound whenever it applies.

    A cause may put it into a text, `GPU {oom.gpu}`; its placeholders are checked with those of other texts.
    """
    for cause in loaded.of(Cause):
        about = cause.item.about
        if "{" not in about:
            message = _fault_of_about(about, bindings(cause.item.requires), ", or a text with `{binding.field}`")
            if message:
                yield RuleError(cause.place("about"), message)
    for symptom in loaded.of(SymptomRule):
        message = _fault_of_about(symptom.item.about, bound_in_all(symptom.item.when, {}), "")
        if message:
            yield RuleError(symptom.place("about"), message)


def _fault_of_about(about: str, bound: Mapping[str, str], more: str) -> str:
    if about == "machine":
        return ""
    binding, dot, field = about.removeprefix("$").partition(".")
    if not (about.startswith("$") and binding and dot and field):
        return f"expected `machine`, `$binding.field`{more}, found `{about}`"
    if binding not in bound:
        return f"`{about}`: `{binding}` is not bound whenever the rule applies{nearest(binding, bound)}"
    types = field_types(bound[binding])
    if types and field not in types:
        return f"`{about}`: `{bound[binding]}` has no field `{field}`{nearest(field, types)}"
    return ""


def explained_symptoms_exist(loaded: LoadedRules) -> Iterator[RuleError]:
    """`explains` names symptoms for which there is a rule."""
    known = loaded.base.symptoms
    for rule in loaded.of(Cause):
        for index, symptom in enumerate(rule.item.explains):
            if symptom not in known and symptom not in loaded.unread:
                yield RuleError(
                    rule.place("explains", index), f"unknown symptom `{symptom}`{nearest(symptom, known)}"
                )


def every_symptom_has_a_cause(loaded: LoadedRules) -> Iterator[RuleError]:
    """A symptom that nothing explains would stay a riddle for ever."""
    explained = {symptom for rule in loaded.of(Cause) for symptom in rule.item.explains}
    for rule in loaded.of(SymptomRule):
        if rule.id not in explained and not loaded.unread:
            yield RuleError(rule.place("symptom"), f"no cause explains the symptom `{rule.id}`")


def consequences_are_in_the_vocabulary(loaded: LoadedRules) -> Iterator[RuleError]:
    """`leads_to` names other causes: those that all programs know, and those that are read beside them."""
    known = {**vocabulary(), **loaded.base.causes}
    for rule in loaded.of(Cause):
        for index, consequence in enumerate(rule.item.leads_to):
            if consequence not in known and consequence not in loaded.unread:
                message = f"`{consequence}` is not in the vocabulary of causes{nearest(consequence, known)}"
                yield RuleError(rule.place("leads_to", index), message)
            elif consequence == rule.id:
                yield RuleError(rule.place("leads_to", index), "a cause can't lead to itself")


def deprecated_causes_say_what_replaces_them(loaded: LoadedRules) -> Iterator[RuleError]:
    """A deprecated cause, and no other, names what has taken its place and is not deprecated itself."""
    causes = loaded.base.causes
    for rule in loaded.of(Cause):
        deprecated = rule.item.status == "deprecated"
        if deprecated and not rule.item.replaced_by:
            message = "a deprecated cause says what has taken its place: `replaced_by: [a cause]`"
            yield RuleError(rule.place("status"), message)
        elif rule.item.replaced_by and not deprecated:
            message = f"`{rule.id}` is {rule.item.status}: only `status: deprecated` goes with `replaced_by`"
            yield RuleError(rule.place("replaced_by", key=True), message)
        for index, name in enumerate(rule.item.replaced_by):
            place = rule.place("replaced_by", index)
            if name == rule.id:
                yield RuleError(place, "a cause can't replace itself")
            elif name not in causes:
                if name not in loaded.unread:
                    yield RuleError(place, f"there is no rule for the cause `{name}`{nearest(name, causes)}")
            elif causes[name].status == "deprecated":
                yield RuleError(place, f"`{name}` is deprecated itself; name what has taken its place")


def overrides_change_what_is_there(loaded: LoadedRules) -> Iterator[RuleError]:
    """What overrides a cause names one that there is, and clauses of it."""
    causes = loaded.base.causes
    for rule in loaded.of(Override):
        if rule.id not in causes:
            if rule.id not in loaded.unread:
                message = f"there is no cause `{rule.id}` to override{nearest(rule.id, causes)}"
                yield RuleError(rule.place("cause"), message)
            continue
        names = [clause.name for clause in causes[rule.id].clauses]
        for name in rule.item.overrides.weights:
            if name not in names:
                message = f"no clause of `{rule.id}` is named `{name}`{nearest(name, names)}"
                yield RuleError(rule.place("overrides", "weights", name, key=True), message)


def no_two_causes_are_equal(loaded: LoadedRules) -> Iterator[RuleError]:
    """Two causes that ask for the same would always come out together: one of them says too little."""
    first: dict[object, Located[Cause]] = {}
    for rule in loaded.of(Cause):
        sides = ((clause.when, clause.unless) for side in (rule.item.for_, rule.item.against) for clause in side)
        before = first.setdefault((rule.item.requires, len(rule.item.for_), *sides), rule)
        if before.id != rule.id:
            for one, other in ((before, rule), (rule, before)):
                message = f"it requires and tests the same as `{other.id}`: say what tells them apart"
                yield RuleError(one.place("cause"), message)


def clauses_test_something(loaded: LoadedRules) -> Iterator[RuleError]:
    """A clause has `when`, `unless` or both."""
    for rule in loaded.of(Cause):
        for keys, part in parts_of(rule.item):
            if isinstance(part, Clause) and not part.when and not part.unless:
                yield RuleError(rule.place(*keys, key=True), "expected `when` or `unless`: it tests nothing")


def ask_names_a_probe_that_tells(loaded: LoadedRules) -> Iterator[RuleError]:
    """`ask` names a probe whose output can settle the clause: it covers a kind that the clause adds."""
    probes = loaded.base.probes
    for rule in loaded.of(Cause):
        required = set(bindings(rule.item.requires).values())
        for keys, part in parts_of(rule.item):
            if not isinstance(part, Clause) or part.ask is None:
                continue
            place = rule.place(*keys, "ask")
            if part.ask not in probes:
                if part.ask not in loaded.unread:
                    yield RuleError(place, f"unknown probe `{part.ask}`{nearest(part.ask, probes)}")
                continue
            kinds = {pattern.fact for patterns in (*part.when, part.unless) for pattern in patterns}
            wanted = (kinds - required) or kinds
            covered = set(probes[part.ask].covers)
            if not wanted & covered and (wanted | covered) <= fact_types().keys():
                others = [name for name, probe in probes.items() if wanted & set(probe.covers)]
                hint = f"; these do: {', '.join(others)}" if others else "; no probe does, so leave `ask` out"
                kinds_in_words = " or ".join(f"`{kind}`" for kind in sorted(wanted))
                yield RuleError(place, f"the probe `{part.ask}` does not bring {kinds_in_words}{hint}")


def probes_cover_known_kinds(loaded: LoadedRules) -> Iterator[RuleError]:
    """A probe runs something, and brings facts of known kinds."""
    for rule in loaded.of(Probe):
        for name in ("run", "covers"):
            if not getattr(rule.item, name):
                yield RuleError(rule.place(name), f"`{name}` is empty")
        for index, kind in enumerate(rule.item.covers):
            if kind not in fact_types():
                yield RuleError(
                    rule.place("covers", index), f"unknown fact kind `{kind}`{nearest(kind, fact_types())}"
                )


def verify_names_a_clause(loaded: LoadedRules) -> Iterator[RuleError]:
    """`verify` names a clause of the same cause."""
    for rule in loaded.of(Cause):
        names = [clause.name for clause in rule.item.clauses]
        for keys, part in parts_of(rule.item):
            if isinstance(part, Remedy) and part.verify not in names:
                yield RuleError(
                    rule.place(*keys, "verify"),
                    f"no clause is named `{part.verify}`{nearest(part.verify, names)}",
                )


def remedies_can_be_undone(loaded: LoadedRules) -> Iterator[RuleError]:
    """Every remedy says how to take it back, if only that nothing needs to be."""
    for rule in loaded.of(Cause):
        for keys, part in parts_of(rule.item):
            if isinstance(part, Remedy) and not part.undo:
                yield RuleError(rule.place(*keys, "undo"), "`undo` is empty; where nothing needs undoing, say so")


def causes_have_references(loaded: LoadedRules) -> Iterator[RuleError]:
    """A fault names a source, and every source is a URL or an `own:` note."""
    for rule in loaded.of(Cause):
        if not rule.item.references and rule.item.kind == "fault":
            yield RuleError(rule.place("references", key=True), "expected at least one reference")
        for keys, item in ((), rule.item), *parts_of(rule.item):
            for index, text in enumerate(getattr(item, "references", ())):
                if not _REFERENCE.fullmatch(text.strip()):
                    place = rule.place(*keys, "references", index)
                    yield RuleError(place, f"expected a URL or `own: …`, found `{text}`")
