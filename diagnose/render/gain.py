"""What unknown clauses could still bring a hypothesis, and the fewest of them that would make it likely."""

from __future__ import annotations

from dataclasses import dataclass

from diagnose.render.evidence import clause_of
from engine.result import Hypothesis, LedgerLine
from kb.rule import DECIBANS, LIKELY, Weight


@dataclass(frozen=True, slots=True)
class Gain:
    """An unknown clause and what it adds if it turns out in the cause's favour."""

    line: LedgerLine
    decibans: int
    conclusive: bool


def smallest_change(hypothesis: Hypothesis) -> tuple[list[Gain], int]:
    """The fewest unknown clauses that together would make it likely, and the score that they lead to.

    Where all of them are not enough, all of them. A clause that would confirm it by itself is enough alone.
    """
    score = hypothesis.score
    gains = sorted(_gains(hypothesis), key=lambda gain: (not gain.conclusive, -gain.decibans))
    taken: list[Gain] = []
    groups: set[str] = set()
    for gain in gains:
        clause = clause_of(gain.line, hypothesis)
        group = clause.same if clause else None
        if score >= LIKELY or (group and group in groups):
            continue
        taken.append(gain)
        groups |= {group} if group else set()
        score = max(score, LIKELY) if gain.conclusive else score + gain.decibans
    return taken, score


def _gains(hypothesis: Hypothesis) -> list[Gain]:
    found: list[Gain] = []
    for line in hypothesis.ledger:
        clause = clause_of(line, hypothesis)
        if line.truth != "unknown" or clause is None:
            continue
        weight = clause.weight if line.side == "for" else clause.otherwise
        decibans = _size(weight) - _counted(clause.same, hypothesis)
        if weight == "conclusive" or decibans > 0:
            found.append(Gain(line, max(decibans, 0), weight == "conclusive"))
    return found


def _size(weight: Weight | None) -> int:
    return DECIBANS.get(weight or "", 0)


def _counted(group: str | None, hypothesis: Hypothesis) -> int:
    """What the clauses of this group count already: of one group only the heaviest counts."""
    members = {clause.name for clause in hypothesis.cause.clauses if group and clause.same == group}
    return max((line.decibans for line in hypothesis.ledger if line.clause in members), default=0)
