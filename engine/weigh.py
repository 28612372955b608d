"""Matches → hypotheses with ledgers → verdicts. Logic decides; numbers order what logic leaves open."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.compile import Part
from engine.coverage import Coverage, Doubt
from engine.matcher.form import Firing
from engine.result import Hypothesis, LedgerLine
from kb.evidence import Observed
from kb.facts import fields_of
from kb.rule import DECIBANS, LIKELY, PRIORS, UNLIKELY, Cause, Clause, Verdict, Weight

CONCLUSIVE = 40
"""What a conclusive line adds to a score."""

SETTLED = 1000
"""What orders a confirmed hypothesis before, and one that is ruled out after, all that numbers alone decide."""

NOT_LOOKED = "not looked"
"""How the reason begins why a cause could not be assessed."""

MACHINE = "machine"
"""What is spoken of where no part of it is named."""

Key = tuple[int, ...]
"""The identities of what is bound to some names."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Firings by what they stand for; the facts that each of them bound."""

    by_part: Mapping[Part, Sequence[Mapping[str, Observed]]]
    _found: dict[tuple[Part, tuple[str, ...]], Mapping[Key, list[Mapping[str, Observed]]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Of each part the matches by what they bind of the names that were asked for."""

    @classmethod
    def of(cls, parts: Mapping[str, Part], firings: Iterable[Firing], memory: Sequence[Observed]) -> Matches:
        """The matches of one run of the matcher over the facts of `memory`."""
        by_part: dict[Part, list[Mapping[str, Observed]]] = defaultdict(list)
        for firing in firings:
            by_part[parts[firing.rule]].append({alias: memory[index] for alias, index in firing.bindings})
        return cls(by_part)

    def of_choices(
        self, part: Part, choices: int, bindings: Mapping[str, Observed]
    ) -> tuple[list[Mapping[str, Observed]], bool]:
        """The matches of a part with so many alternatives that agree with these bindings.

        And whether they say nothing of the bindings, so that they are those of every hypothesis of the cause.
        """
        found: list[Mapping[str, Observed]] = []
        alone = True
        for number in sorted(range(choices), key=str):
            common = self.by_part.get(replace(part, choice=number, alone=True), ())
            own = self.of_clause(replace(part, choice=number), bindings)
            alone = alone and not own
            found += (*common, *own)
        return found, alone

    def joined(self, other: Matches) -> Matches:
        """The matches of both."""
        return Matches({**self.by_part, **other.by_part})

    def of_clause(self, part: Part, bindings: Mapping[str, Observed]) -> list[Mapping[str, Observed]]:
        """The matches of a part that agree with these bindings."""
        names = tuple(bindings)
        if (part, names) not in self._found:
            found: dict[Key, list[Mapping[str, Observed]]] = defaultdict(list)
            for match in self.by_part.get(part, ()):
                found[tuple([id(match.get(name)) for name in names])].append(match)
            self._found[part, names] = found
        return self._found[part, names].get(tuple(map(id, bindings.values())), [])


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one run of the matcher came to: matches, what was looked for, and the facts as it compared them."""

    matches: Matches
    coverage: Coverage
    encoded: Mapping[int, Mapping[str, Any]]
    """By the identity of the observation."""
    _proofs: dict[Part, tuple[Observed, ...]] = field(default_factory=dict, compare=False, repr=False)

    def proof(
        self,
        part: Part,
        found: Sequence[Mapping[str, Observed]],
        bindings: Mapping[str, Observed],
        clause: Clause,
        *,
        alone: bool,
    ) -> tuple[Observed, ...]:
        """The facts that made a clause true; found once where they are the same for every hypothesis."""
        if not alone:
            return _evidence(found, bindings, clause)
        if part not in self._proofs:
            self._proofs[part] = _evidence(found, bindings, clause)
        return self._proofs[part]

    def bound(self, bindings: Mapping[str, Observed]) -> dict[str, Mapping[str, Any]]:
        """The facts of these bindings as they were compared."""
        return {name: self.encoded[id(observed)] for name, observed in bindings.items()}


def hypotheses(causes: Iterable[Cause], evidence: Evidence) -> tuple[tuple[Hypothesis, ...], dict[str, str]]:
    """The strongest hypothesis of each cause for each subject; and, for causes without any, why not.

    A reason that begins with `not looked` means that the cause could not be assessed.
    """
    best: dict[tuple[str, str], Hypothesis] = {}
    declined: dict[str, str] = {}
    for cause in causes:
        proposals = evidence.matches.by_part.get(Part(cause.cause, "requires"), ())
        if not proposals:
            reason, unlooked = evidence.coverage.why_not_proposed(cause.requires)
            declined[cause.cause] = f"{NOT_LOOKED}: {reason}" if unlooked else reason
        for bindings in proposals:
            hypothesis = _judge(cause, bindings, evidence)
            key = cause.cause, hypothesis.about
            if key not in best or standing(hypothesis) > standing(best[key]):
                best[key] = hypothesis
    return tuple(best.values()), declined


def standing(hypothesis: Hypothesis) -> int:
    """One number that orders hypotheses: confirmed before all open ones, contradictory in the middle of them."""
    if hypothesis.verdict == "contradictory":
        return 0
    if hypothesis.settled:
        return hypothesis.score + (SETTLED if hypothesis.verdict == "confirmed" else -SETTLED)
    return hypothesis.score


def _judge(cause: Cause, bindings: Mapping[str, Observed], evidence: Evidence) -> Hypothesis:
    lines: list[LedgerLine] = []
    groups: list[str | None] = []
    for side, clauses in (("for", cause.for_), ("against", cause.against)):
        for clause in clauses:
            lines.append(_line(cause, clause, side, bindings, evidence))
            groups.append(clause.same)
    ledger = _heaviest_of_each_group(lines, groups)
    prior = PRIORS[cause.prior]
    score = prior + sum(line.decibans for line in ledger)
    about = _about(cause.about, bindings)
    return Hypothesis(cause, about, bindings, ledger, prior, score, _verdict(score, ledger))


def _about(about: str, bindings: Mapping[str, Observed]) -> str:
    """What a finding is about; the machine where the facts do not tell which part of it."""
    template = f"{{{about[1:]}}}" if about.startswith("$") else about
    names = [name.partition(".") for _, name, _, _ in string.Formatter().parse(template) if name]
    known = all(field in fields_of(bindings[binding].fact) for binding, _, field in names if binding in bindings)
    return filled(template, bindings) if known else MACHINE


def _line(
    cause: Cause,
    clause: Clause,
    side: str,
    bindings: Mapping[str, Observed],
    evidence: Evidence,
) -> LedgerLine:
    part = Part(cause.cause, side, clause.name)  # type: ignore[arg-type]
    found, alone = evidence.matches.of_choices(part, len(clause.when) or 1, bindings)
    doubt = Doubt()
    if found and not clause.unless:
        truth = "true"
    elif found:
        doubts = evidence.coverage.why_unsure(clause.unless, [evidence.bound(match) for match in found])
        sure = [match for match, doubt in zip(found, doubts, strict=True) if not doubt.why]
        truth, doubt, found = ("true", doubt, sure) if sure else ("unknown", doubts[0], found)
    else:
        doubt = evidence.coverage.why_unknown(clause, cause.requires, evidence.bound(bindings))
        truth = "unknown" if doubt.why else "false"
    sign = 1 if side == "for" else -1
    weight = {"true": clause.weight, "false": clause.otherwise, "unknown": None}[truth]
    return LedgerLine(
        clause=clause.name,
        side=side,  # type: ignore[arg-type]
        truth=truth,  # type: ignore[arg-type]
        decibans=(sign if truth == "true" else -sign) * decibans(weight),
        conclusive=weight == "conclusive",
        says=filled(clause.says, {**bindings, **(found[0] if found else {})}, unknown=UNKNOWN),
        evidence=evidence.proof(part, found, bindings, clause, alone=alone) if truth == "true" else (),
        ask=clause.ask if truth == "unknown" else None,
        unknown=doubt.why,
        told_by=doubt.kinds,
        could_add=decibans(clause.weight) + decibans(clause.otherwise) if truth == "unknown" else 0,
    )


def decibans(weight: Weight | None) -> int:
    """The size of a weight in decibans; 0 for none."""
    if weight is None:
        return 0
    return CONCLUSIVE if weight == "conclusive" else DECIBANS[weight]


def _evidence(
    found: Sequence[Mapping[str, Observed]], bindings: Mapping[str, Observed], clause: Clause
) -> tuple[Observed, ...]:
    """The facts that made a clause true: those it adds, and those of the requirements that it tests again."""
    tested = {pattern.binding for when in clause.when for pattern in when}
    facts: dict[Observed, None] = {}
    for match in found:
        added = [fact for name, fact in match.items() if name in tested or name not in bindings]
        facts.update(dict.fromkeys(added))
    return tuple(facts)


def _heaviest_of_each_group(lines: Sequence[LedgerLine], groups: Sequence[str | None]) -> tuple[LedgerLine, ...]:
    """The ledger in which of each group only the heaviest line counts; open ones can add what lies above it."""
    heaviest: dict[str, int] = {}
    for index, (line, group) in enumerate(zip(lines, groups, strict=True)):
        if group is not None and (
            group not in heaviest or abs(line.decibans) > abs(lines[heaviest[group]].decibans)
        ):
            heaviest[group] = index
    ledger = []
    for index, (line, group) in enumerate(zip(lines, groups, strict=True)):
        counts = group is None or heaviest[group] == index
        taken = 0 if group is None else abs(lines[heaviest[group]].decibans)
        ledger.append(
            replace(
                line,
                decibans=line.decibans if counts else 0,
                conclusive=line.conclusive and counts,
                could_add=max(0, line.could_add - taken),
            )
        )
    return tuple(ledger)


def _verdict(score: int, ledger: Iterable[LedgerLine]) -> Verdict:
    conclusive = [line.decibans for line in ledger if line.conclusive and line.decibans]
    proved, refuted = any(one > 0 for one in conclusive), any(one < 0 for one in conclusive)
    if proved and refuted:
        return "contradictory"
    if proved or refuted:
        return "confirmed" if proved else "ruled-out"
    if score >= LIKELY:
        return "likely"
    return "unlikely" if score <= UNLIKELY else "possible"


UNKNOWN = "…"
"""What stands in a sentence for a value that is not known; a command gets `<field>`, for a person to fill in."""


def filled(
    template: str,
    bindings: Mapping[str, Observed],
    as_word: Callable[[str], str] = str,
    unknown: str = "<{field}>",
) -> str:
    """The text with each `{binding.field}` replaced by that fact's value, or by `unknown` where there is none.

    `as_word` is applied to each value; `{field}` in `unknown` is the field's name.
    """
    parts = []
    for literal, name, _, _ in string.Formatter().parse(template):
        parts.append(literal)
        if name is not None:
            binding, _, field = name.partition(".")
            known = fields_of(bindings[binding].fact) if binding in bindings else {}
            parts.append(as_word(str(known[field])) if field in known else unknown.format(field=field))
    return "".join(parts)
