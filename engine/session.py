"""One run over one body of evidence: facts and rules in, a diagnosis out.

First the symptoms and all causes that speak of evidence; then, when it is known what those came to, the
causes that speak of the outcome itself (nothing is wrong; the evidence can't tell).
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from engine.advise import as_of_here, first_tests, next_tests, with_remedies
from engine.cover import cover, with_the_only_one_left
from engine.coverage import DERIVED
from engine.passes import Common, Order, Pass, Prepared
from engine.result import Contradiction, Diagnosis, Finding, Hypothesis, SymptomSeen
from engine.weigh import MACHINE, NOT_LOOKED, Matches, hypotheses, standing
from kb.evidence import Looked, Observed, Reading, Source, Unread
from kb.facts import fields_of
from kb.facts.conclusion import Disagreement, Outcome, Symptom
from kb.rule import Cause, RuleBase, SymptomRule

OUTCOME = "outcome"


def assess(
    base: RuleBase, readings: Iterable[Reading], *, engine: str = "auto", all_causes: bool = True
) -> Diagnosis:
    """The diagnosis of this evidence under these rules.

    The order of the readings does not matter. `engine` is `auto`, `durable` or `plain`. `all_causes` is false for
    a base of single causes, where one of them being the only one left says nothing for it.
    """
    return assess_parts(base, {"": readings}, engine=engine, all_causes=all_causes)


def assess_parts(
    base: RuleBase, parts: Mapping[str, Iterable[Reading]], *, engine: str = "auto", all_causes: bool = True
) -> Diagnosis:
    """One diagnosis of evidence in several parts, by name: what is in one part only is joined with no other part.

    Readings that are in all parts are joined with each. A finding names its part unless it rests on such
    readings alone; the part with the empty name is never named.
    """
    readings = list(dict.fromkeys(reading for part in parts.values() for reading in part))
    late = [cause for cause in base.causes.values() if _speaks_of_outcome(cause)]
    looked = tuple(reading for reading in readings if isinstance(reading, Looked))
    weighed = _weigh(base, parts, engine)
    seen, proposed = tuple(weighed.symptoms.values()), weighed.proposed
    matches_of = {_name(hypothesis): matches for hypothesis, matches in proposed.values()}
    faults: Sequence[Hypothesis] = [hypothesis for hypothesis, _ in proposed.values()]
    if all_causes:
        faults = with_the_only_one_left(faults, seen)
    reported, _ = cover(faults, seen)

    memory = tuple(dict.fromkeys(weighed.observed))
    given = any(isinstance(one.fact, Outcome) for one in memory)  # examples of rules may state it
    outcome = () if given else (_outcome(reported, seen),)
    last = Prepared.of(late, (), (), _kinds(memory)).run((*memory, *outcome), looked, engine)
    judged, declined_late = hypotheses(late, last.evidence)
    matches_of |= {_name(hypothesis): last.evidence.matches for hypothesis in judged}
    doubted = {root for one in memory if isinstance(one.fact, Disagreement) for root in one.roots()}
    reported, weaker = cover((*faults, *judged), seen, doubted)

    passes = weighed.passes
    complete = next(iter(passes.values())).evidence.coverage.complete
    probes = as_of_here(base.probes, [one.evidence.matches for one in passes.values()])
    return Diagnosis(
        symptoms=_with_explanations(seen, reported),
        findings=tuple(with_remedies(one, matches_of[_name(one.hypothesis)]) for one in reported),
        weaker=weaker,
        next_tests=next_tests(probes, (*reported, *weaker), complete)
        or first_tests(probes, _open(base, reported), base.symptoms, complete),
        probes=probes,
        contradictions=_contradictions(memory),
        observed=memory,
        looked=looked,
        unread=tuple(reading for reading in readings if isinstance(reading, Unread)),
        engine=last.engine,
        rules_fired=sum(one.firings for one in (*passes.values(), last)),
        not_applicable={**_declined_everywhere(weighed.declined, proposed), **declined_late},
        parts=tuple(name for name in passes if name),
    )


@dataclass
class _Weighed:
    """What the causes that speak of evidence come to, over all parts."""

    observed: list[Observed] = field(default_factory=list)
    passes: dict[str, Pass] = field(default_factory=dict)
    """By the name of the part."""
    symptoms: dict[tuple[str, str], SymptomSeen] = field(default_factory=dict)
    """By symptom, and by what it is about."""
    proposed: dict[object, tuple[Hypothesis, Matches]] = field(default_factory=dict)
    declined: list[Mapping[str, str]] = field(default_factory=list)
    """For each part why causes were not proposed."""


def _weigh(base: RuleBase, parts: Mapping[str, Iterable[Reading]], engine: str) -> _Weighed:
    """Each part by itself, joined with what all of them have; of what two propose, the stronger is kept."""
    weighed = _Weighed()
    everywhere = _in_all(parts)
    causes = [cause for cause in base.causes.values() if not _speaks_of_outcome(cause)]
    kinds = _kinds(reading for part in parts.values() for reading in part if isinstance(reading, Observed))
    prepared = Prepared.of(causes, base.symptoms.values(), base.probes.values(), kinds)
    order = _order()
    common = Common(prepared, sorted(everywhere, key=order), order, engine) if len(parts) > 1 else None
    for name, part in sorted(parts.items()):
        facts, of_part = _divided(part, order)
        if common is None:
            one = prepared.run(facts, of_part, engine)
        else:
            one = common.run([fact for fact in facts if fact not in everywhere], of_part)
        weighed.passes[name] = one
        known = [*facts, *one.symptoms]
        weighed.observed += known
        for symptom in _symptoms(base.symptoms, known):
            about = _of_part(symptom.about, name, symptom.evidence, everywhere)
            weighed.symptoms.setdefault((symptom.rule.symptom, about), replace(symptom, about=about))
        found, not_proposed = hypotheses(causes, one.evidence)
        weighed.declined.append(not_proposed)
        for hypothesis in found:
            _keep_stronger(weighed.proposed, _of_its_part(hypothesis, name, everywhere), one.evidence.matches)
    return weighed


def _kinds(observed: Iterable[Observed]) -> Set[str]:
    """The kinds of facts that rules may meet: those of the evidence, and what reasoning itself adds."""
    return DERIVED | {one.fact.kind for one in observed}


def _divided(part: Iterable[Reading], order: Order) -> tuple[list[Observed], list[Looked]]:
    """The observations of a part, each once and in order, and its statements of what was looked for."""
    readings = list(part)
    facts = dict.fromkeys(reading for reading in readings if isinstance(reading, Observed))
    return sorted(facts, key=order), [reading for reading in readings if isinstance(reading, Looked)]


def _in_all(parts: Mapping[str, Iterable[Reading]]) -> frozenset[Observed]:
    """The observations that every part has."""
    of_parts = [{one for one in part if isinstance(one, Observed)} for part in parts.values()]
    return frozenset(set.intersection(*of_parts)) if of_parts else frozenset()


def _of_part(about: str, name: str, evidence: Iterable[Observed], everywhere: Container[Observed]) -> str:
    """What something is about, with the name of its part where its evidence is of this part only."""
    if not name or all(one in everywhere for one in evidence):
        return about
    return name if about == MACHINE else f"{about} on {name}"


def _of_its_part(hypothesis: Hypothesis, name: str, everywhere: Container[Observed]) -> Hypothesis:
    about = _of_part(hypothesis.about, name, hypothesis.bindings.values(), everywhere)
    return hypothesis if about == hypothesis.about else replace(hypothesis, about=about)


def _name(hypothesis: Hypothesis) -> tuple[str, str]:
    """What no two hypotheses of a diagnosis have in common."""
    return hypothesis.cause.cause, hypothesis.about


def _keep_stronger(
    kept: dict[object, tuple[Hypothesis, Matches]], hypothesis: Hypothesis, matches: Matches
) -> None:
    """Of what two parts propose about the same thing, the stronger hypothesis is kept."""
    key = _name(hypothesis)
    if key not in kept or standing(hypothesis) > standing(kept[key][0]):
        kept[key] = hypothesis, matches


def _declined_everywhere(
    declined: Sequence[Mapping[str, str]], proposed: Mapping[object, tuple[Hypothesis, Matches]]
) -> dict[str, str]:
    """Why causes were proposed nowhere; that nobody looked is the reason only where it is that of all parts."""
    causes = {hypothesis.cause.cause for hypothesis, _ in proposed.values()}
    reasons: dict[str, str] = {}
    for part in declined:
        for cause, reason in part.items():
            if cause not in causes and (cause not in reasons or reasons[cause].startswith(NOT_LOOKED)):
                reasons[cause] = reason
    return reasons


def _open(base: RuleBase, reported: Sequence[Finding]) -> list[Cause]:
    """The causes that could still come out: none where the answer is more than that the evidence can't tell."""
    answer = next((finding for finding in reported if _stands(finding)), None)
    if answer is not None and not (answer.cause.kind == "state" and answer.cause.fallback):
        return []
    return [cause for cause in base.causes.values() if cause.kind == "fault"]


def _order() -> Order:
    """An order of observations that depends on nothing but what they say; each is looked at once."""
    known: dict[Observed, tuple[str, str, str, int, int]] = {}

    def order(one: Observed) -> tuple[str, str, str, int, int]:
        if one not in known:
            fields = json.dumps(fields_of(one.fact), sort_keys=True)
            known[one] = one.fact.kind, fields, one.source.path, one.source.line, one.source.end_line
        return known[one]

    return order


def _speaks_of_outcome(cause: Cause) -> bool:
    return any(pattern.fact == OUTCOME for pattern in cause.requires)


def _symptoms(rules: Mapping[str, SymptomRule], known: Iterable[Observed]) -> tuple[SymptomSeen, ...]:
    return tuple(
        SymptomSeen(rules[one.fact.id], one.fact.about, rules[one.fact.id].says, one.basis)
        for one in known
        if isinstance(one.fact, Symptom) and one.fact.id in rules
    )


def _outcome(reported: Sequence[Finding], symptoms: Sequence[SymptomSeen]) -> Observed:
    explained = {symptom for finding in reported if _stands(finding) for symptom in finding.explains}
    faults = [finding for finding in reported if finding.cause.kind == "fault"]
    likely = sum(map(_stands, faults))
    fact = Outcome(
        faults_likely=likely,
        faults_possible=len(faults) - likely,
        symptoms=len({symptom.rule.symptom for symptom in symptoms}),
        unexplained=len({symptom.rule.symptom for symptom in symptoms} - explained),
    )
    return Observed(fact, Source("the weighing of all faults", 0, 0, _in_words(fact)))


def _in_words(outcome: Outcome) -> str:
    return (
        f"{outcome.faults_likely} likely and {outcome.faults_possible} possible faults, "
        f"{outcome.unexplained} of {outcome.symptoms} symptoms unexplained"
    )


def _stands(finding: Finding) -> bool:
    return finding.verdict in {"confirmed", "likely"}


def _with_explanations(symptoms: Sequence[SymptomSeen], reported: Sequence[Finding]) -> tuple[SymptomSeen, ...]:
    def explaining(symptom: SymptomSeen) -> tuple[str, ...]:
        return tuple(f.cause.cause for f in reported if _stands(f) and symptom.rule.symptom in f.explains)

    return tuple(replace(symptom, explained_by=explaining(symptom)) for symptom in symptoms)


def _contradictions(memory: Iterable[Observed]) -> tuple[Contradiction, ...]:
    return tuple(
        Contradiction(f"{one.fact.question}: {one.fact.one}, but {one.fact.other}", one.roots())
        for one in memory
        if isinstance(one.fact, Disagreement)
    )
