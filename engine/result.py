"""What reasoning ends in: plain values that the reports are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from kb.evidence import Looked, Observed, Unread
from kb.rule import Cause, Probe, Remedy, SymptomRule, Verdict

Truth: TypeAlias = Literal["true", "false", "unknown"]


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One clause judged for one hypothesis."""

    clause: str
    side: Literal["for", "against"]
    truth: Truth
    decibans: int
    """What it adds; 0 where it is unknown, has no weight, or another clause of its group counts instead."""
    conclusive: bool
    """It decides by itself: for the cause where decibans > 0, against it where < 0."""
    says: str
    """The clause in words, with the values of the facts filled in."""
    evidence: tuple[Observed, ...] = ()
    """The facts that matched; empty unless it is true."""
    ask: str | None = None
    """The probe that would tell, where the truth is unknown."""
    unknown: str = ""
    """Why the truth is unknown: which fact kinds were not looked for, or which field is not known."""
    told_by: tuple[str, ...] = ()
    """The fact kinds that would tell, where the truth is unknown."""
    could_add: int = 0
    """Decibans between its being true and its being false: what asking could move."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A cause proposed for one subject, with the facts that proposed it and its ledger."""

    cause: Cause
    about: str
    bindings: Mapping[str, Observed]
    ledger: tuple[LedgerLine, ...]
    prior: int
    score: int
    """Prior and ledger added up, in decibans."""
    verdict: Verdict

    @property
    def settled(self) -> bool:
        """Whether a conclusive line decided, so that the score is not what counts."""
        return self.verdict in {"confirmed", "ruled-out", "contradictory"}


@dataclass(frozen=True, slots=True)
class SymptomSeen:
    """A symptom with the facts that show it."""

    rule: SymptomRule
    about: str
    says: str
    evidence: tuple[Observed, ...]
    explained_by: tuple[str, ...] = ()
    """Ids of the confirmed or likely causes that explain it."""


@dataclass(frozen=True, slots=True)
class RemedyOffer:
    """A remedy with everything filled in for this machine."""

    remedy: Remedy
    do: str
    run: tuple[str, ...]
    undo: tuple[str, ...]
    check: tuple[str, ...]
    expect: str = ""
    costs: str = ""
    caution: str = ""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another cause for the same symptom, and how far it is behind (positive) in decibans."""

    cause: str
    title: str
    verdict: Verdict
    margin: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A hypothesis as it is reported."""

    hypothesis: Hypothesis
    confidence: float
    explains: tuple[str, ...] = ()
    """Ids of the symptoms seen that it explains."""
    subjects: tuple[str, ...] = ()
    consequence_of: str | None = None
    """Id of the likely cause that leads to this one."""
    yields_to: str | None = None
    """Id of the better cause in evidence, where this one is only a fallback."""
    rivals: tuple[Rival, ...] = ()
    remedies: tuple[RemedyOffer, ...] = ()

    @property
    def cause(self) -> Cause:
        return self.hypothesis.cause

    @property
    def verdict(self) -> Verdict:
        return self.hypothesis.verdict


@dataclass(frozen=True, slots=True)
class NextTest:
    """A probe worth running, with the causes whose standing it could move and by how much in all."""

    probe: Probe
    commands: tuple[str, ...]
    separates: tuple[str, ...]
    could_move: int


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two sources that disagree."""

    title: str
    evidence: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was concluded from one body of evidence."""

    symptoms: tuple[SymptomSeen, ...]
    findings: tuple[Finding, ...]
    """In the order of the report: confirmed and likely faults, root before consequence; then confirmed and
    likely states; then possible faults. The first is the answer."""
    weaker: tuple[Finding, ...]
    """All other hypotheses: unlikely, ruled out, set aside, and causes whose requirements did not match."""
    next_tests: tuple[NextTest, ...]
    contradictions: tuple[Contradiction, ...]
    observed: tuple[Observed, ...]
    looked: tuple[Looked, ...]
    unread: tuple[Unread, ...]
    engine: str
    rules_fired: int
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Causes that were not proposed at all: id → which requirement did not match, or was not looked for."""
    parts: tuple[str, ...] = ()
    """The names of the parts (machines) that the evidence was divided into; none where it is one."""
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """All probes by their ids, as they are for this evidence."""
