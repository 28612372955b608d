"""What to do: remedies made for this machine, and the next tests, ordered by what they could move and cost."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from engine.compile import Part
from engine.result import Finding, NextTest, RemedyOffer
from engine.weigh import CONCLUSIVE, SETTLED, Matches, filled, standing
from kb.evidence import Observed
from kb.facts.conclusion import Symptom
from kb.rule import Cause, Disruption, Probe, Remedy, SymptomRule

CLOSE = 20
"""A hypothesis this many decibans behind the best is still worth a test."""
UNSUPPORTED = 0.2
"""What a test of a hypothesis for which no clause speaks is worth beside one with support."""
FALL = 12
"""Decibans behind the best that make a test of a hypothesis worth a tenth."""
NEGLIGIBLE = 0.1
"""A test that could move less than this share of what the best could is not worth a reader's time."""
DISRUPTIONS: tuple[str, ...] = get_args(Disruption)


def with_remedies(finding: Finding, matches: Matches) -> Finding:
    """The finding with the remedies that its facts allow: repairs, then least disruption, then an undo, first."""
    offers = []
    for place, remedy in enumerate(finding.cause.remedies):
        allowed = _allowed(finding, place, remedy, matches)
        if allowed:
            offers.append(_offer(remedy, allowed))
    return replace(finding, remedies=tuple(sorted(offers, key=_rank)))


def _rank(offer: RemedyOffer) -> tuple[bool, int, bool]:
    """What remedies are ordered by."""
    remedy = offer.remedy
    return remedy.prevents, DISRUPTIONS.index(remedy.disrupts), not remedy.undo


def _allowed(finding: Finding, place: int, remedy: Remedy, matches: Matches) -> Sequence[Mapping[str, Observed]]:
    """The bindings that a remedy's texts are filled from; none where the facts speak against it."""
    bindings = finding.hypothesis.bindings
    if remedy.when or remedy.unless:
        part = Part(finding.cause.cause, "remedy", str(place))
        found, _ = matches.of_choices(part, len(remedy.when) or 1, bindings)
        return [{**bindings, **match} for match in found]
    return [bindings]


def _offer(remedy: Remedy, allowed: Sequence[Mapping[str, Observed]]) -> RemedyOffer:
    def commands(texts: Sequence[str]) -> tuple[str, ...]:
        """Each text once for each different filling: one command for each package to remove."""
        return tuple(dict.fromkeys(filled(text, one, shell_safe) for text in texts for one in allowed))

    def words(text: str) -> str:
        return filled(text, allowed[0])

    return RemedyOffer(
        remedy=remedy,
        do=words(remedy.do),
        run=commands(remedy.run),
        undo=commands(remedy.undo),
        check=commands(remedy.check),
        expect=words(remedy.expect),
        costs=words(remedy.costs),
        caution=words(remedy.caution),
    )


_PLAIN = re.compile(r"[\w.,:/+@%=-]+")


def shell_safe(value: str) -> str:
    """The value as one word of a shell command, and no option of it: evidence may come from a stranger."""
    value = f"./{value}" if value.startswith("-") else value
    return value if _PLAIN.fullmatch(value) else shlex.quote(value)


MOST_FILLINGS = 2
"""Of many peers that could not be reached, so many are tried."""


def as_of_here(probes: Mapping[str, Probe], passes: Sequence[Matches]) -> dict[str, Probe]:
    """The probes as they are for the facts of these passes: commands filled in, and what they interrupt."""
    return {name: _as_of_here(probe, passes) for name, probe in probes.items()}


def _as_of_here(probe: Probe, passes: Sequence[Matches]) -> Probe:
    changes: dict[str, object] = {}
    if probe.fill:
        changes["run"] = _filled_in(probe, passes)
    if any(Part(probe.id, "free") in matches.by_part for matches in passes):
        changes["disrupts"] = "none"
    return probe.model_copy(update=changes) if changes else probe


def _filled_in(probe: Probe, passes: Sequence[Matches]) -> tuple[str, ...]:
    done: set[str] = set()
    commands = probe.run
    for place, filling in enumerate(probe.fill):
        part = Part(probe.id, "fill", str(place))
        found = [match for matches in passes for match in matches.of_clause(part, {})]
        tables = [_words(filling.words, match) for match in found]
        tables = [table for table in tables if table and done.isdisjoint(table)][:MOST_FILLINGS]
        if tables:
            commands = tuple(dict.fromkeys(_replaced(text, table) for text in commands for table in tables))
            done.update(*tables)
    return commands


def _words(words: Mapping[str, str], match: Mapping[str, Observed]) -> dict[str, str]:
    """The words whose texts are known whole, and are one plain word of a shell wherever they stand."""
    texts = {word: filled(text, match, unknown=" ") for word, text in words.items()}
    return {word: text for word, text in texts.items() if _PLAIN.fullmatch(text) and not text.startswith("-")}


def _replaced(command: str, table: Mapping[str, str]) -> str:
    longest_first = sorted(table, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return pattern.sub(lambda found: table[found.group()], command)


def next_tests(
    probes: Mapping[str, Probe], findings: Sequence[Finding], looked: Container[str] = ()
) -> tuple[NextTest, ...]:
    """The probes worth running: those that would settle unknown clauses of hypotheses that are still open.

    Least disruption first, then by how many decibans they could move, then the quicker one. What a probe could
    move counts by the odds of the hypothesis against the best one, and for little where nothing speaks for it
    yet: a dozen of those weigh less than one that is half shown. A fallback is no reason to stop looking; nor is
    what a hypothesis would lead to: that a consequence is proved asks all the more for its root. A probe all of
    whose kinds of facts are `looked` for completely was run already, and would bring nothing new.
    """
    candidates = [finding for finding in findings if _is_open(finding)]
    best = _best_beside(candidates)
    moved: dict[str, float] = {}
    separates: dict[str, dict[str, None]] = {}
    for finding in candidates:
        behind = max(best[finding.cause.cause] - _level(finding), 0)
        if finding.hypothesis.settled or behind > CLOSE:
            continue
        odds = 10 ** (-behind / FALL) * (1 if _has_support(finding) else UNSUPPORTED)
        for ask, could_add in _asked(finding, probes).items():
            moved[ask] = moved.get(ask, 0) + could_add * odds
            separates.setdefault(ask, {})[finding.cause.cause] = None
    tests = [
        NextTest(probes[ask], probes[ask].run, tuple(separates[ask]), round(could_move))
        for ask, could_move in moved.items()
        if not all(kind in looked for kind in probes[ask].covers)
    ]
    return _worthwhile(tests)


def _best_beside(findings: Iterable[Finding]) -> dict[str, int]:
    """For each cause the highest level among all that is neither a fallback nor what this cause leads to."""
    best: dict[str, int] = {}
    causes: dict[str, Cause] = {}
    for one in findings:
        causes[one.cause.cause] = one.cause
        if not one.cause.fallback:
            best[one.cause.cause] = max(best.get(one.cause.cause, -SETTLED), _level(one))
    return {
        name: max((level for other, level in best.items() if other not in cause.leads_to), default=0)
        for name, cause in causes.items()
    }


def _is_open(finding: Finding) -> bool:
    """Whether a test may change what is thought of it: a fault, or a state that would explain what is seen."""
    cause = finding.cause
    return not finding.yields_to and (cause.kind == "fault" or bool(finding.explains))


def _has_support(finding: Finding) -> bool:
    return any(line.decibans > 0 for line in finding.hypothesis.ledger)


def first_tests(
    probes: Mapping[str, Probe],
    causes: Iterable[Cause],
    symptoms: Mapping[str, SymptomRule],
    looked: Container[str],
) -> tuple[NextTest, ...]:
    """Where nothing is proposed: the probes that bring what most causes need and nobody looked for.

    A cause counts for a probe by the share of what it lacks that the probe brings, in tenths.
    """
    separates: dict[str, dict[str, float]] = {}
    for cause in causes:
        missing = {kind for kind in _proposing(cause, symptoms) if kind not in looked}
        for probe in probes.values():
            if brought := missing & set(probe.covers):
                separates.setdefault(probe.id, {})[cause.cause] = len(brought) / len(missing)
    tests = [
        NextTest(probes[ask], probes[ask].run, _most_first(shares), round(10 * sum(shares.values())))
        for ask, shares in separates.items()
    ]
    return _worthwhile(tests)


def _proposing(cause: Cause, symptoms: Mapping[str, SymptomRule]) -> set[str]:
    """The kinds of facts that may propose a cause; a symptom stands for the kinds that show it."""
    kinds: set[str] = set()
    for pattern in cause.requires:
        if pattern.fact != Symptom.kind:
            kinds.add(pattern.fact)
            continue
        named = [str(value) for test in pattern.tests if test.field == "id" for value in test.values]
        for rule in (symptoms[one] for one in named if one in symptoms):
            kinds |= {shown.fact for alternative in rule.when for shown in alternative}
    return kinds


def _most_first(shares: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(sorted(shares, key=lambda cause: -shares[cause]))


def _worthwhile(tests: Sequence[NextTest]) -> tuple[NextTest, ...]:
    """In order of use, without those that could move next to nothing beside the best."""
    least = max((test.could_move for test in tests), default=0) * NEGLIGIBLE
    return tuple(sorted((test for test in tests if test.could_move >= max(least, 1)), key=_use))


def _use(test: NextTest) -> tuple[int, int, int, str]:
    """What tests are ordered by: disruption, what they could move, time."""
    return DISRUPTIONS.index(test.probe.disrupts), -test.could_move, test.probe.seconds, test.probe.id


def _level(finding: Finding) -> int:
    return min(standing(finding.hypothesis), CONCLUSIVE)


def _asked(finding: Finding, probes: Mapping[str, Probe]) -> dict[str, int]:
    """For each probe what it could move in this hypothesis; of a group of clauses only the heaviest counts.

    A probe that brings nothing of what a clause still lacks does not move it, and none moves a hypothesis by more
    than a conclusive line does.
    """
    groups = {clause.name: clause.same or clause.name for clause in finding.cause.clauses}
    heaviest: dict[tuple[str, str], int] = {}
    for line in finding.hypothesis.ledger:
        probe = probes.get(line.ask or "")
        if probe is not None and line.could_add and not set(line.told_by).isdisjoint(probe.covers):
            key = probe.id, groups[line.clause]
            heaviest[key] = max(heaviest.get(key, 0), line.could_add)
    asked: dict[str, int] = {}
    for (ask, _), could_add in heaviest.items():
        asked[ask] = min(asked.get(ask, 0) + could_add, CONCLUSIVE)
    return asked
