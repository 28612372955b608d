"""The checks that every rule must pass, one function each. None of them changes anything.

A fault that loading finds (a missing key, a text where a number belongs) is no matter of these checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.check import examples, links, names, patterns, texts
from kb.load import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kb.errors import RuleError
    from kb.load import LoadedRules

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
    examples.names_are_unique,
    examples.asks_name_probes,
    examples.both_outcomes_are_shown,
)


def check(loaded: LoadedRules) -> list[RuleError]:
    """All faults of these rules, those found while loading among them, in order of file and line."""
    errors = [*loaded.errors, *(_named(error, one) for one in CHECKS for error in one(loaded))]
    once = {(error.place, error.message): error for error in errors}
    return sorted(once.values(), key=in_order)


def _named(error: RuleError, found_by: Callable[[LoadedRules], Iterable[RuleError]]) -> RuleError:
    error.check = found_by.__name__.replace("_", "-")
    return error
