"""The engines against the reference on random programs: no difference, and no order of facts that matters."""

from __future__ import annotations

import random
import threading
from functools import cache

import pytest
from engines import ENGINES, needs_durable
from reference import FEATURES, distinct, program, reference, told

from engine.matcher import infer
from engine.matcher.form import AnyOf, Head, Pattern, Ref, Rule, RuleSetError, Test

PROGRAMS_EACH = 100


@cache
def expected(seed, features):
    """What the reference says, shared by the engines; None where it refuses the rules."""
    try:
        return reference(*program(seed, features))
    except RuleSetError:
        return None


def differences(seed, features, engine):
    """What is wrong with an engine on one program."""
    rules, facts = program(seed, features)
    if expected(seed, features) is None:
        return [] if refuses(rules, facts, engine) else ["it runs what has no order"]
    outcome = told(infer(rules, facts, engine), len(facts))
    derived, firings = outcome
    shuffled = random.Random(seed).sample(facts, len(facts))
    wrong = []
    if (set(derived), set(firings)) != expected(seed, features):
        right = expected(seed, features)[1]
        wrong.append(f"missing {right - set(firings)}, extra {set(firings) - right}")
    if len(set(firings)) < len(firings) or len(set(derived)) < len(derived):
        wrong.append("it says something twice")
    if told(infer(rules, shuffled, engine), len(facts)) != outcome:
        wrong.append("the order of the facts matters")
    if told(infer(rules, facts, "plain"), len(facts)) != outcome:
        wrong.append("it tells the same in another order than the plain engine")
    return wrong


def refuses(rules, facts, engine):
    try:
        infer(rules, facts, engine)
    except RuleSetError:
        return True
    return False


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("features", FEATURES)
def test_random_programs_have_the_outcome_of_the_reference(features, engine):
    """An engine finds every firing of the reference once, nothing else, and tells them in one order."""
    found = {seed: differences(seed, features, engine) for seed in range(PROGRAMS_EACH)}
    wrong = {seed: problems for seed, problems in found.items() if problems}

    assert wrong == {}


@pytest.mark.parametrize("features", FEATURES)
def test_random_programs_are_worth_running(features):
    """A good part of the random programs has firings to miss."""
    fire = [seed for seed in range(PROGRAMS_EACH) if (expected(seed, features) or ((), ()))[1]]

    assert len(fire) > PROGRAMS_EACH / 12


def large_program(seed):
    """Many rules on few kinds, so that no ruleset of durable-rules can hold them together."""
    choose = random.Random(seed)
    kinds, fields = ["k0", "k1", "k2"], ["p0", "p1", "p2", "p3"]
    facts = [
        {"kind": choose.choice(kinds), **{field: choose.randint(0, 12) for field in choose.sample(fields, 3)}}
        for _ in range(120)
    ]

    def tests():
        op, field = choose.choice(["eq", "lt", "ne", "ge", "has"]), choose.choice(fields)
        return (Test(op, field, None if op == "has" else choose.randint(0, 12)),)

    def pattern(alias, *tests):
        return Pattern(alias, choose.choice(kinds), tests)

    def rule(number):
        join = Test("eq", choose.choice(fields), Ref("a", choose.choice(fields)))
        either = AnyOf((tests(), (Test("gt", "p0", Ref("a", "p1")),)))
        patterns = (pattern("a", *tests()), pattern("b", join, either))
        absent = (pattern("n", join, *tests()),) if number % 5 == 0 else ()
        head = Head(f"h{number % 7}", (("p0", Ref("a", "p0")), ("p1", Ref("b", "p1"))))
        return Rule(f"r{number}", patterns, absent, head)

    follow = Rule("follow", (Pattern("a", "h0"), Pattern("b", "h1", (Test("eq", "p0", Ref("a", "p0")),))))
    return [*map(rule, range(150)), follow], facts


@needs_durable
@pytest.mark.parametrize("seed", range(6))
def test_rules_too_many_for_one_ruleset_have_the_same_outcome(seed):
    """What durable-rules must hold in several rulesets, it concludes as the plain engine does."""
    rules, facts = large_program(seed)
    plain, durable = (told(infer(rules, facts, engine), len(facts)) for engine in ("plain", "durable"))

    assert plain == durable
    assert len(plain[1]) > 1000


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_in_several_threads_do_not_meet(engine):
    """Runs in different threads do not see each other's facts."""
    wrong = []

    def run(start):
        for seed in range(start, start + 15):
            wrong.extend(differences(seed, "j2 chain inequality missing", engine))

    threads = [threading.Thread(target=run, args=(start,)) for start in range(0, 60, 15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_the_reference_keeps_the_first_of_equal_facts():
    """In the reference too, equal facts are one, and the first stands for all."""
    first, second, other = {"kind": "k", "p": 1}, {"kind": "k", "p": 1, "q": None}, {"kind": "k", "p": 1.0}

    assert [first, other] == distinct([first, second, other])
