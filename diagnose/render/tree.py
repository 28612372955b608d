"""A proof drawn as a tree: its branches are clauses, twigs combined facts, leaves lines of the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from diagnose.render.evidence import absences
from diagnose.render.layout import Line, Span, line, place_cut, squeezed, wrap
from diagnose.render.proof import absence_line, clause_node, proof_of
from diagnose.render.words import clause_says, count, listed, not_known, place, stakes, weight_label
from engine.result import Diagnosis, Finding, LedgerLine
from kb.evidence import Source

Node = dict[str, Any]
_LABEL = 8
MOST_PLACES = 4


@dataclass(frozen=True, slots=True)
class Branch:
    """One judged clause or requirement, and what it rests on."""

    label: str
    style: str
    text: str
    because: Sequence[Node] = field(default_factory=tuple)
    note: str = ""


def branches(finding: Finding, diagnosis: Diagnosis | None, *, full: bool) -> list[Branch]:
    """The branches of a finding's proof: requirements, what is for it, what against it, what unknown."""
    looked = diagnosis.looked if diagnosis else ()
    proof = proof_of(finding, looked, diagnosis.symptoms if diagnosis else ())
    found = [_branch(node) for node in proof["because"]]
    hypothesis = finding.hypothesis
    against = [one for one in hypothesis.ledger if one.side == "against" and one.truth == "true"]
    found += [_branch(clause_node(one, finding)) for one in against]
    for absence in absences(hypothesis, looked):
        if absence.line.decibans < 0:
            leaf = absence_line(absence, finding)
            found.append(Branch(weight_label(absence.line), "against", leaf["text"], [leaf]))
    weightless = [one for one in hypothesis.ledger if one.truth == "false" and not one.decibans]
    found += [Branch("0", "dim", clause_says(one, hypothesis)) for one in weightless] if full else []
    return found + [_unknown(one, finding) for one in hypothesis.ledger if one.truth == "unknown"]


def _branch(node: Node) -> Branch:
    if "weight" not in node:
        return Branch("needs", "dim", node["conclusion"], node["because"])
    weight = node["weight"]
    label = f"{weight:+d}" if weight else "0"
    if node["conclusive"] and weight:
        label = "proves" if weight > 0 else "refutes"
    notes = [] if weight else ["a heavier one of its group counts in its place"]
    notes += [_not_listed(node)] if "omitted" in node else []
    return Branch(label, "for" if weight > 0 else "against", node["conclusion"], node["because"], "; ".join(notes))


def _unknown(one: LedgerLine, finding: Finding) -> Branch:
    says = clause_says(one, finding.hypothesis)
    return Branch("?", "warn", says, note=f"{not_known(one)}; {stakes(one, finding.hypothesis)}")


def drawn(found: Sequence[Branch], width: int, *, full: bool) -> list[Line]:
    """The branches as lines, with rules that show where each ends."""
    lines: list[Line] = []
    for number, branch in enumerate(found):
        last = number == len(found) - 1
        rule = "   " if last else "│  "
        first, *rest = wrap(branch.text, width - 3 - _LABEL)
        label = Span(f"{branch.label:<{_LABEL - 1}} ", branch.style)
        lines.append(line(Span("└─ " if last else "├─ ", "dim"), label, first))
        lines += [line(Span(rule + " " * _LABEL, "dim"), part) for part in rest]
        pad = rule + " " * _LABEL
        if branch.note:
            lines += [line(Span(pad + part, "dim")) for part in wrap(f"({branch.note})", width - len(pad))]
        lines += _all(branch.because, pad, width) if full else _first(branch.because, pad, width)
    return lines


def _first(nodes: Sequence[Node], pad: str, width: int) -> list[Line]:
    """The first line below these nodes, and how many more there are."""
    leaves = list(_leaves(nodes))
    if not leaves:
        return []
    lines = _leaf(leaves[0], pad, width, full=False)
    more = len({_key(leaf) for leaf in leaves}) - 1
    return [*lines, line(Span(f"{pad}and {count(more, 'more line')}", "dim"))] if more else lines


def _leaves(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if "because" in node:
            yield from _leaves(node["because"])
        else:
            yield node


def _key(leaf: Node) -> tuple[str, int, str]:
    return leaf["source"]["path"], leaf["source"]["line"], leaf["text"]


def _all(nodes: Sequence[Node], pad: str, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, node in enumerate(nodes):
        last = number == len(nodes) - 1
        if "because" not in node:
            lines += _leaf(node, pad, width, full=True)
            continue
        rule = pad + ("   " if last else "│  ")
        first, *rest = wrap(node["conclusion"], width - len(pad) - 3)
        lines.append(line(Span(pad + ("└─ " if last else "├─ "), "dim"), first))
        lines += [line(Span(rule, "dim"), part) for part in rest]
        lines += _all(node["because"], rule, width)
        lines += [line(Span(rule + _not_listed(node), "dim"))] if "omitted" in node else []
    return lines


def _not_listed(node: Node) -> str:
    return f"and {node['omitted']:,} more that are not listed"


def _leaf(leaf: Node, pad: str, width: int, *, full: bool) -> list[Line]:
    """A line of the evidence below its place; in full, or its first row."""
    room = width - len(pad)
    if leaf.get("absent"):
        where = listed(leaf["looked"], MOST_PLACES) or "all that was read"
        return [line(Span(pad + part, "dim")) for part in wrap(f"looked for in vain in {where}", room)]
    source = leaf["source"]
    at = place(Source(source["path"], source["line"], source["end_line"], ""))
    lines = [line(Span(pad, "dim"), Span(place_cut(at, room), "dim"))] if at else []
    if full:
        parts = [part for text in leaf["text"].strip("\n").split("\n") for part in wrap(text, room - 2)]
    else:
        parts = squeezed(leaf["text"].strip().split("\n")[0], room - 2, 2)
    return lines + [line(Span(f"{pad}  ", "dim"), part) for part in parts]
