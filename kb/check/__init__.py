"""The checks that every rule must pass, one function each. None of them changes anything.

A fault that loading finds (a missing key, a text where a number belongs) is no matter of these checks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kb.check import examples, links, names, patterns, texts
from kb.load import in_order
from kb.salvage import STAND_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kb.errors import RuleError
    from kb.load import LoadedRules
    from kb.salvage import Mended

CHECKS: tuple[Callable[[LoadedRules], Iterable[RuleError]], ...] = (
    names.cause_is_in_the_vocabulary,
    names.file_is_named_after_the_rule,
    names.clause_names_are_plain_and_unique,
    names.probe_and_symptom_ids_are_plain,
    names.binding_names_are_plain,
    patterns.kinds_exist,
    patterns.fields_exist,
    patterns.literals_have_the_type_of_their_field,
    patterns.orderings_compare_what_has_an_order,
    patterns.expressions_are_safe,
    patterns.known_is_true_or_false,
    patterns.references_point_back,
    patterns.repeated_bindings_keep_their_kind,
    patterns.conclusions_are_asked_for_where_they_are_known,
    patterns.lines_are_asked_for_by_a_text,
    patterns.unknown_is_not_written_as_a_value,
    texts.no_text_is_empty,
    texts.no_message_may_come_out_empty,
    texts.placeholders_are_bound,
    texts.plain_texts_hold_no_placeholders,
    texts.words_to_fill_in_are_there,
    links.about_is_machine_or_bound,
    links.explained_symptoms_exist,
    links.every_symptom_has_a_cause,
    links.consequences_are_in_the_vocabulary,
    links.deprecated_causes_say_what_replaces_them,
    links.overrides_change_what_is_there,
    links.no_two_causes_are_equal,
    links.clauses_test_something,
    links.ask_names_a_probe_that_tells,
    links.probes_cover_known_kinds,
    links.verify_names_a_clause,
    links.remedies_can_be_undone,
    links.causes_have_references,
    examples.facts_are_valid,
    examples.something_is_shown,
    examples.names_are_unique,
    examples.asks_name_probes,
    examples.both_outcomes_are_shown,
)


_NEEDS: dict[str, frozenset[str]] = {
    "both-outcomes-are-shown": frozenset({"examples", "status"}),
    "something-is-shown": frozenset({"examples"}),
    "deprecated-causes-say-what-replaces-them": frozenset({"status", "replaced_by"}),
    "causes-have-references": frozenset({"references"}),
    "clause-names-are-plain-and-unique": frozenset({"for", "against"}),
}
"""What of a rule must be as its author wrote it for a check to mean anything."""
_NEEDS_ALL = frozenset({"no-two-causes-are-equal", "every-symptom-has-a-cause"})
_NEEDS_NAMES = frozenset(
    {
        "placeholders-are-bound",
        "references-point-back",
        "repeated-bindings-keep-their-kind",
        "about-is-machine-or-bound",
        "no-message-may-come-out-empty",
        "clauses-test-something",
        "ask-names-a-probe-that-tells",
        "verify-names-a-clause",
        "conclusions-are-asked-for-where-they-are-known",
        "overrides-change-what-is-there",
        "words-to-fill-in-are-there",
    }
)
"""Checks that ask for names which may stand in what could not be read."""


def check(loaded: LoadedRules) -> list[RuleError]:
    """All faults of these rules, those found while loading among them, in order of file and line.

    Of a rule that could not be loaded the rest is checked as well, as far as that does not depend on its faults.
    """
    everything = replace(loaded, items=(*loaded.items, *loaded.partial)) if loaded.partial else loaded
    found = [_named(error, one) for one in CHECKS for error in one(everything)]
    errors = [*loaded.errors, *_in_what_is_left(loaded, found)]
    once = {(error.place, error.message): error for error in errors}
    return sorted(once.values(), key=in_order)


def _named(error: RuleError, found_by: Callable[[LoadedRules], Iterable[RuleError]]) -> RuleError:
    error.check = found_by.__name__.replace("_", "-")
    return error


def _in_what_is_left(loaded: LoadedRules, found: list[RuleError]) -> list[RuleError]:
    """The faults that were found, without those that only follow from faults of loading."""
    told = {error.place for error in loaded.errors}
    left = {rule.path: rule.mended for rule in loaded.partial if rule.mended is not None}
    return [
        error
        for error in found
        if error.place.path not in left
        or (
            error.place not in told
            and f"`{STAND_IN}`" not in error.message
            and _means_something(error.check, left[error.place.path])
        )
    ]


def _means_something(check_name: str, mended: Mended) -> bool:
    if check_name in _NEEDS_ALL or (mended.lost and check_name in _NEEDS_NAMES):
        return False
    return mended.parts.isdisjoint(_NEEDS.get(check_name, ()))
