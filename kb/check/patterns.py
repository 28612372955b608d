"""Checks of patterns: kinds, fields, the values they are compared with, and references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.asked import HOLDS, LINE, texts_of
from kb.check.regex import fault_of_expression
from kb.check.walk import uses
from kb.facts import fact_types, version_key
from kb.facts.base import normal_bdf
from kb.fieldtypes import NUMBERS, FieldType, field_types
from kb.rule import Cause, FieldTest, Ref, Scalar, SymptomRule
from kb.wording import mismatch, nearest, one_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.check.walk import Use
    from kb.errors import RuleError
    from kb.load import LoadedRules

ORDERINGS = frozenset({"lt", "le", "gt", "ge"})
SHORTEST_TEXT = 8
UNKNOWN_WORDS = frozenset({"unknown", "n/a", "todo"})


def kinds_exist(loaded: LoadedRules) -> Iterator[RuleError]:
    """Every fact kind is one that readers may bring."""
    for use in uses(loaded):
        kind = use.pattern.fact
        if kind not in fact_types():
            yield use.error(f"unknown fact kind `{kind}`{nearest(kind, fact_types())}")


def fields_exist(loaded: LoadedRules) -> Iterator[RuleError]:
    """Every field exists on the fact kind."""
    for use in uses(loaded):
        types = field_types(use.pattern.fact)
        for test in use.pattern.tests:
            if types and test.field not in types:
                hint = nearest(test.field, types) or f"; there are {', '.join(types)}"
                yield use.error(f"`{use.pattern.fact}` has no field `{test.field}`{hint}", test.field, key=True)


def _tests(loaded: LoadedRules) -> Iterator[tuple[Use, FieldTest, FieldType]]:
    for use in uses(loaded):
        types = field_types(use.pattern.fact)
        for test in use.pattern.tests:
            if test.field in types:
                yield use, test, types[test.field]


def literals_have_the_type_of_their_field(loaded: LoadedRules) -> Iterator[RuleError]:
    """Every literal could be the value of its field."""
    for use, test, wanted in _tests(loaded):
        if test.op == "known" or (test.op == "matches" and wanted.base != "a text"):
            continue
        for index, value in enumerate(test.values):
            if isinstance(value, Ref):
                continue
            message = _mismatch(value, wanted, as_text=test.op == "matches")
            if message:
                yield use.error_at(test, f"field `{test.field}`: {message}", index)


def _mismatch(value: Scalar, wanted: FieldType, *, as_text: bool) -> str:
    """Why a value can't be one of this field; empty where it can."""
    fits = {
        "a text": isinstance(value, str),
        "true or false": isinstance(value, bool),
        "a whole number": isinstance(value, int) and not isinstance(value, bool),
        "a number": isinstance(value, int) and not isinstance(value, bool),
    }
    if not fits[wanted.base]:
        return mismatch("a whole number" if wanted.base in NUMBERS else wanted.base, value)
    if as_text:
        return ""
    if wanted.choices and value not in wanted.choices:
        return f"{one_of(wanted.choices)}, found {shown(value)}{nearest(str(value), wanted.choices)}"
    return _not_normal(str(value)) if wanted.is_bdf else ""


def _not_normal(text: str) -> str:
    try:
        normal = normal_bdf(text)
    except ValueError as error:
        return str(error)
    return "" if normal == text else f"expected the PCI address as `{normal}`, found `{text}`"


def orderings_compare_what_has_an_order(loaded: LoadedRules) -> Iterator[RuleError]:
    """lt, le, gt and ge stand before one number, or before one version for a field that holds versions."""
    for use, test, wanted in _tests(loaded):
        if test.op not in ORDERINGS:
            continue
        if not wanted.ordered:
            message = f"`{test.op}` needs a number or a version; `{test.field}` is {wanted.base}"
            yield use.error(message, test.field, test.op, key=True)
        elif len(test.values) != 1:
            yield use.error_at(test, f"`{test.op}` takes one value, found {len(test.values)}")
        elif wanted.is_version and isinstance(test.values[0], str) and version_key(test.values[0]) is None:
            yield use.error_at(test, f"expected a version such as 570.124, found `{test.values[0]}`")


def expressions_are_safe(loaded: LoadedRules) -> Iterator[RuleError]:
    """`matches` stands before regular expressions for texts, and none that may run away on a long line."""
    for use, test, wanted in _tests(loaded):
        if test.op != "matches":
            continue
        if wanted.base != "a text":
            message = f"`matches` needs a text; `{test.field}` is {wanted.base}"
            yield use.error(message, test.field, test.op, key=True)
            continue
        for index, value in enumerate(test.values):
            fault = fault_of_expression(value) if isinstance(value, str) else ""
            if isinstance(value, Ref):
                fault = f"expected a regular expression, found {shown(str(value))}"
            if fault:
                yield use.error_at(test, fault, index)


def known_is_true_or_false(loaded: LoadedRules) -> Iterator[RuleError]:
    """`known` takes true or false, and makes sense only for a field that may be unknown."""
    for use, test, wanted in _tests(loaded):
        if test.op != "known":
            continue
        if len(test.values) != 1 or not isinstance(test.values[0], bool):
            yield use.error_at(test, "`known` takes true or false")
        elif wanted.required:
            message = f"field `{test.field}` of `{use.pattern.fact}` is always known"
            yield use.error(message, test.field, test.op, key=True)


def references_point_back(loaded: LoadedRules) -> Iterator[RuleError]:
    """Every `$binding.field` names a binding that holds already, and a field that can be compared."""
    for use in uses(loaded):
        types = field_types(use.pattern.fact)
        for test in use.pattern.tests:
            for index, value in enumerate(test.values):
                message = _bad_reference(use, value, types.get(test.field)) if isinstance(value, Ref) else ""
                if message:
                    yield use.error_at(test, message, index)


def _bad_reference(use: Use, ref: Ref, wanted: FieldType | None) -> str:
    kind = use.bound.get(ref.binding)
    if kind is None:
        later = ref.binding == use.pattern.binding
        hint = ": it is this pattern's own" if later else nearest(ref.binding, use.bound)
        return f"`{ref}`: `{ref.binding}` is no earlier binding{hint}"
    types = field_types(kind)
    if not types:
        return ""
    if ref.field not in types:
        return f"`{ref}`: `{kind}` has no field `{ref.field}`{nearest(ref.field, types)}"
    if wanted is not None and not types[ref.field].comparable(wanted):
        return f"`{ref}` is {types[ref.field].base}, expected {wanted.base}"
    return ""


def repeated_bindings_keep_their_kind(loaded: LoadedRules) -> Iterator[RuleError]:
    """A repeated binding tests the same fact further; `unless` speaks of other facts, by new names."""
    for use in uses(loaded):
        before = use.before.get(use.pattern.binding)
        name = use.pattern.binding
        if before is None:
            continue
        if use.role == "unless":
            yield use.error_at_binding(
                f"`{name}` is bound already; what `unless` excludes needs a name of its own"
            )
        elif before != use.pattern.fact:
            yield use.error(f"`{name}` is bound to `{before}` already, found `{use.pattern.fact}`")


def conclusions_are_asked_for_where_they_are_known(loaded: LoadedRules) -> Iterator[RuleError]:
    """Only states ask for the outcome, first of all in `requires`; symptoms are named as they are known."""
    for use in uses(loaded):
        item = use.rule.item
        if use.pattern.fact == "outcome":
            if not isinstance(item, Cause) or item.kind != "state":
                yield use.error("only causes of the family `state` may ask for the outcome")
            elif all(pattern.fact != "outcome" for pattern in item.requires):
                yield use.error("a cause that asks for the outcome must do so under `requires` first")
        elif use.pattern.fact == "symptom":
            if isinstance(item, SymptomRule) and use.role == "unless":
                yield use.error("a symptom can't depend on the absence of symptoms")
            yield from _unknown_symptoms(use, loaded)


def _unknown_symptoms(use: Use, loaded: LoadedRules) -> Iterator[RuleError]:
    known = loaded.base.symptoms
    for test in use.pattern.tests:
        if test.field != "id" or test.op not in {"is", "not"}:
            continue
        for index, value in enumerate(test.values):
            if isinstance(value, str) and value not in known and value not in loaded.unread:
                yield use.error_at(test, f"unknown symptom `{value}`{nearest(value, known)}", index)


def lines_are_asked_for_by_a_text(loaded: LoadedRules) -> Iterator[RuleError]:
    """A `log_line` is asked for by a text that it holds, long enough to be rare: that is what is looked for."""
    for use in uses(loaded):
        if use.pattern.fact != LINE or use.pattern.binding in use.before:
            continue
        texts = list(texts_of(use.pattern))
        if not texts:
            yield use.error(
                f"expected `{HOLDS}: a text that the line holds`: by it the line is found in what is read"
            )
        for test in use.pattern.tests:
            for index, text in enumerate(test.values if test.field == HOLDS and test.op == "is" else ()):
                if isinstance(text, str) and (len(text.strip()) < SHORTEST_TEXT or "\n" in text):
                    message = (
                        f"expected one line's text of at least {SHORTEST_TEXT} characters, found {shown(text)}"
                    )
                    yield use.error_at(test, message, index)


def unknown_is_not_written_as_a_value(loaded: LoadedRules) -> Iterator[RuleError]:
    """What is not known is left out, or asked for with `known`; no field holds `unknown` in words."""
    for use, test, wanted in _tests(loaded):
        for index, value in enumerate(test.values):
            if is_unknown_word(value, wanted):
                message = f"`{value}` is no value of `{test.field}`; for what is not known use `{{known: false}}`"
                yield use.error_at(test, message, index)


def is_unknown_word(value: object, wanted: FieldType) -> bool:
    """Whether a value says in words that there is none, where the field has no such value."""
    return isinstance(value, str) and value.strip().lower() in UNKNOWN_WORDS and value not in wanted.choices
