"""Checks of texts: nothing empty, and every `{binding.field}` is bound."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from kb.check.walk import Keys, bindings, bound_in_all, fillings_of, parts_of
from kb.errors import RuleError
from kb.facts import fact_types
from kb.fieldtypes import field_types
from kb.rule import Cause, Clause, Probe, SymptomRule
from kb.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo

    from kb.check.walk import Part
    from kb.load import Item, LoadedRules, Located
    from kb.pattern import Patterns

_ONE = ("title", "because", "says", "do", "expect", "costs", "caution", "gives")
_MANY = ("run", "undo", "check")
_FILLED = frozenset({"about", "says", "do", "run", "undo", "check", "expect", "costs", "caution"})
_OPTIONAL = frozenset({"expect", "costs", "caution"})
_PLACEHOLDER = re.compile(r"\{[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\}")


def no_text_is_empty(loaded: LoadedRules) -> Iterator[RuleError]:
    """A text that is asked for says something."""
    for rule in loaded.items:
        for keys, text in (*_texts(rule), *_names(rule)):
            if not text.strip() and _key(keys) not in _OPTIONAL:
                yield RuleError(rule.place(*keys), f"`{_key(keys)}` is empty")


def no_message_may_come_out_empty(loaded: LoadedRules) -> Iterator[RuleError]:
    """What a clause or symptom says holds a word of its own, or a value that is known whenever it is said."""
    for rule in loaded.items:
        if isinstance(rule.item, Cause):
            for keys, part in parts_of(rule.item):
                if isinstance(part, Clause):
                    choices = part.when or (rule.item.requires,)
                    yield from _emptiness(rule, (*keys, "says"), part.says, rule.item.requires, choices)
        elif isinstance(rule.item, SymptomRule):
            yield from _emptiness(rule, ("says",), rule.item.says, (), rule.item.when)


def _emptiness(
    rule: Located[Item], keys: Keys, text: str, before: Patterns, choices: Sequence[Patterns]
) -> Iterator[RuleError]:
    names = _PLACEHOLDER.findall(text)
    if not names or any(char.isalnum() for char in _PLACEHOLDER.sub("", text)):
        return
    if not all(any(_is_known(name[1:-1], (*before, *choice)) for name in names) for choice in choices):
        message = f"it would say nothing where {' and '.join(names)} is not known; add a word or ask `known: true`"
        yield RuleError(rule.place(*keys), message)


def _is_known(name: str, patterns: Patterns) -> bool:
    """Whether a field has a value whenever these patterns match."""
    binding, _, field = name.partition(".")
    for pattern in patterns:
        if pattern.binding != binding:
            continue
        types = field_types(pattern.fact)
        if field not in types or types[field].required:
            return True
        if any(
            test.field == field and not (test.op == "known" and False in test.values) for test in pattern.tests
        ):
            return True
        if any(field in (one.alias, name) for name, one in _with_default(pattern.fact)):
            return True
    return False


def _with_default(kind: str) -> Iterator[tuple[str, FieldInfo]]:
    return ((name, one) for name, one in fact_types()[kind].model_fields.items() if one.default is not None)


def placeholders_are_bound(loaded: LoadedRules) -> Iterator[RuleError]:
    """Each `{binding.field}` that is filled in names a binding that holds there, and a field of it."""
    for rule in loaded.items:
        for keys, text in _texts(rule):
            if _is_filled(rule, keys):
                yield from _faults(rule, keys, text)


def plain_texts_hold_no_placeholders(loaded: LoadedRules) -> Iterator[RuleError]:
    """Texts that are shown as they stand hold no `{binding.field}`; nor do commands of probes: they have words."""
    for rule in loaded.items:
        for keys, text in _texts(rule):
            found = None if _is_filled(rule, keys) else _PLACEHOLDER.search(text)
            if found is not None:
                message = f"`{found.group()}` is not filled in here: this text is shown as it stands"
                yield RuleError(rule.place(*keys), message)


def words_to_fill_in_are_there(loaded: LoadedRules) -> Iterator[RuleError]:
    """A word that facts fill in occurs in a command of its probe."""
    for rule in loaded.of(Probe):
        for keys, filling in fillings_of(rule.item):
            for word in filling.words:
                if not any(word in command for command in rule.item.run):
                    yield RuleError(rule.place(*keys, "words", word, key=True), f"no command holds `{word}`")


def _is_filled(rule: Located[Item], keys: Keys) -> bool:
    return keys[0] == "fill" if isinstance(rule.item, Probe) else _key(keys) in _FILLED


def _key(keys: Keys) -> str:
    return next(str(key) for key in reversed(keys) if isinstance(key, str))


def _texts(rule: Located[Item]) -> Iterator[tuple[Keys, str]]:
    """Every text that people or shells read, with the keys that lead to it."""
    yield from _texts_of(rule.item, ())
    if isinstance(rule.item, Cause):
        if "{" in rule.item.about:
            yield ("about",), rule.item.about
        for keys, part in parts_of(rule.item):
            yield from _texts_of(part, keys)
    elif isinstance(rule.item, Probe):
        for keys, filling in fillings_of(rule.item):
            for word, text in filling.words.items():
                yield (*keys, "words", word), text


def _texts_of(item: object, keys: Keys) -> Iterator[tuple[Keys, str]]:
    for name in _ONE:
        if isinstance(text := getattr(item, name, None), str):
            yield (*keys, name), text
    for name in _MANY:
        for index, text in enumerate(getattr(item, name, ())):
            yield (*keys, name, index), text


def _names(rule: Located[Item]) -> Iterator[tuple[Keys, str]]:
    if isinstance(rule.item, Cause):
        for index, example in enumerate(rule.item.examples):
            yield ("examples", index, "name"), example.name


def _part(rule: Located[Item], keys: Keys) -> Part | SymptomRule | None:
    """What binds facts for the text at these keys."""
    if isinstance(rule.item, Cause):
        return next((part for start, part in parts_of(rule.item) if keys[:2] == start), None)
    if isinstance(rule.item, Probe):
        return next((part for start, part in fillings_of(rule.item) if keys[:2] == start), None)
    return rule.item if isinstance(rule.item, SymptomRule) else None


def _faults(rule: Located[Item], keys: Keys, text: str) -> Iterator[RuleError]:
    place = rule.place(*keys)
    part = _part(rule, keys)
    bound = bindings(rule.item.requires) if isinstance(rule.item, Cause) else {}
    if part is not None:
        bound = bound_in_all(part.when, bound)
    try:
        names = list(_placeholders(text))
    except ValueError:
        yield RuleError(place, "a brace stands alone; braces that are meant as text are doubled: `{{`, `}}`")
        return
    for name in names:
        message = _fault(name, bound, part)
        if message:
            yield RuleError(place, message)


def _fault(name: str, bound: Mapping[str, str], part: Part | SymptomRule | None) -> str:
    binding, _, field = name.partition(".")
    if not _PLACEHOLDER.fullmatch(f"{{{name}}}"):
        return f"expected `{{binding.field}}`, found `{{{name}}}`; braces that are meant as text are doubled"
    if binding not in bound:
        return f"`{binding}` is not bound here{_why_not(binding, bound, part)}"
    kind = bound[binding]
    if kind in fact_types() and field not in field_types(kind):
        return f"`{kind}` has no field `{field}`{nearest(field, field_types(kind))}"
    return ""


def _why_not(binding: str, bound: Mapping[str, str], part: Part | SymptomRule | None) -> str:
    if part is not None and any(binding in bindings(choice) for choice in part.when):
        return ": not every alternative of `when` binds it to the same kind"
    if part is not None and binding in bindings(part.unless):
        return ": `unless` binds nothing"
    return nearest(binding, bound)


def _placeholders(text: str) -> Iterator[str]:
    """What stands in single braces. Raises ValueError where a brace stands alone."""
    for _, name, form, conversion in string.Formatter().parse(text):
        if name is not None:
            yield name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
