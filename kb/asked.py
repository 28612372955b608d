"""What rules ask for: all their patterns, and the texts of lines that no reader knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kb.pattern import Pattern
    from kb.rule import Cause, Probe, RuleBase, SymptomRule

LINE, HOLDS = "log_line", "holds"


def asked_lines(base: RuleBase) -> tuple[str, ...]:
    """The texts by which these rules ask for lines, each once: the values of `holds` of the fact `log_line`."""
    patterns = all_patterns(base.causes.values(), base.symptoms.values(), base.probes.values())
    return tuple(dict.fromkeys(text for pattern in patterns for text in texts_of(pattern)))


def texts_of(pattern: Pattern) -> Iterator[str]:
    """The texts that a line must hold for this pattern."""
    if pattern.fact == LINE:
        for test in pattern.tests:
            if test.field == HOLDS and test.op == "is":
                yield from (value for value in test.values if isinstance(value, str))


def all_patterns(
    causes: Iterable[Cause], symptoms: Iterable[SymptomRule], probes: Iterable[Probe]
) -> Iterator[Pattern]:
    """Every pattern of these rules."""
    for probe in probes:
        yield from (pattern for when in probe.free_when for pattern in when)
        for filling in probe.fill:
            yield from (pattern for when in filling.when for pattern in when)
            yield from filling.unless
    for symptom in symptoms:
        yield from (pattern for when in symptom.when for pattern in when)
        yield from symptom.unless
    for cause in causes:
        yield from cause.requires
        for clause in cause.clauses:
            yield from (pattern for when in clause.when for pattern in when)
            yield from clause.unless
        for remedy in cause.remedies:
            yield from (pattern for when in remedy.when for pattern in when)
            yield from remedy.unless
