"""One run over one body of evidence: facts and rules in, a diagnosis out.

First the symptoms and all causes that speak of evidence; then, when it is known what those came to, the
causes that speak of the outcome itself (nothing is wrong; the evidence can't tell).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.advise import first_tests, next_tests, with_remedies
from engine.compile import Encoder, compile_all
from engine.cover import cover
from engine.matcher import infer
from engine.matcher.form import Inference
from engine.result import Contradiction, Diagnosis, Finding, SymptomSeen
from engine.weigh import MACHINE, Evidence, Matches, hypotheses
from kb.evidence import Looked, Observed, Reading, Source, Unread
from kb.facts import fields_of
from kb.facts.conclusion import Disagreement, Outcome, Symptom
from kb.rule import Cause, RuleBase, SymptomRule

OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one run of the matcher came to."""

    memory: tuple[Observed, ...]
    evidence: Evidence
    engine: str
    firings: int


def assess(base: RuleBase, readings: Iterable[Reading], *, engine: str = "auto") -> Diagnosis:
    """The diagnosis of this evidence under these rules.

    The order of the readings does not matter. `engine` is `auto`, `durable` or `plain`.
    """
    readings = list(readings)
    facts = _sorted(reading for reading in readings if isinstance(reading, Observed))
    looked = tuple(reading for reading in readings if isinstance(reading, Looked))
    early = [cause for cause in base.causes.values() if not _speaks_of_outcome(cause)]
    late = [cause for cause in base.causes.values() if _speaks_of_outcome(cause)]

    first = _run(early, base.symptoms.values(), facts, looked, engine)
    symptoms = _symptoms(base.symptoms, first)
    proposed, declined = hypotheses(early, first.evidence)
    reported, weaker = cover(proposed, symptoms)

    given = any(isinstance(one.fact, Outcome) for one in facts)  # examples of rules may state it
    outcome = () if given else (_outcome(reported, symptoms),)
    second = _run(late, (), (*first.memory, *outcome), looked, engine)
    judged, declined_late = hypotheses(late, second.evidence)
    reported, weaker = cover((*proposed, *judged), symptoms)

    matches = first.evidence.matches.joined(second.evidence.matches)
    return Diagnosis(
        symptoms=_with_explanations(symptoms, reported),
        findings=tuple(with_remedies(finding, matches) for finding in reported),
        weaker=weaker,
        next_tests=next_tests(base.probes, (*reported, *weaker))
        or first_tests(base.probes, _open(base, reported), first.evidence.coverage.complete),
        contradictions=_contradictions(first.memory),
        observed=first.memory,
        looked=looked,
        unread=tuple(reading for reading in readings if isinstance(reading, Unread)),
        engine=first.engine,
        rules_fired=first.firings + second.firings,
        not_applicable={**declined, **declined_late},
    )


def _open(base: RuleBase, reported: Sequence[Finding]) -> list[Cause]:
    """The causes that could still come out: none where the answer is more than that the evidence can't tell."""
    answer = next((finding for finding in reported if _stands(finding)), None)
    if answer is not None and not (answer.cause.kind == "state" and answer.cause.fallback):
        return []
    return [cause for cause in base.causes.values() if cause.kind == "fault"]


def _sorted(facts: Iterable[Observed]) -> tuple[Observed, ...]:
    """Each observation once, in an order that depends on nothing but what they say."""

    def key(one: Observed) -> tuple[str, str, str, int, int]:
        fields = json.dumps(fields_of(one.fact), sort_keys=True)
        return one.fact.kind, fields, one.source.path, one.source.line, one.source.end_line

    return tuple(sorted(dict.fromkeys(facts), key=key))


def _speaks_of_outcome(cause: Cause) -> bool:
    return any(pattern.fact == OUTCOME for pattern in cause.requires)


def _run(
    causes: Sequence[Cause],
    symptoms: Iterable[SymptomRule],
    facts: Sequence[Observed],
    looked: Sequence[Looked],
    engine: str,
) -> _Pass:
    symptoms = list(symptoms)
    compiled = compile_all(causes, symptoms)
    encoder = Encoder.of(causes, symptoms)
    encoded: list[Mapping[str, Any]] = [encoder.encode(one) for one in facts]
    inference = infer(compiled.rules, encoded, engine=engine)  # type: ignore[arg-type]
    memory = _with_symptoms(inference, facts)
    return _Pass(
        memory=memory,
        evidence=Evidence.of(
            Matches.of(compiled.parts, inference.firings, memory), looked, memory, inference.facts
        ),
        engine=inference.engine,
        firings=len(inference.firings),
    )


def _with_symptoms(inference: Inference, facts: Sequence[Observed]) -> tuple[Observed, ...]:
    """The facts, followed by the symptoms in the matcher's order, each resting on the facts that showed it."""
    basis: dict[int, dict[Observed, None]] = {}
    for firing in inference.firings:
        if firing.derived is not None:
            bound = [facts[index] for _, index in firing.bindings if index < len(facts)]
            basis.setdefault(firing.derived, {}).update(dict.fromkeys(bound))
    derived = []
    for index in range(len(facts), len(inference.facts)):
        shown = tuple(basis.get(index, ()))
        values = inference.facts[index]
        fact = Symptom(id=str(values["id"]), about=str(values.get("about", MACHINE)))
        source = shown[0].source if shown else Source("", 0, 0, "")
        derived.append(Observed(fact, source, shown))
    return (*facts, *derived)


def _symptoms(rules: Mapping[str, SymptomRule], run: _Pass) -> tuple[SymptomSeen, ...]:
    return tuple(
        SymptomSeen(rules[one.fact.id], one.fact.about, rules[one.fact.id].says, one.basis)
        for one in run.memory
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
