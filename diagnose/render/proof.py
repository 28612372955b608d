"""The proof of a finding as a tree: conclusion, clauses, combined facts, and as leaves lines of the evidence.

A node is {conclusion, rule, because: [node or line]}; it may carry more keys. The same tree feeds the JSON
and `diagnose why`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diagnose.render.evidence import REQUIRED, Absence, Cited, absences
from diagnose.render.words import clause_says, fact_says
from engine.result import Finding, LedgerLine, SymptomSeen
from kb.evidence import Looked, Observed, Source
from kb.facts.conclusion import Symptom

MOST_CHILDREN = 50
"""Of one node; an aggregate over a log may rest on thousands of lines."""

Node = dict[str, Any]


def proof_of(finding: Finding, looked: Sequence[Looked], symptoms: Iterable[SymptomSeen] = ()) -> Node:
    """The proof of a finding. `looked` says where facts were looked for in vain; `symptoms` lends titles."""
    hypothesis = finding.hypothesis
    titles = {seen.rule.symptom: seen.rule.title for seen in symptoms}
    required = [_required(name, observed, finding, titles) for name, observed in hypothesis.bindings.items()]
    supports = [line for line in hypothesis.ledger if line.side == "for" and line.truth == "true"]
    clauses = [clause_node(line, finding, titles) for line in sorted(supports, key=lambda line: -line.decibans)]
    absent = [_absent(one, finding) for one in absences(hypothesis, looked) if one.line.decibans > 0]
    return {
        "conclusion": f"{finding.cause.title} ({hypothesis.about})",
        "rule": finding.cause.cause,
        "verdict": finding.verdict,
        "score": hypothesis.score,
        "prior": hypothesis.prior,
        "because": [*required, *clauses, *absent],
    }


def line_of(cited: Cited, rule: str) -> Node:
    """A line of the evidence as the report's JSON has it."""
    return {
        "text": cited.source.text,
        "source": source_of(cited.source),
        "weight": cited.weight,
        "rule": rule,
        "clauses": list(cited.clauses),
    }


def source_of(source: Source) -> Node:
    """Where a line stands; line 0 means that it is no line of a file."""
    return {
        "path": source.path,
        "line": source.line,
        "end_line": source.end_line,
        "sha256": source.sha256,
    }


def absence_line(absence: Absence, finding: Finding) -> Node:
    """The want of a fact, cited like a line: the places that were looked at, at line 0."""
    where = absence.where[0] if absence.where else ""
    return {
        "text": clause_says(absence.line, finding.hypothesis),
        "source": source_of(Source(where, 0, 0, "")),
        "weight": absence.line.decibans,
        "rule": finding.cause.cause,
        "clauses": [absence.line.clause],
        "absent": True,
        "kinds": list(absence.kinds),
        "looked": list(absence.where),
    }


def clause_node(line: LedgerLine, finding: Finding, titles: Mapping[str, str] | None = None) -> Node:
    """A true clause with all that it rests on."""
    return {
        "conclusion": line.says,
        "rule": finding.cause.cause,
        "clause": line.clause,
        "weight": line.decibans,
        "conclusive": line.conclusive,
        "because": _children(line.evidence, finding, line.clause, line.decibans, titles or {}),
    } | _omitted(line.evidence)


def _required(name: str, observed: Observed, finding: Finding, titles: Mapping[str, str]) -> Node:
    return {
        "conclusion": _says(observed, titles),
        "rule": _rule(observed) or finding.cause.cause,
        "clause": REQUIRED,
        "binding": name,
        "because": _children(observed.basis or [observed], finding, REQUIRED, 0, titles),
    } | _omitted(observed.basis)


def _absent(absence: Absence, finding: Finding) -> Node:
    line = absence_line(absence, finding)
    return {
        "conclusion": line["text"],
        "rule": finding.cause.cause,
        "clause": absence.line.clause,
        "weight": absence.line.decibans,
        "conclusive": absence.line.conclusive,
        "because": [line],
    }


def _children(
    observations: Sequence[Observed], finding: Finding, clause: str, weight: int, titles: Mapping[str, str]
) -> list[Node]:
    return [_node(one, finding, clause, weight, titles) for one in observations[:MOST_CHILDREN]]


def _omitted(observations: Sequence[Observed]) -> Node:
    """How many children a node has beyond those that are listed; nothing where all are."""
    more = len(observations) - MOST_CHILDREN
    return {"omitted": more} if more > 0 else {}


def _node(observed: Observed, finding: Finding, clause: str, weight: int, titles: Mapping[str, str]) -> Node:
    if not observed.basis:
        return line_of(Cited(observed.source, observed.fact, weight, (clause,)), finding.cause.cause)
    return {
        "conclusion": _says(observed, titles),
        "rule": _rule(observed),
        "because": _children(observed.basis, finding, clause, weight, titles),
    } | _omitted(observed.basis)


def _rule(observed: Observed) -> str:
    """What combined a fact: the rule of a symptom, the step that makes its kind; empty if it was read."""
    if isinstance(observed.fact, Symptom):
        return observed.fact.id
    return f"combine.{observed.fact.kind}" if observed.basis else ""


def _says(observed: Observed, titles: Mapping[str, str]) -> str:
    fact = observed.fact
    if isinstance(fact, Symptom):
        return f"{titles.get(fact.id, fact.id)} ({fact.about})"
    return fact_says(fact)
