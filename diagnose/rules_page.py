"""A cause as a page that people read: what it is, what speaks for and against it, what to do.

It is Markdown in either form: plain, as a terminal shows it, or marked up, where names lead to pages of their own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from diagnose.render.words import remedy_terms
from kb.rule import DECIBANS, PRIORS, Cause, Clause, Example, FieldTest, Pattern, Patterns, Remedy

Thing: TypeAlias = Literal["cause", "symptom", "probe", "fact", "clause"]


@dataclass(frozen=True, slots=True)
class Markup:
    """How a page writes what it is given."""

    text: Callable[[str], str]
    """A text that is to be read as it stands."""
    name: Callable[[Thing, str], str]
    """The id of a cause, symptom or probe, the kind of a fact, or the name of a clause of the same page."""
    address: Callable[[str], str]
    """Where something is to be read: a URL."""
    width: int | None
    """Where lines are broken, in columns; None: nowhere."""


PLAIN = Markup(text=str, name=lambda _, name: f"`{name}`", address=str, width=96)
_COMMAND = " " * 4
_OPERATORS = {
    "lt": "less than",
    "le": "at most",
    "gt": "more than",
    "ge": "at least",
    "matches": "matching",
}
_SIDES = {"for": ("for", "against"), "against": ("against", "for")}


def page(cause: Cause, form: Markup = PLAIN) -> str:
    """The whole cause."""
    parts = [*head(cause, form), *how_it_is_told(cause, form), *what_to_do(cause, form), *sources(cause, form)]
    return "\n\n".join(parts) + "\n"


def head(cause: Cause, form: Markup) -> Iterator[str]:
    """Its title, what it is, and how it comes about."""
    yield f"# {form.text(cause.title)}"
    yield _wrapped(f"`{cause.cause}` · {_terms(cause, form)}", form)
    if cause.explains:
        yield _wrapped(f"Explains {_names('symptom', cause.explains, form, ', ')}.", form)
    if cause.leads_to:
        yield _wrapped(f"Leads to {_names('cause', cause.leads_to, form, ', ')}.", form)
    yield _wrapped(form.text(" ".join(cause.because.split())), form)


def _terms(cause: Cause, form: Markup) -> str:
    about = "about the machine" if cause.about == "machine" else f"one for each {form.text(cause.about)}"
    instead = f", replaced by {_names('cause', cause.replaced_by, form)}" if cause.replaced_by else ""
    terms = [
        "a state, not a fault" if cause.kind == "state" else "a fault",
        f"{cause.status}{instead}",
        f"{cause.prior} among machines that come to us ({PRIORS[cause.prior]})",
        about,
    ]
    return " · ".join([*terms, *(["set aside where a better cause explains the same"] if cause.fallback else [])])


def how_it_is_told(cause: Cause, form: Markup) -> Iterator[str]:
    """Where it is proposed, and the clauses that weigh it."""
    yield "## Proposed where"
    yield patterns_in_words(cause.requires, form)
    for side, clauses in (("for", cause.for_), ("against", cause.against)):
        if clauses:
            yield f"## What speaks {side} it"
        for clause in clauses:
            yield from _clause(clause, side, form)


def what_to_do(cause: Cause, form: Markup) -> Iterator[str]:
    """Its remedies, in the order in which the rule gives them."""
    if cause.remedies:
        yield "## What to do"
    for number, remedy in enumerate(cause.remedies, 1):
        lead = f"{number}. "
        first, *others = _remedy(remedy, form, len(lead))
        yield textwrap.indent("\n\n".join([first, *others]), " " * len(lead)).replace(" " * len(lead), lead, 1)


def sources(cause: Cause, form: Markup) -> Iterator[str]:
    """The examples that hold it, and what it is taken from."""
    if cause.examples:
        yield "## Examples"
        yield "\n".join(_example(example, form) for example in cause.examples)
    if cause.references:
        yield "## References"
        yield "\n".join(f"- {form.address(reference)}" for reference in cause.references)


def _names(thing: Thing, names: tuple[str, ...], form: Markup, between: str = " and ") -> str:
    return between.join(form.name(thing, name) for name in names)


def _wrapped(text: str, form: Markup, indent: int = 0, first: str | None = None) -> str:
    """The text in lines that leave room for an indent; `first` stands before it, and the others below that."""
    lead = first or ""
    if form.width is None:
        return lead + text
    return textwrap.fill(
        lead + text,
        form.width - indent,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def patterns_in_words(patterns: Patterns, form: Markup, indent: int = 0) -> str:
    """A list of what facts must be like, `indent` columns from the left."""
    return "\n".join(_wrapped(_pattern(pattern, form), form, indent, "- ") for pattern in patterns)


def _pattern(pattern: Pattern, form: Markup) -> str:
    tests = ", ".join(_test(test, pattern, form) for test in pattern.tests)
    return f"{pattern.binding}: {form.name('fact', pattern.fact)}" + (f" with {tests}" if tests else "")


def _test(test: FieldTest, pattern: Pattern, form: Markup) -> str:
    values = [str(value).lower() if isinstance(value, bool) else str(value) for value in test.values]
    field = form.text(test.field)
    if test.op == "known":
        return f"{field} {'known' if values == ['true'] else 'not known'}"
    is_symptom = pattern.fact == "symptom" and test.field == "id" and test.op != "matches"
    shown = [form.name("symptom", value) if is_symptom else form.text(value) for value in values]
    if test.op == "not":
        return f"{field} not {' nor '.join(shown)}"
    return " ".join(filter(None, (field, _OPERATORS.get(test.op, ""), " or ".join(shown))))


def weight_in_words(clause: Clause, side: str) -> str:
    """What a clause does when it is true, and when it is false."""
    with_it, against_it = _SIDES[side]
    parts = [f"true: {_effect(clause.weight, with_it)}"]
    if clause.otherwise:
        parts.append(f"false: {_effect(clause.otherwise, against_it)}")
    else:
        parts.append("false: says nothing")
    return "; ".join(parts)


def _effect(weight: str, direction: str) -> str:
    if weight == "conclusive":
        return "proves it" if direction == "for" else "rules it out"
    sign = "+" if direction == "for" else "-"
    return f"{weight} evidence {direction} it ({sign}{DECIBANS[weight]})"


def _clause(clause: Clause, side: str, form: Markup) -> Iterator[str]:
    yield f"### {clause.name}"
    yield _wrapped(f"“{form.text(clause.says)}”", form)
    for number, choice in enumerate(clause.when):
        if number:
            yield "or"
        yield patterns_in_words(choice, form)
    if clause.unless:
        yield "unless there is"
        yield patterns_in_words(clause.unless, form)
    notes = [weight_in_words(clause, side)]
    if clause.same:
        notes.append(f"counts once with all of the group `{clause.same}`")
    if clause.ask:
        notes.append(f"not looked: run the probe {form.name('probe', clause.ask)}")
    yield _wrapped("; ".join(notes), form)


def _remedy(remedy: Remedy, form: Markup, indent: int) -> Iterator[str]:
    yield _wrapped(form.text(remedy.do), form, indent)
    if remedy.run:
        yield _commands(remedy.run)
    for index, choice in enumerate(remedy.when):
        yield "Only where" if not index else "or"
        yield patterns_in_words(choice, form, indent)
    if remedy.unless:
        yield "Not where"
        yield patterns_in_words(remedy.unless, form, indent)
    kind = "Keeps it from coming back" if remedy.prevents else "Lasting" if remedy.lasting else "A workaround"
    yield _wrapped(f"{kind} · {remedy_terms(remedy)}", form, indent)
    notes = [("Caution", remedy.caution), ("Costs", remedy.costs), ("Undo", "; ".join(remedy.undo))]
    for label, text in notes:
        if text:
            yield _wrapped(f"{label}: {form.text(text)}", form, indent)
    if remedy.check:
        yield "Check:"
        yield _commands(remedy.check)
    if remedy.expect:
        yield _wrapped(f"Expect: {form.text(remedy.expect)}", form, indent)
    yield _wrapped(f"It worked when {form.name('clause', remedy.verify)} has changed", form, indent)
    if remedy.references:
        yield f"See {' '.join(map(form.address, remedy.references))}"


def _commands(commands: tuple[str, ...]) -> str:
    lines = [line for command in commands for line in command.rstrip("\n").split("\n")]
    return "\n".join(f"{_COMMAND}{line}" if line else "" for line in lines)


def _example(example: Example, form: Markup) -> str:
    return _wrapped(f"{form.text(example.name)} → {example.expect}", form, 0, "- ")
