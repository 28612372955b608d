"""Hypotheses → findings: which of them explain the symptoms, who is a rival of whom, and in which order.

Accept the best, strike out its symptoms, repeat. Causes with no symptom in common are separate problems and
are all reported. A fallback gives way to any better cause of its symptoms, a deprecated cause to what has
replaced it, and a consequence stands behind its root.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from engine.result import Finding, Hypothesis, LedgerLine, Rival, SymptomSeen
from engine.weigh import CONCLUSIVE, standing
from kb.evidence import Observed
from kb.rule import LIKELY, PRIORS, Verdict

STANDING: tuple[Verdict, ...] = ("confirmed", "likely")
CURVE_MIDDLE = -8
CURVE_WIDTH = 16
"""In decibans; benchmarks/calibrate.py fits them, and the two below, to cases that no rule was made with."""
CONFIRMED_SCORE = 20
"""What is proved counts so much, and what is refuted the mirror of it: the curve makes 0.98 and 0.02 of them. No
sum counts more: new cases have not shown anything to be surer."""
UNDECIDED = 0.14
"""How often it is true that nobody could tell from the evidence, where we can't."""
CONTRADICTORY_SCORE = -15
HELD_BACK = 0.5
"""What is only possible is given with this share of what the curve says: below likely nobody is accused."""
NEAR = 5
"""Decibans by which what is only possible must be ahead of all else to be the only one left."""
ONLY_ONE_LEFT = 10
"""Decibans of being that."""
DOUBT = 5
"""Decibans that a contradiction between sources takes from what rests on either of them."""
FOLLOWS = 0.45
"""At most so sure is what a likely cause leads to: it is so, but most likely not for a reason of its own."""
SET_ASIDE = 0.3
"""At most so sure is a fallback, or a deprecated cause, that a better cause makes superfluous."""


def confidence(hypothesis: Hypothesis, doubted: Container[Observed] = frozenset()) -> float:
    """The probability that a hypothesis is right, between 0 and 1.

    What rests on facts that another source contradicts (`doubted`) counts DOUBT decibans less. That the evidence
    can't tell (a state and a fallback) is given with how often that is so, whatever its ledger.
    """
    if hypothesis.cause.fallback and hypothesis.cause.kind == "state":
        return UNDECIDED
    in_doubt = doubted and any(root in doubted for one in _rests_on(hypothesis) for root in one.roots())
    return stated(hypothesis.verdict, hypothesis.score, DOUBT if in_doubt else 0)


def stated(verdict: Verdict, score: int, doubt: int = 0) -> float:
    """The probability that stands for a verdict and a score, less `doubt`; all in decibans.

    One curve for all: 1 / (1 + 10^((CURVE_MIDDLE - score) / CURVE_WIDTH)). A conclusive line stands for a score of
    CONFIRMED_SCORE or its mirror, a contradiction for CONTRADICTORY_SCORE; and of a cause that is not likely
    HELD_BACK of it is given.
    """
    settled = {
        "confirmed": CONFIRMED_SCORE,
        "ruled-out": 2 * CURVE_MIDDLE - CONFIRMED_SCORE,
        "contradictory": CONTRADICTORY_SCORE,
    }
    score = settled.get(verdict, min(score, CONFIRMED_SCORE))
    share = HELD_BACK if verdict in {"possible", "unlikely"} else 1
    return share / (1 + 10 ** ((CURVE_MIDDLE - score + doubt) / CURVE_WIDTH))


def with_the_only_one_left(
    proposed: Sequence[Hypothesis], symptoms: Sequence[SymptomSeen]
) -> tuple[Hypothesis, ...]:
    """The hypotheses; where no fault is likely, the one fault that is left to explain what is seen becomes so.

    That nothing else explains it is a line of its ledger. It takes evidence that makes up for the prior and would
    make a common cause likely, nothing that speaks against it, and no other cause that comes near.
    """
    faults = [one for one in proposed if one.cause.kind == "fault"]
    possible = [one for one in faults if one.cause.by_elimination and _is_well_founded(one)]
    best = max(possible, key=lambda one: one.score, default=None)
    seen = set(_explains(best, symptoms)) if best else set()
    if best is None or not seen or any(one.verdict in STANDING for one in faults):
        return tuple(proposed)
    rivals = [one for one in proposed if one.cause.cause != best.cause.cause and one.verdict != "ruled-out"]
    if any(one.score > best.score - NEAR and _is_rival(one, seen) for one in rivals):
        return tuple(proposed)
    left = {id(one) for one in possible if one.cause.cause == best.cause.cause}
    return tuple(_only_one_left(one) if id(one) in left else one for one in proposed)


def _is_well_founded(one: Hypothesis) -> bool:
    """Whether only its being rare keeps it from being likely; what is ambiguous is not."""
    evidence, opposed = one.score - one.prior, any(line.decibans < 0 for line in one.ledger)
    return one.verdict == "possible" and one.score >= 0 and evidence >= LIKELY - PRIORS["common"] and not opposed


def _is_rival(one: Hypothesis, seen: Container[str]) -> bool:
    return one.cause.kind == "fault" or any(symptom in seen for symptom in one.cause.explains)


def _only_one_left(one: Hypothesis) -> Hypothesis:
    line = LedgerLine(
        clause="nothing-else-explains-it",
        side="for",
        truth="true",
        decibans=ONLY_ONE_LEFT,
        conclusive=False,
        says="no other cause that is known here explains what is seen",
    )
    return replace(one, ledger=(*one.ledger, line), score=one.score + line.decibans, verdict="likely")


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
    rivals = _Rivals(ranked, explained)
    findings = [
        Finding(
            hypothesis=one,
            confidence=min(confidence(one, doubted), _most(one, given_way, roots)),
            explains=explained[id(one)],
            subjects=(one.about,),
            consequence_of=roots.get(one.cause.cause) if one.verdict in STANDING else None,
            yields_to=given_way.get(id(one)),
            rivals=rivals.of(one),
        )
        for one in ranked
    ]
    reported = [finding for finding in findings if _reported(finding)]
    if not any(finding.verdict in STANDING for finding in reported):
        findings = [_as_last_resort(finding) for finding in findings]
        reported = [finding for finding in findings if _reported(finding)]
    weaker = tuple(finding for finding in findings if not _reported(finding))
    return tuple(_in_order(reported)), weaker


def _as_last_resort(finding: Finding) -> Finding:
    """That the evidence can't tell is so where nothing else stands, whatever speaks against it."""
    if not (finding.cause.kind == "state" and finding.cause.fallback):
        return finding
    return replace(finding, hypothesis=replace(finding.hypothesis, verdict="likely"))


def _most(one: Hypothesis, given_way: Mapping[int, str], roots: Mapping[str, str]) -> float:
    """How sure a finding can be to be a root cause, which what gives way or only follows is not."""
    if id(one) in given_way:
        return SET_ASIDE
    return FOLLOWS if one.verdict in STANDING and one.cause.cause in roots else 1.0


def _explains(hypothesis: Hypothesis, symptoms: Sequence[SymptomSeen]) -> tuple[str, ...]:
    seen = dict.fromkeys(symptom.rule.symptom for symptom in symptoms)
    return tuple(symptom for symptom in seen if symptom in hypothesis.cause.explains)


def _given_way(ranked: Sequence[Hypothesis], explained: Mapping[int, tuple[str, ...]]) -> dict[int, str]:
    """What a better cause makes superfluous: by hypothesis, the cause that it yields to.

    Fallbacks whose symptoms are all explained already, and deprecated causes whose replacement stands.
    """
    replaced = _replaced(ranked)
    better: dict[str, str] = {}
    for one in ranked:
        if one.verdict in STANDING and not one.cause.fallback and id(one) not in replaced:
            for symptom in explained[id(one)]:
                better.setdefault(symptom, one.cause.cause)
    fallbacks = {
        id(one): better[explained[id(one)][0]]
        for one in ranked
        if one.cause.fallback and explained[id(one)] and all(s in better for s in explained[id(one)])
    }
    return replaced | fallbacks


def _replaced(ranked: Sequence[Hypothesis]) -> dict[int, str]:
    standing_now = {one.cause.cause for one in ranked if one.verdict in STANDING and not one.cause.replaced_by}
    return {id(one): name for one in ranked for name in reversed(one.cause.replaced_by) if name in standing_now}


def _roots(ranked: Sequence[Hypothesis], given_way: Mapping[int, str]) -> dict[str, str]:
    """For each cause that is only a consequence here: the likely cause that leads to it."""
    standing_now = [one for one in ranked if one.verdict in STANDING and id(one) not in given_way]
    return {
        consequence: root.cause.cause
        for root in reversed(standing_now)
        for consequence in root.cause.leads_to
        if consequence != root.cause.cause
    }


class _Rivals:
    """The rivals of each hypothesis: the strongest that is not ruled out of each cause that explains the same."""

    def __init__(self, ranked: Sequence[Hypothesis], explained: Mapping[int, tuple[str, ...]]) -> None:
        leaders: dict[str, Hypothesis] = {}
        for one in ranked:
            if one.verdict != "ruled-out":
                leaders.setdefault(one.cause.cause, one)
        self._leaders = [(one, standing(one), _level(one)) for one in leaders.values()]
        self._explained = explained
        self._found: dict[tuple[str, int, int], tuple[Rival, ...]] = {}

    def of(self, one: Hypothesis) -> tuple[Rival, ...]:
        """Its rivals, strongest first; the same for all hypotheses of one cause that are equally strong."""
        key = one.cause.cause, standing(one), _level(one)
        if key not in self._found:
            self._found[key] = tuple(self._rivals(one, *key))
        return self._found[key]

    def _rivals(self, one: Hypothesis, cause: str, own: int, level: int) -> Iterator[Rival]:
        mine = set(self._explained[id(one)])
        for other, stands, reaches in self._leaders:
            name = other.cause.cause
            related = name == cause or name in _relatives(one) or cause in _relatives(other)
            if not related and not mine.isdisjoint(self._explained[id(other)]):
                yield Rival(name, other.cause.title, other.verdict, _margin(own - stands, level - reaches))


def _relatives(one: Hypothesis) -> tuple[str, ...]:
    return one.cause.leads_to + one.cause.replaced_by


def _level(hypothesis: Hypothesis) -> int:
    return hypothesis.score + CONCLUSIVE if hypothesis.verdict == "confirmed" else standing(hypothesis)


def _margin(ahead: int, difference: int) -> int:
    """Decibans between them; what stands before is ahead, even where the sum alone says otherwise."""
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
