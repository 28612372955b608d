"""Hypotheses → findings: which of them explain the symptoms, who is a rival of whom, and in which order.

Accept the best, strike out its symptoms, repeat. Causes with no symptom in common are separate problems and
are all reported. A fallback gives way to any better cause of its symptoms, and a consequence stands behind
its root.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from engine.result import Finding, Hypothesis, Rival, SymptomSeen
from engine.weigh import CONCLUSIVE, standing
from kb.evidence import Observed
from kb.rule import Verdict

STANDING: tuple[Verdict, ...] = ("confirmed", "likely")
CURVE_MIDDLE = 6
CURVE_WIDTH = 12
CONFIRMED_SCORE = 24
CONTRADICTORY_SCORE = 0
DOUBT = 5
"""Decibans that a contradiction between sources takes from what rests on either of them."""
FOLLOWS = 0.45
"""At most so sure is what a likely cause leads to: it is so, but most likely not for a reason of its own."""
SET_ASIDE = 0.3
"""At most so sure is a fallback that a better cause makes superfluous."""


def confidence(hypothesis: Hypothesis, doubted: Container[Observed] = frozenset()) -> float:
    """The probability that stands for a ledger, between 0 and 1.

    One curve for all: 1 / (1 + 10^((6 - score) / 12)). A score of +10 is 0.68, +20 is 0.94. A conclusive
    line stands for a score of at least 24 (0.97) or at most -24; a contradiction for 0. What rests on facts that
    another source contradicts (`doubted`) counts DOUBT decibans less.
    """
    score = hypothesis.score
    if hypothesis.verdict == "confirmed":
        score = max(CONFIRMED_SCORE, min(score, CONCLUSIVE))
    elif hypothesis.verdict == "ruled-out":
        score = min(-CONFIRMED_SCORE, score)
    elif hypothesis.verdict == "contradictory":
        score = CONTRADICTORY_SCORE
    if doubted and any(root in doubted for one in _rests_on(hypothesis) for root in one.roots()):
        score -= DOUBT
    return 1 / (1 + 10 ** ((CURVE_MIDDLE - score) / CURVE_WIDTH))


def _rests_on(hypothesis: Hypothesis) -> Iterator[Observed]:
    yield from hypothesis.bindings.values()
    for line in hypothesis.ledger:
        if line.decibans > 0:
            yield from line.evidence


def cover(
    proposed: Sequence[Hypothesis], symptoms: Sequence[SymptomSeen], doubted: Container[Observed] = frozenset()
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings to report, in the order of the report, and all the weaker ones.

    `doubted` are observations that another source contradicts.
    """
    ranked = sorted(proposed, key=lambda one: (-standing(one), one.cause.cause, one.about))
    explained = {id(one): _explains(one, symptoms) for one in ranked}
    given_way = _given_way(ranked, explained)
    roots = _roots(ranked, given_way)
    findings = [
        Finding(
            hypothesis=one,
            confidence=min(confidence(one, doubted), _most(one, given_way, roots)),
            explains=explained[id(one)],
            subjects=(one.about,),
            consequence_of=roots.get(one.cause.cause) if one.verdict in STANDING else None,
            yields_to=given_way.get(id(one)),
            rivals=_rivals(one, ranked, explained),
        )
        for one in ranked
    ]
    reported = [finding for finding in findings if _reported(finding)]
    weaker = tuple(finding for finding in findings if not _reported(finding))
    return tuple(_in_order(reported)), weaker


def _most(one: Hypothesis, given_way: Mapping[int, str], roots: Mapping[str, str]) -> float:
    """How sure a finding can be to be a root cause, which what gives way or only follows is not."""
    if id(one) in given_way:
        return SET_ASIDE
    return FOLLOWS if one.verdict in STANDING and one.cause.cause in roots else 1.0


def _explains(hypothesis: Hypothesis, symptoms: Sequence[SymptomSeen]) -> tuple[str, ...]:
    seen = dict.fromkeys(symptom.rule.symptom for symptom in symptoms)
    return tuple(symptom for symptom in seen if symptom in hypothesis.cause.explains)


def _given_way(ranked: Sequence[Hypothesis], explained: Mapping[int, tuple[str, ...]]) -> dict[int, str]:
    """Fallbacks whose symptoms a better cause explains already: by hypothesis, the cause that it yields to."""
    better: dict[str, str] = {}
    for one in ranked:
        if one.verdict in STANDING and not one.cause.fallback:
            for symptom in explained[id(one)]:
                better.setdefault(symptom, one.cause.cause)
    return {
        id(one): better[explained[id(one)][0]]
        for one in ranked
        if one.cause.fallback and explained[id(one)] and all(s in better for s in explained[id(one)])
    }


def _roots(ranked: Sequence[Hypothesis], given_way: Mapping[int, str]) -> dict[str, str]:
    """For each cause that is only a consequence here: the likely cause that leads to it."""
    standing_now = [one for one in ranked if one.verdict in STANDING and id(one) not in given_way]
    return {
        consequence: root.cause.cause
        for root in reversed(standing_now)
        for consequence in root.cause.leads_to
        if consequence != root.cause.cause
    }


def _rivals(
    one: Hypothesis, ranked: Sequence[Hypothesis], explained: Mapping[int, tuple[str, ...]]
) -> tuple[Rival, ...]:
    mine = set(explained[id(one)])
    rivals: dict[str, Rival] = {}
    for other in ranked:
        cause = other.cause.cause
        related = cause in one.cause.leads_to or one.cause.cause in other.cause.leads_to
        if (
            cause not in rivals
            and cause != one.cause.cause
            and not related
            and other.verdict != "ruled-out"
            and not mine.isdisjoint(explained[id(other)])
        ):
            rivals[cause] = Rival(cause, other.cause.title, other.verdict, _margin(one, other))
    return tuple(rivals.values())


def _margin(one: Hypothesis, other: Hypothesis) -> int:
    """Decibans between them; what stands before is ahead, even where the sum alone says otherwise."""

    def level(hypothesis: Hypothesis) -> int:
        return hypothesis.score + CONCLUSIVE if hypothesis.verdict == "confirmed" else standing(hypothesis)

    ahead, difference = standing(one) - standing(other), level(one) - level(other)
    return max(difference, 1) if ahead > 0 else min(difference, -1) if ahead < 0 else 0


def _reported(finding: Finding) -> bool:
    if finding.yields_to is not None:
        return False
    if finding.cause.kind == "state":
        return finding.verdict in STANDING
    return finding.verdict in {*STANDING, "possible", "contradictory"}


def _in_order(reported: Sequence[Finding]) -> list[Finding]:
    """Standing faults, each followed by its consequences; standing states; then what is only possible."""
    standing_now = [finding for finding in reported if finding.verdict in STANDING]
    faults = [finding for finding in standing_now if finding.cause.kind == "fault"]
    states = [finding for finding in standing_now if finding.cause.kind == "state"]
    ordered: list[Finding] = []
    for finding in faults:
        if finding.consequence_of is None:
            ordered += [finding, *_consequences(finding, faults, ordered)]
    ordered += [finding for finding in faults if finding not in ordered]
    return ordered + states + [finding for finding in reported if finding.verdict not in STANDING]


def _consequences(root: Finding, faults: Sequence[Finding], done: Sequence[Finding]) -> list[Finding]:
    found: list[Finding] = []
    for finding in faults:
        if finding.consequence_of == root.cause.cause and finding not in done:
            found += [finding, *_consequences(finding, faults, [*done, root, *found, finding])]
    return found
