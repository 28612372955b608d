"""Which lines of the world lead to which cause.

Tried, not read off the rules: each sample line is read and judged alone, as if nothing else were known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from collectors.content import Content
from collectors.open import File
from collectors.scan import read_file
from diagnose.codes_coverage import taking
from generator.markup import code
from generator.samples import Sample
from kb.fieldtypes import field_types
from kb.rule import RuleBase

MOST_LINES, MOST_CHARS = 4, 700
_CLASSES = frozenset({"error", "means", "symbol", "id", "code", "class"})
"""Fields by which facts of a kind differ in meaning, beside those of few values."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A line, and the causes that it makes at least possible alone, the strongest first."""

    sample: Sample
    causes: tuple[str, ...]


def line_of(lead: Lead) -> str:
    """The line as Markdown, and the command that prints it where that is known."""
    lines = "<br>".join(code(one.strip()) for one in lead.sample.text.split("\n") if one.strip())
    command = lead.sample.command
    if command is None or lead.sample.text.startswith("$ "):
        return lines
    return f"{lines} (printed by {code(command)})"


def leads(base: RuleBase, samples: Sequence[Sample]) -> list[Lead]:
    """The samples that lead to causes, one of each meaning; with their command where they need it to tell."""
    found = (_lead(base, one) for one in of_each_meaning(samples))
    return [one for one in found if one.causes]


def _lead(base: RuleBase, sample: Sample) -> Lead:
    alone = causes_of(base, sample.text)
    if alone or sample.command is None:
        return Lead(replace(sample, command=None), alone)
    return Lead(sample, causes_of(base, sample.shown))


def causes_of(base: RuleBase, text: str) -> tuple[str, ...]:
    """The faults that this text makes at least possible alone, the strongest first; fallbacks tell nothing."""
    _, readings = read_file(File("evidence.log", Content(f"{text}\n".encode())))
    if not readings:
        return ()
    causes = dict.fromkeys(cause for found in taking(base, readings).values() for cause in found)
    return tuple(cause for cause in causes if not base.causes[cause].fallback)


def of_each_meaning(samples: Iterable[Sample]) -> list[Sample]:
    """The shortest clean sample of each meaning that a fact can have; a long one is no message."""
    found: dict[tuple[str, ...], Sample] = {}
    for one in samples:
        if not one.is_clean or one.text.count("\n") >= MOST_LINES or len(one.text) > MOST_CHARS:
            continue
        before = found.setdefault(_meaning(one), one)
        if len(one.text) < len(before.text):
            found[_meaning(one)] = one
    return list({one.shown: one for one in found.values()}.values())


def _meaning(sample: Sample) -> tuple[str, ...]:
    types = field_types(sample.kind)
    telling = (
        f"{name}={value}"
        for name, value in sorted(sample.fields.items())
        if types[name].choices or types[name].base == "true or false" or name in _CLASSES
    )
    return (sample.kind, *telling)
