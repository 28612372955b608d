"""What follows from common facts and a few more is the same, in one pass or with the common part judged once."""

from __future__ import annotations

import pickle
import random

import pytest
from byhand import cause, clause, probe, symptom, thing

from engine.passes import Common, Pass, Prepared
from kb.evidence import Looked, Observed, Source
from kb.facts import fields_of
from kb.facts.machine import Boot
from kb.facts.packages import Package

SEEDS = range(60)

BUSY = {"it": {"port_conflict": {"port": {"ge": 3}}}}
SYMPTOMS = [
    symptom("busy", BUSY),
    symptom("alone", {"it": {"port_conflict": {}}}, unless={"p": {"package": {"name": "a"}}}),
    symptom("named", {"it": {"port_conflict": {"address": {"known": True}}}}, about="$it.address"),
]
CAUSES = [
    cause(
        "a.one",
        requires={"seen": {"symptom": {"id": ["busy", "alone"]}}},
        for_={
            "any": clause({"p": {"package": {}}}),
            "pair": clause({"it": {"port_conflict": {}}, "p": {"package": {"name": "$it.address"}}}),
            "lonely": clause({"it": {"port_conflict": {}}}, unless={"p": {"package": {"name": "$it.address"}}}),
            "either": clause([{"b": {"boot": {"kernel": "k"}}}, {"p": {"package": {"name": ["b", "c"]}}}]),
        },
    ),
    cause(
        "a.two",
        requires={"it": {"port_conflict": {}}, "other": {"port_conflict": {"port": {"not": "$it.port"}}}},
        against={"about": clause({"seen": {"symptom": {"id": "named", "about": "$it.address"}}})},
    ),
]
PROBES = [probe("p", run=["ping X"], fill=[{"when": BUSY, "words": {"X": "{it.address}"}}])]


def facts(choose: random.Random, path: str) -> list[Observed]:
    """Some facts of a file; values are few, so that files say the same now and then."""
    kinds = [
        lambda: thing(choose.choice([None, 1, 2, 3, 4]), choose.choice([None, "a", "b", "c"])),
        lambda: Boot(kernel=choose.choice([None, "k", "l"]), host=choose.choice(["h", "i"])),
        lambda: Package(name=choose.choice("abc"), version="1", state="installed"),
    ]
    found = [choose.choice(kinds)() for _ in range(choose.randrange(5))]
    return [Observed(fact, Source(path, line, line, "")) for line, fact in enumerate(found, 1)]


def order(one: Observed) -> tuple[str, str, str, int, int]:
    return one.fact.kind, repr(sorted(fields_of(one.fact).items())), one.source.path, one.source.line, 0


def told(one: Pass) -> tuple[object, ...]:
    """All that a pass came to."""
    found = one.evidence.matches.by_part
    matches = {part: [(each, one.evidence.bound(each)) for each in matches] for part, matches in found.items()}
    coverage = one.evidence.coverage
    doubts = [coverage.why_unknown(each, cause.requires, {}) for cause in CAUSES for each in cause.clauses]
    return matches, one.symptoms, doubts, one.firings


@pytest.mark.parametrize("engine", ["plain", "auto"])
def test_the_common_part_may_be_judged_once(engine):
    """Own facts may add to what is common, repeat it, or end an absence: all comes out as in one pass."""
    prepared = Prepared.of(CAUSES, SYMPTOMS, PROBES)
    wrong = []
    for seed in SEEDS:
        choose = random.Random(seed)
        shared = sorted(facts(choose, "m.txt") + facts(choose, "n.txt"), key=order)
        common = Common(prepared, shared, order, engine)
        for path in ("a.txt", "z.txt"):
            own = facts(choose, path)
            looked = [Looked("package", choose.random() < 0.5, path)]
            whole = prepared.run(sorted(shared + own, key=order), looked, engine)
            if told(common.run(own, looked)) != told(whole):
                wrong.append((seed, path))

    assert wrong == []


def test_the_random_evidence_is_worth_judging():
    """Symptoms are seen, and absences end, in a good part of it."""
    prepared = Prepared.of(CAUSES, SYMPTOMS, PROBES)
    seen = []
    for seed in SEEDS:
        choose = random.Random(seed)
        shared = sorted(facts(choose, "m.txt") + facts(choose, "n.txt"), key=order)
        alone = {one.fact for one in prepared.run(shared, (), "plain").symptoms}
        own = {
            one.fact
            for one in prepared.run(sorted(shared + facts(choose, "a.txt"), key=order), (), "plain").symptoms
        }
        seen.append((bool(own - alone), bool(alone - own)))

    assert min(map(sum, zip(*seen, strict=True))) > 5


def test_the_hash_of_an_observation_stays_in_its_process():
    """Texts have another hash in another process; what is sent there takes none along."""
    one = Observed(Boot(kernel="k"), Source("a.txt", 1, 1, ""))
    known = hash(one)
    sent = pickle.loads(pickle.dumps(one))  # noqa: S301  what we have just written

    assert sent == one
    assert hash(sent) == known
    assert b"_hash" not in pickle.dumps(one)
    assert str(known).encode() not in pickle.dumps(one, protocol=0)
