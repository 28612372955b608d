"""What the fence relies on in durable-rules 2.0.28, and where it refuses: a contract test for each."""

from __future__ import annotations

import gc
import json
import resource
import threading
from importlib import metadata

import pytest
from engines import needs_durable
from reference import FEATURES, program, told

import engine.matcher
from engine.matcher import fence, infer
from engine.matcher.conditions import ready
from engine.matcher.form import AnyOf, EngineError, Head, Pattern, Ref, Rule, Test
from engine.matcher.memory import WorkingMemory

pytestmark = needs_durable

if not needs_durable.args[0]:
    import durable_rules_engine as core

    from engine.matcher import durable


class Session:
    """The C core with one ruleset, used as `durable.py` uses it."""

    def __init__(self, **rules):
        rules["boot"] = [{"c0": {"$and": [{"kind": 0}]}}]
        definitions = {name: {"all": patterns} for name, patterns in rules.items()}
        self.handle = core.create_ruleset("rules", json.dumps(definitions))
        self.tell(kind=0, id="boot")

    def tell(self, **fact):
        outcome, state = core.assert_fact(self.handle, json.dumps({"zero": 0, **fact}))
        fired = []
        started = core.start_action_for_state(self.handle, state)
        message = started and started[1]
        while message:
            fired += json.loads(message).items()
            message = core.complete_and_start_action(self.handle, state)
        return outcome, fired

    def close(self):
        core.delete_state(self.handle, None)
        core.delete_ruleset(self.handle)


@pytest.fixture
def session():
    """Makes sessions and closes them."""
    made = []

    def make(**rules):
        made.append(Session(**rules))
        return made[-1]

    yield make
    for one in made:
        one.close()


def pattern(alias, kind, *tests):
    return {alias: {"$and": [{"kind": kind}, *tests]}}


def test_the_release_is_the_one_the_fence_was_measured_on():
    """Another release would have to be measured anew."""
    assert metadata.version("durable-rules") == "2.0.28"


def test_the_core_offers_what_the_adapter_calls():
    """The adapter needs seven names of the C core, and nothing of the Python layer."""
    rulesets = {"create_ruleset", "delete_ruleset", "delete_state", "error"}
    firings = {"assert_fact", "start_action_for_state", "complete_and_start_action"}

    assert rulesets | firings <= {*dir(core)}


def test_a_firing_tells_the_rule_and_each_fact_bound_to_an_alias(session):
    """One firing is one message, with the rule and the whole fact under each alias."""
    one = session(r=[pattern("c0", 1), pattern("c1", 2, {"v1": {"c0": "v0"}}, {"zero": {"c0": "zero"}})])

    assert one.tell(kind=1, id="f1", v0=7) == (0, [])
    outcome, [(rule, bound)] = one.tell(kind=2, id="f2", v1=7)
    assert (outcome, rule, [*bound]) == (0, "r", ["c0", "c1"])
    assert [bound["c0"]["id"], bound["c1"]["v1"]] == ["f1", 7]


def test_a_fact_that_no_pattern_asks_for_is_told_apart(session):
    """Outcome 1 is: not stored; a fact that is stored but fires nothing has outcome 0."""
    one = session(r=[pattern("c0", 1), pattern("c1", 2, {"zero": {"c0": "zero"}})])

    assert one.tell(kind=9, id="f1") == (1, [])
    assert one.tell(kind=2, id="f2") == (0, [])


def test_a_fact_is_its_id_and_an_id_is_its_hash(session):
    """Two ids with one hash are one fact to the engine, outcome 2; this is why names are chosen by hash."""
    one = session(r=[pattern("c0", 1)])

    assert fence.fnv("f6059") == fence.fnv("f264602")
    assert one.tell(kind=1, id="f6059")[0] == 0
    assert one.tell(kind=1, id="f264602") == (2, [])


def test_names_never_share_a_hash():
    """A name whose hash is taken is not given out."""
    names = fence.Names()
    given = [names.fresh("f") for _ in range(264_603)]

    assert "f6059" in given
    assert "f264602" not in given
    assert len({fence.fnv(name) for name in given}) == len(given)


@pytest.mark.parametrize(
    ("test", "left", "right", "expected"),
    [
        ({"v1": {"c0": "v0"}}, -3, -3, True),
        ({"v1": {"c0": "v0"}}, 3, -3, False),
        ({"$neq": {"v1": {"c0": "v0"}}}, 0, -1, True),
        ({"$lt": {"v1": {"c0": "v0"}}}, 9, 10, True),
        ({"$gte": {"v1": {"c0": "v0"}}}, 100_000, 100_000, True),
        ({"$gt": {"v1": {"c0": "v0"}}}, -2, -1, False),
        ({"$lt": {"zero": {"c0": "v0"}}}, 0, 1, True),
        ({"$neq": {"zero": {"c0": "v0"}}}, 0, 0, False),
    ],
)
def test_integers_are_compared_as_integers_across_facts(session, test, left, right, expected):
    """Joins on integers of either sign are right in both orders of arrival, with an always true one last."""
    for order in (1, -1):
        one = session(r=[pattern("c0", 1), pattern("c1", 2, test, {"zero": {"c0": "zero"}})])
        facts = [{"kind": 1, "id": "f1", "v0": right}, {"kind": 2, "id": "f2", "v1": left}][::order]

        assert expected == bool([fired for fact in facts for fired in one.tell(**fact)[1]])


def test_what_is_told_first_blocks(session):
    """A negated pattern is right where every fact that it can match came before all others."""
    rule = [pattern("c0", 1), pattern("a0$not", -2, {"v1": {"c0": "v0"}}, {"zero": {"c0": "zero"}})]
    one = session(r=rule)
    one.tell(kind=-2, id="f1", v1=5)

    assert one.tell(kind=1, id="f2", v0=5) == (0, [])
    assert len(one.tell(kind=1, id="f3", v0=6)[1]) == 1


def test_what_is_told_late_does_not_block(session):
    """The reverse is what the fence is for: told after the match, it comes too late."""
    one = session(r=[pattern("c0", 1), pattern("a0$not", -2, {"zero": {"c0": "zero"}})])

    assert len(one.tell(kind=1, id="f2")[1]) == 1
    one.tell(kind=-2, id="f1")


def engine_rules(seed, features):
    rules, facts = program(seed, features)
    readied = [ready(rule) for rule in rules]
    built = fence.Fence(readied, WorkingMemory(facts).facts)
    return [patterns for ruleset in built.rulesets(readied) for patterns in ruleset.definitions.values()]


@pytest.mark.parametrize("features", FEATURES)
def test_the_engine_gets_nothing_but_what_it_does_right(features):
    """A kind first, then tests on integers, joins to earlier aliases, and last one that is always true."""
    operators = {"$neq", "$lt", "$lte", "$gt", "$gte"}
    for patterns in (patterns for seed in range(20) for patterns in engine_rules(seed, features)):
        earlier = []
        for alias, body in (item for one in patterns for item in one.items()):
            conditions = body["$and"]
            assert [*conditions[0]] == ["kind"]
            assert not earlier or conditions[-1] == {"zero": {"c0": "zero"}}
            for condition in conditions:
                ((name, value),) = condition.items()
                if name in operators:
                    ((name, value),) = value.items()
                assert not name.startswith("$")
                assert type(value) is int or next(iter(value)) in earlier
            if not alias.endswith("$not"):
                earlier.append(alias)


def wide(count):
    """A rule with this many patterns, and facts for it."""
    patterns = [Pattern("a0", "k0")]
    patterns += [
        Pattern(f"a{place}", f"k{place}", (Test("eq", "x", Ref(f"a{place - 1}", "x")),))
        for place in range(1, count)
    ]
    return [Rule("r", tuple(patterns))], [{"kind": f"k{place}", "x": 1} for place in range(count)]


def joined(count):
    """A rule with this many joins in one pattern."""
    tests = tuple(Test("eq", f"x{number}", Ref("a", f"x{number}")) for number in range(count))
    fields = {f"x{number}": number for number in range(count)}
    return [Rule("r", (Pattern("a", "k"), Pattern("b", "l", tests)))], [
        {"kind": "k", **fields},
        {"kind": "l", **fields},
    ]


def fielded(count):
    """A rule that asks for this many fields of one kind."""
    tests = tuple(Test("eq", f"x{number}", number) for number in range(count))
    return [Rule("r", (Pattern("a", "k", tests),))], [
        {"kind": "k", **{f"x{number}": number for number in range(count)}}
    ]


def branching(count):
    """A rule with this many combinations of alternatives across facts."""
    options = tuple((Test("eq", "y", number), Test("eq", "x", Ref("a", "x"))) for number in range(count))
    return [Rule("r", (Pattern("a", "k"), Pattern("b", "l", (AnyOf(options),))))], [
        {"kind": "k", "x": 1},
        {"kind": "l", "x": 1, "y": count - 1},
    ]


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (wide, fence.PATTERNS_PER_RULE),
        (joined, fence.JOINS_PER_PATTERN),
        (fielded, fence.FIELDS_PER_KIND),
        (branching, fence.VARIANTS_PER_RULE),
    ],
)
def test_up_to_the_limits_durable_rules_is_right_and_beyond_the_plain_engine_answers(make, limit):
    """At each limit of the fence the outcome is right; with one more, `auto` says who answered instead."""
    rules, facts = make(limit)
    assert infer(rules, facts, "durable").firings == infer(rules, facts, "plain").firings != ()

    rules, facts = make(limit + 1)
    with pytest.raises(EngineError, match=f"more than {limit}"):
        infer(rules, facts, "durable")
    fallen_back = infer(rules, facts)
    assert fallen_back.engine.startswith(f"plain (durable-rules: more than {limit} ")
    assert len(fallen_back.firings) == 1


@pytest.mark.parametrize("copies", [60, 61, 257, 600])
def test_many_rules_on_one_kind_are_parted(copies):
    """65 joins on a kind, 257 equal patterns or 512 constants break a ruleset; rules are spread before."""
    rules = [
        Rule(f"r{number}", (Pattern("a", "k"), Pattern("b", "l", (Test("eq", "x", Ref("a", "x")),))))
        for number in range(copies)
    ] + [Rule(f"s{number}", (Pattern("a", "k", (Test("eq", "y", number),)),)) for number in range(copies)]
    facts = [{"kind": "k", "x": 1, "y": copies - 1}, {"kind": "l", "x": 1}]

    assert len(infer(rules, facts, "durable").firings) == copies + 1


def test_many_kinds_are_parted():
    """512 kinds in one ruleset would make it search for ever."""
    rules = [
        Rule(f"r{number}", (Pattern("a", f"k{number}"),), (Pattern("n", f"n{number}"),), Head("h"))
        for number in range(700)
    ]
    facts = [{"kind": f"k{number}"} for number in range(700)] + [{"kind": "n7"}]

    assert len(infer(rules, facts, "durable").firings) == 699


def test_one_fact_may_start_thousands_of_firings():
    """A single fact that joins with many is no limit."""
    rule = Rule("r", (Pattern("a", "k"), Pattern("b", "l")))
    facts = [{"kind": "l", "x": number} for number in range(5000)] + [{"kind": "k"}]

    assert len(infer([rule], facts, "durable").firings) == 5000


def test_a_run_starts_no_thread():
    """The Python layer of durable-rules starts two threads for each host; its core starts none."""
    before = threading.active_count()
    infer(*program(1, "j2 chain"), "durable")

    assert threading.active_count() == before


def test_runs_leave_nothing_behind():
    """State and rules are freed after each run, also after one that was refused half way."""
    rules, facts = program(3, "j2 absent any")
    refused = wide(fence.PATTERNS_PER_RULE + 1)

    def run(times):
        for _ in range(times):
            infer(rules, facts, "durable")
            infer(*refused)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = run(200)
    assert run(600) - before < 2048, "KiB"


def test_a_failing_core_is_an_engine_error(monkeypatch):
    """What the core raises makes `auto` fall back, with the half-done run thrown away."""
    rules = [Rule("r", (Pattern("a", "k"),), head=Head("out", (("x", Ref("a", "x")),)))]
    facts = [{"kind": "k", "x": number} for number in range(5)]
    real, calls = core.assert_fact, []

    def failing(handle, fact):
        calls.append(fact)
        if len(calls) > 3:
            raise core.error("Could not assert fact, error code: 303")
        return real(handle, fact)

    monkeypatch.setattr(core, "assert_fact", failing)
    inference = infer(rules, facts)

    assert inference.engine == "plain (durable-rules: Could not assert fact, error code: 303)"
    assert told(inference, len(facts)) == told(infer(rules, facts, "plain"), len(facts))


def test_another_release_is_not_used(monkeypatch):
    """A release that the fence was not measured on is not trusted."""
    monkeypatch.setattr(durable, "VERSION", "2.1.0")

    assert engine.matcher._import_durable.__wrapped__() == "its version is 2.1.0, not 2.0.28"


def test_a_build_that_concludes_wrongly_is_not_used(monkeypatch):
    """A build that imports must also pass a small self-test, once a process."""
    assert durable.works()
    monkeypatch.setattr(durable, "_tell", lambda *_, **__: None)

    assert engine.matcher._import_durable.__wrapped__() == "it fails its self-test"
