"""One pass of the matcher over one body of facts: rules made ready once, facts encoded, matches taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.compile import Encoder, Part, compile_all
from engine.matcher import Program, infer, program
from engine.matcher.form import Inference
from engine.weigh import MACHINE, Evidence, Matches
from kb.evidence import Looked, Observed, Source
from kb.facts.conclusion import Symptom
from kb.rule import Cause, Probe, SymptomRule


@dataclass(frozen=True, slots=True)
class Pass:
    """What one run of the matcher came to."""

    memory: tuple[Observed, ...]
    """All facts that it was given, and the symptoms that they show."""
    evidence: Evidence
    engine: str
    firings: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """Causes, symptoms and probes made ready for any number of passes."""

    program: Program
    parts: Mapping[str, Part]
    encoder: Encoder

    @classmethod
    def of(cls, causes: Sequence[Cause], symptoms: Iterable[SymptomRule], probes: Iterable[Probe]) -> Prepared:
        """All of these, compiled and checked."""
        symptoms, probes = list(symptoms), list(probes)
        compiled = compile_all(causes, symptoms, probes)
        return cls(program(compiled.rules), compiled.parts, Encoder.of(causes, symptoms, probes))

    def run(self, facts: Sequence[Observed], looked: Sequence[Looked], engine: str) -> Pass:
        """One pass over these facts; those of kinds that no rule speaks of are kept, and matched with nothing."""
        asked = [one for one in facts if one.fact.kind in self.program.kinds]
        encoded: list[Mapping[str, Any]] = [self.encoder.encode(one) for one in asked]
        inference = infer(self.program, encoded, engine=engine)  # type: ignore[arg-type]
        symptoms = _symptoms(inference, asked)
        known = (*asked, *symptoms)
        matches = Matches.of(self.parts, inference.firings, known)
        return Pass(
            memory=(*facts, *symptoms),
            evidence=Evidence.of(matches, looked, known, inference.facts),
            engine=inference.engine,
            firings=len(inference.firings),
        )


def _symptoms(inference: Inference, facts: Sequence[Observed]) -> tuple[Observed, ...]:
    """The symptoms in the matcher's order, each resting on the facts that showed it."""
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
    return tuple(derived)
