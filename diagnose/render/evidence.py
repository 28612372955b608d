"""Which lines of the evidence speak for a cause, which against it, and which facts are missing.

A conclusion rests on facts, facts on lines. Here every clause is followed down to its lines, and each line is
named once however many clauses it serves. Where a clause rests on absence, the places looked at are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from engine.result import Hypothesis, LedgerLine
from kb.evidence import Looked, Observed, Source
from kb.facts import Fact
from kb.facts.conclusion import Symptom
from kb.rule import Clause

REQUIRED = "requires"
"""Stands in place of a clause's name for the facts that proposed a hypothesis."""
MOST_LINES = 12
FEWEST_TOLD = 3
_WORD = re.compile(r"\w{3,}")

Key = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class Cited:
    """A line of the evidence, with the weight and the names of the clauses that rest on it."""

    source: Source
    fact: Fact
    weight: int
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Absence:
    """A clause that is false, and where its facts were looked for in vain."""

    line: LedgerLine
    kinds: tuple[str, ...]
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    clause: str
    weight: int
    lines: tuple[Observed, ...]


def supporting(hypothesis: Hypothesis, limit: int = MOST_LINES) -> list[Cited]:
    """The lines for a hypothesis, strongest first: at least one of each true clause, more up to the limit."""
    return _cited([*_clauses(_true(hypothesis, "for")), *_requirements(hypothesis)], limit)


def telling(hypothesis: Hypothesis, fewest: int = FEWEST_TOLD) -> list[Cited]:
    """The lines for a hypothesis in the order in which a reader wants them; only lines of files.

    Of each true clause and each requirement the first line in each file that it draws on: facts of several
    files complete each other, lines of one file mostly repeat each other. More only up to the fewest.
    """
    strongest, *others = _clauses(_true(hypothesis, "for")) or [_Group("", 0, ())]
    required = _requirements(hypothesis)
    groups = [strongest, *required[:1], *others, *required[1:]]
    first = list(dict.fromkeys(key_of(one.source) for group in groups for one in _first_of_each_file(group)))
    lines = {key_of(one.source): one for one in _cited(groups, sum(len(group.lines) for group in groups))}
    told = [lines[key] for key in first]
    told += [one for key, one in lines.items() if key not in first][: max(0, fewest - len(told))]
    return [one for one in told if one.source.line > 0]


def opposing(hypothesis: Hypothesis, limit: int = MOST_LINES) -> list[Cited]:
    """The lines against a hypothesis, strongest first."""
    return _cited(_clauses(_true(hypothesis, "against")), limit)


def cited(observations: Iterable[Observed], clause: str = "", limit: int = MOST_LINES) -> list[Cited]:
    """The lines that these facts rest on, without weight: for symptoms and contradictions."""
    return _cited([_Group(clause, 0, _roots(observations))], limit)


def absences(hypothesis: Hypothesis, looked: Sequence[Looked]) -> list[Absence]:
    """The clauses whose being false carries weight, heaviest first."""
    false = [line for line in hypothesis.ledger if line.truth == "false" and line.decibans]
    return [_absence(line, hypothesis, looked) for line in _by_weight(false)]


def unknowns(hypothesis: Hypothesis) -> list[LedgerLine]:
    """The clauses that could not be judged, those that could move most first."""
    unknown = [line for line in hypothesis.ledger if line.truth == "unknown"]
    return sorted(unknown, key=lambda line: -line.could_add)


def in_order(hypothesis: Hypothesis) -> list[LedgerLine]:
    """The ledger as it is shown: what is for it, what against it, heaviest first; then what is unknown."""
    counted = [line for line in hypothesis.ledger if line.decibans]
    counted.sort(key=lambda line: (line.decibans < 0, -abs(line.decibans)))
    return counted + unknowns(hypothesis)


def unlooked(line: LedgerLine, hypothesis: Hypothesis, looked: Sequence[Looked]) -> tuple[str, ...]:
    """The fact kinds that would tell whether a clause is true; those not looked for where there are such."""
    kinds = _kinds(line, hypothesis)
    complete = {one.kind for one in looked if one.complete}
    return tuple(kind for kind in kinds if kind not in complete) or kinds


def first_line(line: LedgerLine) -> tuple[Source | None, int]:
    """The first of the lines that a clause rests on, and how many more there are."""
    roots = _of_clause(line)
    return (roots[0].source, len(roots) - 1) if roots else (None, 0)


def key_of(source: Source) -> Key:
    """What makes two citations one: path and line, or the text where there is no line."""
    return source.path, source.line or source.text


def clause_of(line: LedgerLine, hypothesis: Hypothesis) -> Clause | None:
    """The clause that a ledger line judges."""
    return next((clause for clause in hypothesis.cause.clauses if clause.name == line.clause), None)


def _true(hypothesis: Hypothesis, side: str) -> list[LedgerLine]:
    return [line for line in hypothesis.ledger if line.side == side and line.truth == "true"]


def _first_of_each_file(group: _Group) -> list[Observed]:
    found: dict[str, Observed] = {}
    for root in group.lines:
        found.setdefault(root.source.path, root)
    return list(found.values())


def _clauses(lines: Sequence[LedgerLine]) -> list[_Group]:
    return [_Group(line.clause, line.decibans, _of_clause(line)) for line in _by_weight(lines)]


def _of_clause(line: LedgerLine) -> tuple[Observed, ...]:
    """The lines of a clause; those that share most words with what it says come first."""
    words = set(_WORD.findall(line.says))
    return tuple(
        sorted(_roots(line.evidence), key=lambda root: -len(words & set(_WORD.findall(root.source.text))))
    )


def _by_weight(lines: Sequence[LedgerLine]) -> list[LedgerLine]:
    return sorted(lines, key=lambda line: (-abs(line.decibans), not line.conclusive))


def _requirements(hypothesis: Hypothesis) -> list[_Group]:
    """What proposed it; symptoms last, for they are what is to be explained."""
    bound = sorted(hypothesis.bindings.values(), key=lambda observed: isinstance(observed.fact, Symptom))
    return [_Group(REQUIRED, 0, _roots([observed])) for observed in bound]


def _roots(observations: Iterable[Observed]) -> tuple[Observed, ...]:
    found: dict[Key, Observed] = {}
    for observed in observations:
        for root in observed.roots():
            if root.source.path or root.source.text:
                found.setdefault(key_of(root.source), root)
    return tuple(found.values())


def _cited(groups: Sequence[_Group], limit: int) -> list[Cited]:
    chosen: dict[Key, Observed] = {}
    for group in groups:
        fresh = [root for root in group.lines if key_of(root.source) not in chosen]
        if len(fresh) == len(group.lines) and fresh:
            chosen[key_of(fresh[0].source)] = fresh[0]
    for turn in zip_longest(*(group.lines for group in groups)):  # in turn, so that no clause takes all the room
        for root in turn:
            if root is not None and len(chosen) < limit:
                chosen.setdefault(key_of(root.source), root)
    citations = [_citation(root, groups) for root in chosen.values()]
    order = {key: place for place, key in enumerate(_in_order(groups))}
    return sorted(citations, key=lambda one: (-abs(one.weight), order[key_of(one.source)]))


def _in_order(groups: Sequence[_Group]) -> dict[Key, None]:
    return dict.fromkeys(key_of(root.source) for group in groups for root in group.lines)


def _citation(root: Observed, groups: Sequence[_Group]) -> Cited:
    key = key_of(root.source)
    serving = [group for group in groups if any(key_of(one.source) == key for one in group.lines)]
    weight = max((group.weight for group in serving), key=abs)
    return Cited(root.source, root.fact, weight, tuple(dict.fromkeys(group.clause for group in serving)))


def _absence(line: LedgerLine, hypothesis: Hypothesis, looked: Sequence[Looked]) -> Absence:
    kinds = _kinds(line, hypothesis)
    where = dict.fromkeys(one.where for one in looked if one.kind in kinds and one.complete)
    return Absence(line, kinds, tuple(where))


def _kinds(line: LedgerLine, hypothesis: Hypothesis) -> tuple[str, ...]:
    """The fact kinds that a clause asks for beyond those that its cause requires."""
    clause = clause_of(line, hypothesis)
    if clause is None:
        return ()
    patterns = [pattern for when in clause.when for pattern in when] + list(clause.unless)
    required = {pattern.binding for pattern in hypothesis.cause.requires}
    added = [pattern.fact for pattern in patterns if pattern.binding not in required]
    return tuple(dict.fromkeys(added or [pattern.fact for pattern in patterns]))
