"""A cause as a page that people read: what it is, what speaks for and against it, what to do."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from kb.rule import DECIBANS, PRIORS, Cause, Clause, Example, FieldTest, Pattern, Patterns, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 96
_OPERATORS = {
    "lt": "less than",
    "le": "at most",
    "gt": "more than",
    "ge": "at least",
    "matches": "matching",
}
_SIDES = {"for": ("for", "against"), "against": ("against", "for")}


def page(cause: Cause) -> str:
    """The whole cause as plain text."""
    lines = [f"# {cause.cause}", "", *_wrapped(cause.title), "", *_wrapped(_facts_of(cause)), ""]
    lines += [*_wrapped(" ".join(cause.because.split())), "", "## Proposed where", ""]
    lines += _patterns(cause.requires)
    for side, clauses in (("for", cause.for_), ("against", cause.against)):
        if clauses:
            lines += ["", f"## What speaks {side} it"]
            lines += [line for clause in clauses for line in ("", *_clause(clause, side))]
    if cause.remedies:
        lines += ["", "## What to do"]
        lines += [
            line for number, remedy in enumerate(cause.remedies, 1) for line in ("", *_remedy(number, remedy))
        ]
    if cause.examples:
        lines += ["", "## Examples", "", *(line for example in cause.examples for line in _example(example))]
    if cause.references:
        lines += ["", "## References", "", *(f"- {reference}" for reference in cause.references)]
    return "\n".join(lines) + "\n"


def _facts_of(cause: Cause) -> str:
    facts = [
        "a state, not a fault" if cause.kind == "state" else "a fault",
        cause.status,
        f"{cause.prior} among machines that come to us ({PRIORS[cause.prior]})",
        f"about {'the machine' if cause.about == 'machine' else cause.about}",
    ]
    if cause.explains:
        facts.append(f"explains {', '.join(cause.explains)}")
    if cause.leads_to:
        facts.append(f"leads to {', '.join(cause.leads_to)}")
    if cause.fallback:
        facts.append("set aside where a better cause explains the same")
    return " · ".join(facts)


def _wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _patterns(patterns: Patterns) -> list[str]:
    return [line for pattern in patterns for line in _wrapped(_pattern(pattern), "  ", "- ")]


def _pattern(pattern: Pattern) -> str:
    tests = ", ".join(map(_test, pattern.tests))
    return f"{pattern.binding}: `{pattern.fact}`" + (f" with {tests}" if tests else "")


def _test(test: FieldTest) -> str:
    values = [str(value).lower() if isinstance(value, bool) else str(value) for value in test.values]
    if test.op == "known":
        return f"{test.field} {'known' if values == ['true'] else 'not known'}"
    if test.op == "not":
        return f"{test.field} not {' nor '.join(values)}"
    return " ".join(filter(None, (test.field, _OPERATORS.get(test.op, ""), " or ".join(values))))


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


def _clause(clause: Clause, side: str) -> Iterator[str]:
    yield f"### {clause.name}"
    yield from _wrapped(f"“{clause.says}”")
    for number, choice in enumerate(clause.when):
        if number:
            yield "or"
        yield from _patterns(choice)
    if clause.unless:
        yield "unless there is"
        yield from _patterns(clause.unless)
    yield from _wrapped(weight_in_words(clause, side))
    if clause.same:
        yield f"counts once with all of the group `{clause.same}`"
    if clause.ask:
        yield f"not looked: run the probe `{clause.ask}`"


def _remedy(number: int, remedy: Remedy) -> Iterator[str]:
    yield from _wrapped(remedy.do, "   ", f"{number}. ")
    yield from (f"       {command}" for command in remedy.run)
    for index, choice in enumerate(remedy.when):
        yield "   only where" if not index else "   or"
        yield from (f"   {line}" for line in _patterns(choice))
    if remedy.unless:
        yield "   not where"
        yield from (f"   {line}" for line in _patterns(remedy.unless))
    kind = "lasting" if remedy.lasting else "a workaround"
    who = "as root" if remedy.root else "as any user"
    yield f"   {kind}; disrupts: {remedy.disrupts}; risk: {remedy.risk}; {who}"
    yield from _wrapped(f"undo: {'; '.join(remedy.undo)}", "   ", "   ")
    yield f"   it worked when `{remedy.verify}` has changed"
    for label, text in (
        ("check", "; ".join(remedy.check)),
        ("expect", remedy.expect),
        ("costs", remedy.costs),
        ("caution", remedy.caution),
        ("see", " ".join(remedy.references)),
    ):
        if text:
            yield from _wrapped(f"{label}: {text}", "   ", "   ")


def _example(example: Example) -> list[str]:
    return _wrapped(f"{example.name} → {example.expect}", "  ", "- ")
