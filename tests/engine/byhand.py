"""Small rules and facts by hand, for the tests of the engine. The kinds are real; their meaning is no matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.result import Diagnosis, Finding, Hypothesis, LedgerLine
from engine.session import assess
from engine.weigh import CONCLUSIVE
from kb.evidence import Looked, Observed, Reading, Source
from kb.facts import Fact
from kb.facts.framework import PortConflict
from kb.rule import Cause, Probe, RuleBase, SymptomRule, Verdict

THING = PortConflict
"""A fact with a number and a text, either of which may be unknown."""


def thing(port: int | None = None, address: str | None = None) -> PortConflict:
    """The fact that hypotheses of these tests are about."""
    return PortConflict(port=port, address=address)


def cause(name: str = "a.one", **more: Any) -> Cause:
    """A cause that any thing proposes; `for_` and `against` are mappings, as YAML gives them."""
    whole = {
        "cause": name,
        "title": f"title of {name}",
        "status": "stable",
        "prior": "common",
        "because": "it is so",
        "requires": {"it": {"port_conflict": {}}},
    }
    if "for_" in more:
        more["for"] = more.pop("for_")
    return Cause.model_validate({**whole, **more})


def clause(when: Any = None, weight: str = "strong", **more: Any) -> dict[str, Any]:
    """The body of a clause."""
    return {**({} if when is None else {"when": when}), "weight": weight, "says": "so it is", **more}


CONCLUSIONS = {"confirmed": [1], "ruled-out": [-1], "contradictory": [1, -1]}


def proposed(
    name: str, score: int = 20, verdict: Verdict = "likely", about: str = "machine", prior: int = -10, **more
) -> Hypothesis:
    """A hypothesis of a cause, with the conclusive lines that its verdict wants."""
    lines = tuple(
        LedgerLine("c", "for", "true", sign * CONCLUSIVE, conclusive=True, says="")
        for sign in CONCLUSIONS.get(verdict, ())
    )
    return Hypothesis(cause(name, **more), about, {}, lines, prior, score, verdict)


def symptom(name: str, when: Any, **more: Any) -> SymptomRule:
    """A symptom that is seen where the patterns match."""
    return SymptomRule.model_validate(
        {"symptom": name, "title": f"title of {name}", "when": when, "says": "seen", **more}
    )


def probe(name: str, **more: Any) -> Probe:
    """A next test that costs little."""
    whole = {"id": name, "title": name, "run": [f"run {name}"], "covers": ["boot"], "gives": "it tells"}
    return Probe.model_validate({**whole, **more})


def base(*causes: Cause, symptoms: Iterable[SymptomRule] = (), probes: Iterable[Probe] = ()) -> RuleBase:
    """The rule base of these."""
    return RuleBase(
        causes={one.cause: one for one in causes},
        symptoms={one.symptom: one for one in symptoms},
        probes={one.id: one for one in probes},
    )


def read(*facts: Fact, path: str = "a.txt") -> list[Reading]:
    """The facts as if read from lines of a file, and each of their kinds as looked for completely."""
    observed = [Observed(fact, Source(path, line, line, f"line {line}")) for line, fact in enumerate(facts, 1)]
    return [*observed, *looked(*dict.fromkeys(fact.kind for fact in facts))]


def looked(*kinds: str) -> list[Reading]:
    """That these kinds were looked for, completely."""
    return [Looked(kind, True, "a.txt") for kind in kinds]


def partly(*kinds: str) -> list[Reading]:
    """That these kinds were looked for, in part only."""
    return [Looked(kind, False, "a.txt", "truncated") for kind in kinds]


def findings(diagnosis: Diagnosis) -> list[Finding]:
    """All hypotheses of a diagnosis, the strongest first."""
    return [*diagnosis.findings, *diagnosis.weaker]


def ledger(one: Cause, readings: Iterable[Reading]) -> dict[str, LedgerLine]:
    """The ledger of the strongest hypothesis of a cause, by clause."""
    diagnosis = assess(base(one), readings, engine="plain")
    return {line.clause: line for line in findings(diagnosis)[0].hypothesis.ledger}
