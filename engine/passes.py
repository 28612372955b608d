"""Passes of the matcher over bodies of facts: rules made ready once, facts encoded, matches taken back.

Where several bodies have most of their facts in common, what follows from those alone is found once. For each body
only the rules are run anew that one of its own facts could take part in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.compile import Encoder, Part, compile_all
from engine.coverage import Coverage, FactsByKind
from engine.matcher import Program, infer, program
from engine.matcher.form import Fact, Inference, Rule
from engine.matcher.memory import content_of, known_fact
from engine.matcher.takers import Takers
from engine.weigh import MACHINE, Evidence, Matches
from kb.evidence import Looked, Observed, Source
from kb.facts import fields_of
from kb.facts.conclusion import Symptom
from kb.rule import Cause, Probe, SymptomRule

Order: TypeAlias = Callable[[Observed], tuple[str, str, str, int, int]]
"""What observations are ordered by."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one run of the matcher came to."""

    symptoms: tuple[Observed, ...]
    """What the facts show, in an order that depends on their content only."""
    evidence: Evidence
    engine: str

    @property
    def firings(self) -> int:
        """How many rules fired, each for each choice of facts."""
        return sum(map(len, self.evidence.matches.by_part.values()))


@dataclass(frozen=True, slots=True)
class Prepared:
    """Causes, symptoms and probes made ready for any number of passes."""

    program: Program
    parts: Mapping[str, Part]
    encoder: Encoder

    @classmethod
    def of(
        cls,
        causes: Sequence[Cause],
        symptoms: Iterable[SymptomRule],
        probes: Iterable[Probe],
        kinds: Set[str] | None = None,
    ) -> Prepared:
        """All of these, compiled and checked; given the kinds of facts, only what can fire on those."""
        symptoms, probes = list(symptoms), list(probes)
        compiled = compile_all(causes, symptoms, probes, kinds)
        return cls(program(compiled.rules), compiled.parts, Encoder.of(causes, symptoms, probes))

    def encoded(self, facts: Iterable[Observed]) -> dict[Observed, Mapping[str, Any]]:
        """The facts of kinds that some rule speaks of, in the form in which they are compared."""
        return {one: self.encoder.encode(one) for one in facts if one.fact.kind in self.encoder.kinds}

    def run(self, facts: Sequence[Observed], looked: Sequence[Looked], engine: str) -> Pass:
        """One pass over these facts."""
        asked = self.encoded(facts)
        inference = infer(self.program, asked.values(), engine=engine)  # type: ignore[arg-type]
        symptoms = _symptoms(inference, list(asked))
        known = (*asked, *symptoms)
        encoded = dict(zip(map(id, known), inference.facts, strict=True))
        matches = Matches.of(self.parts, inference.firings, known)
        coverage = Coverage.of(looked, FactsByKind.of(inference.facts))
        return Pass(symptoms, Evidence(matches, coverage, encoded), inference.engine)


class Common:
    """Facts that several bodies have in common, and what follows from them alone."""

    def __init__(self, prepared: Prepared, facts: Sequence[Observed], order: Order, engine: str) -> None:
        """Takes the facts in the order in which `order` puts them."""
        self._prepared = prepared
        self._order = order
        self._engine = engine
        self._facts = prepared.encoded(facts)
        self._by_kind = FactsByKind.of(self._facts.values())
        self._alone = prepared.run(facts, (), engine)
        rules = [rule for group in prepared.program.strata for rule in group]
        self._takers = Takers(rules)
        self._rules: dict[Part, list[Rule]] = defaultdict(list)
        for rule in rules:
            self._rules[prepared.parts[rule.name]].append(rule)
        self._taken: dict[str, list[Observed]] = defaultdict(list)
        for one, fact in self._facts.items():
            for name in self._takers.of(fact):
                self._taken[name].append(one)

    def run(self, own: Sequence[Observed], looked: Sequence[Looked]) -> Pass:
        """The pass over the common facts and these: it comes to what a pass over all of them comes to."""
        added = self._prepared.encoded(own)
        anew = self._parts_anew(added.values())
        kept = self._alone.evidence
        shown = [one for one in self._alone.symptoms if _part_of(one) not in anew]
        wanted = {one for part in anew for rule in self._rules[part] for one in self._taken[rule.name]}
        facts = sorted([*wanted, *added], key=self._order)
        given = [
            *((one, added.get(one) or self._facts[one]) for one in facts),
            *((one, kept.encoded[id(one)]) for one in shown),
        ]
        inference = infer(self._only(anew), [fact for _, fact in given], engine=self._engine)  # type: ignore[arg-type]
        fresh = _symptoms(inference, [one for one, _ in given])
        known = (*(one for one, _ in given), *fresh)
        encoded = dict(zip(map(id, known), inference.facts, strict=True))
        symptoms = tuple(sorted([*shown, *fresh], key=lambda one: content_of(known_fact(encoded[id(one)]))))
        matches = {part: found for part, found in kept.matches.by_part.items() if part not in anew}
        matches |= Matches.of(self._prepared.parts, inference.firings, known).by_part
        by_kind = FactsByKind.of([*added.values(), *(encoded[id(one)] for one in symptoms)])
        return Pass(
            symptoms,
            Evidence(Matches(matches), Coverage.of(looked, self._by_kind, by_kind), {**kept.encoded, **encoded}),
            inference.engine,
        )

    def _parts_anew(self, added: Iterable[Fact]) -> set[Part]:
        """What these facts, or what may follow from them, could have a part in."""
        names = {name for fact in added for name in self._takers.of(fact)}
        anew: set[Part] = set()
        while names:
            parts = {self._prepared.parts[name] for name in names} - anew
            anew |= parts
            heads = {rule.head for part in parts for rule in self._rules[part] if rule.head is not None}
            names = {name for head in heads for name in self._takers.of_conclusion(head)}
        return anew

    def _only(self, parts: Iterable[Part]) -> Program:
        """The rules of these parts."""
        return self._prepared.program.only({rule.name for part in parts for rule in self._rules[part]})


def _part_of(symptom: Observed) -> Part:
    """The rules that alone can conclude a symptom."""
    return Part(fields_of(symptom.fact)["id"], "symptom")


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
