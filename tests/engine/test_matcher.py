"""What the rules mean, by small examples, on every engine that is there; and what is refused."""

from __future__ import annotations

import subprocess
import sys

import pytest
from engines import ENGINES, WHY_NO_DURABLE

import engine.matcher
from engine.matcher import infer
from engine.matcher.form import (
    AnyOf,
    EngineError,
    FactError,
    Firing,
    Head,
    MatcherError,
    Pattern,
    Ref,
    Rule,
    RuleSetError,
    Test,
)

on_every_engine = pytest.mark.parametrize("engine", ENGINES)


def fires(rule, facts, engine):
    """The positions bound by each firing of one rule."""
    return [tuple(position for _, position in firing.bindings) for firing in infer([rule], facts, engine).firings]


def matching(test, engine, **fields):
    """Whether a fact with these fields passes one test."""
    return fires(Rule("r", (Pattern("a", "k", (test,)),)), [{"kind": "k", **fields}], engine) == [(0,)]


@on_every_engine
@pytest.mark.parametrize(
    ("op", "value", "constant", "expected"),
    [
        ("eq", 1, 1, True),
        ("eq", 1, 1.0, True),
        ("eq", 1, "1", False),
        ("eq", 1, True, False),
        ("eq", True, True, True),
        ("eq", False, 0, False),
        ("eq", "a", "a", True),
        ("eq", 2**64, 2**63, False),
        ("eq", 2**53 + 1, float(2**53), False),
        ("eq", "x" * 70_000, "x" * 65_536, False),
        ("ne", 1, 1.0, False),
        ("ne", 1, True, True),
        ("ne", "1", 1, True),
        ("ne", 1, 2, True),
        ("lt", 1, 1.5, True),
        ("lt", 1e-320, 1e-7, True),
        ("le", 2, 2.0, True),
        ("gt", float("inf"), 10**30, True),
        ("ge", -(2**63), -(2**63), True),
        ("lt", 1, 1, False),
        ("lt", "a", "b", False),
        ("ge", True, 0, False),
        ("ge", "a", "a", False),
        ("gt", 1, "0", False),
    ],
)
def test_a_value_is_compared_by_its_type(engine, op, value, constant, expected):
    """Different types are unequal; int and float are numbers, a bool is none; only numbers have an order."""
    assert expected == matching(Test(op, "x", constant), engine, x=value)


@on_every_engine
@pytest.mark.parametrize("unknown", [{}, {"x": None}, {"x": float("nan")}], ids=["missing", "None", "NaN"])
def test_on_an_unknown_value_only_lacks_holds(engine, unknown):
    """A missing field, None and NaN are unknown alike: nothing is equal or unequal to them."""
    assert matching(Test("lacks", "x"), engine, **unknown)
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        assert not matching(Test(op, "x", 1), engine, **unknown)
    assert not matching(Test("has", "x"), engine, **unknown)
    assert matching(Test("has", "x"), engine, x=False)
    assert not matching(Test("lacks", "x"), engine, x="")


@on_every_engine
@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("eq", 1, 1.0, True),
        ("eq", "a", "a", True),
        ("eq", 1, "1", False),
        ("eq", None, None, False),
        ("ne", 1, "1", True),
        ("ne", 1, None, False),
        ("ne", None, 1, False),
        ("gt", 2, 1, True),
        ("gt", 2, None, False),
        ("gt", 2, "a", False),
        ("ge", "b", "a", False),
        ("lt", "b", 2, False),
    ],
)
def test_two_facts_are_compared_as_constants_are(engine, op, left, right, expected):
    """A reference stands for the other fact's value, and for nothing where that is unknown."""
    rule = Rule("r", (Pattern("a", "k"), Pattern("b", "l", (Test(op, "x", Ref("a", "y")),))))

    assert expected == bool(fires(rule, [{"kind": "k", "y": right}, {"kind": "l", "x": left}], engine))


@on_every_engine
def test_a_fact_takes_one_pattern_of_a_firing(engine):
    """Two patterns of one kind need two facts, and bind them both ways round."""
    rule = Rule("r", (Pattern("a", "k"), Pattern("b", "k")))

    assert fires(rule, [{"kind": "k", "x": 1}], engine) == []
    assert fires(rule, [{"kind": "k", "x": 1}, {"kind": "k", "x": 2}], engine) == [(0, 1), (1, 0)]


@on_every_engine
def test_one_option_of_alternatives_is_enough_and_two_fire_once(engine):
    """Alternatives hold when all tests of an option hold; a binding that several allow is one firing."""
    either = AnyOf(((Test("eq", "x", 1), Test("eq", "y", 1)), (Test("eq", "x", 2),), (Test("has", "x"),)))
    across = AnyOf(((Test("eq", "x", Ref("a", "x")),), (Test("has", "x"),)))
    facts = [{"kind": "k", "x": 1, "y": 1}, {"kind": "k", "y": 1}, {"kind": "l", "x": 1}]

    assert fires(Rule("r", (Pattern("a", "k", (either,)),)), facts, engine) == [(0,)]
    assert fires(Rule("r", (Pattern("a", "k", (either,)), Pattern("b", "l", (across,)))), facts, engine) == [
        (0, 2)
    ]


@on_every_engine
@pytest.mark.parametrize("order", [1, -1], ids=["blocker last", "blocker first"])
def test_absence_is_judged_at_the_end(engine, order):
    """A fact that comes, or is concluded, after a match still blocks it."""
    lonely = Rule("lonely", (Pattern("a", "k"),), (Pattern("n", "n", (Test("eq", "x", Ref("a", "x")),)),))
    blocker = Rule("blocker", (Pattern("s", "s"),), head=Head("n", (("x", Ref("s", "x")),)))
    facts = [{"kind": "k", "x": 1}, {"kind": "k", "x": 2}, {"kind": "n", "x": 1}, {"kind": "s", "x": 3}]
    inference = infer([lonely, blocker], [*facts, {"kind": "k", "x": 3}][::order], engine)

    found = [inference.facts[firing.bindings[0][1]] for firing in inference.firings if firing.rule == "lonely"]
    assert found == [{"kind": "k", "x": 2}]


@on_every_engine
def test_the_bound_facts_do_not_block_themselves(engine):
    """Absent means: no other fact. So a rule can ask for the only one of a kind."""
    only = Rule("only", (Pattern("a", "k"),), (Pattern("other", "k"),))

    assert fires(only, [{"kind": "k"}], engine) == [(0,)]
    assert fires(only, [{"kind": "k"}, {"kind": "k", "x": 1}], engine) == []


@on_every_engine
def test_all_alternatives_of_an_absent_pattern_must_be_absent(engine):
    """One option that some fact meets is enough to block, also where it refers to the bound facts."""
    either = AnyOf(((Test("eq", "x", Ref("a", "x")),), (Test("eq", "x", 9),)))
    rule = Rule("r", (Pattern("a", "k"),), (Pattern("n", "n", (either,)),))
    facts = [{"kind": "k", "x": 1}, {"kind": "k"}]

    assert fires(rule, facts, engine) == [(1,), (0,)]
    assert fires(rule, [*facts, {"kind": "n", "x": 1}], engine) == [(1,)]
    assert fires(rule, [*facts, {"kind": "n", "x": 9}], engine) == []


@on_every_engine
def test_conclusions_are_facts_for_other_rules(engine):
    """Facts are derived to the end, and a conclusion that is known already is not a new fact."""
    step = Rule(
        "step",
        (Pattern("a", "reach"), Pattern("b", "edge", (Test("eq", "from", Ref("a", "at")),))),
        head=Head("reach", (("at", Ref("b", "to")),)),
    )
    edges = [{"kind": "edge", "from": number, "to": (number + 1) % 4} for number in range(4)]
    inference = infer([step], [*edges, {"kind": "reach", "at": 0}], engine)

    assert inference.facts[5:] == tuple({"kind": "reach", "at": number} for number in (1, 2, 3))
    assert [firing.derived for firing in inference.firings] == [5, 6, 7, 4]


@on_every_engine
def test_a_head_leaves_out_what_is_unknown(engine):
    """A head copies values with their type, and says nothing of a field that the fact does not know."""
    head = Head(
        "out",
        (("whole", Ref("a", "whole")), ("real", Ref("a", "real")), ("flag", True), ("no", Ref("a", "no"))),
    )
    fact = {"kind": "k", "whole": 1, "real": 1.0, "no": None}
    concluded = infer([Rule("r", (Pattern("a", "k"),), head=head)], [fact], engine).facts[1]

    assert concluded == {"kind": "out", "whole": 1, "real": 1.0, "flag": True}
    assert [type(value) for value in concluded.values()] == [str, int, float, bool]


@on_every_engine
def test_equal_facts_take_part_once_under_the_first_position(engine):
    """Facts that know the same are one fact; where a type differs they are two, though they match alike."""
    facts = [{"kind": "z"}, {"kind": "k", "x": 1}, {"x": 1, "kind": "k", "y": None}, {"kind": "k", "x": 1.0}]
    inference = infer([Rule("r", (Pattern("a", "k", (Test("eq", "x", 1),)),))], facts, engine)

    assert inference.facts == tuple(facts)
    assert inference.firings == (Firing("r", (("a", 3),), None), Firing("r", (("a", 1),), None))


@on_every_engine
@pytest.mark.parametrize(
    "name", ["id", "sid", "kind of", "$and", "$s", "$m", "zero", "number", "v0", "c0", "", "é\x00"]
)
def test_any_field_kind_and_alias_name_is_safe(engine, name):
    """Names are interned, so none means anything to an engine."""
    rule = Rule(
        f"rule {name}",
        (Pattern(f"a{name}", name or "k"), Pattern("b", "l", (Test("eq", name, Ref(f"a{name}", name)),))),
        (Pattern("n$not", f"{name}$not", (Test("has", name),)),),
        Head("out", ((name, Ref("b", name)),)),
    )
    facts = [{"kind": name or "k", name: 5}, {"kind": "l", name: 5}, {"kind": "l", name: 6}]

    assert infer([rule], facts, engine).facts[3:] == ({"kind": "out", name: 5},)


@on_every_engine
def test_a_rule_may_test_the_kind_as_a_field(engine):
    """The kind is a field like others for tests and references."""
    rule = Rule(
        "r",
        (
            Pattern("a", "k", (Test("eq", "kind", "k"),)),
            Pattern("b", "l", (Test("ne", "kind", Ref("a", "kind")),)),
        ),
    )

    assert fires(rule, [{"kind": "k"}, {"kind": "l"}], engine) == [(0, 1)]


@on_every_engine
def test_nothing_follows_from_nothing(engine):
    """No rules, no facts, or no facts of the kinds that rules ask for: no firing."""
    rule = Rule("r", (Pattern("a", "k"),), (Pattern("n", "n"),))

    assert infer([], [{"kind": "k"}], engine).firings == ()
    assert infer([rule], [], engine).firings == ()
    assert infer([rule], [{"kind": "other"}, {"kind": "n"}], engine).firings == ()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([Rule("r", ())], "no pattern"),
        ([Rule("r", (), (Pattern("n", "n"),))], "no pattern"),
        ([Rule("r", (Pattern("a", "k"),)), Rule("r", (Pattern("a", "k"),))], "two rules are named 'r'"),
        ([Rule("r", (Pattern("a", "k"), Pattern("a", "l")))], "alias 'a' is used twice"),
        ([Rule("r", (Pattern("a", "k"),), (Pattern("a", "l"),))], "alias 'a' is used twice"),
        ([Rule("r", (Pattern("a", "k", (Test("eq", "x", Ref("a", "y")),)),))], "a.y refers to no earlier"),
        (
            [Rule("r", (Pattern("a", "k", (Test("eq", "x", Ref("b", "y")),)), Pattern("b", "k")))],
            "b.y refers to no earlier",
        ),
        (
            [
                Rule(
                    "r",
                    (Pattern("a", "k"),),
                    (Pattern("n", "n"), Pattern("m", "n", (Test("eq", "x", Ref("n", "x")),))),
                )
            ],
            "n.x refers to no earlier",
        ),
        (
            [Rule("r", (Pattern("a", "k"),), head=Head("h", (("x", Ref("b", "y")),)))],
            "b.y refers to no earlier",
        ),
        ([Rule("r", (Pattern("a", "k"),), head=Head("h", (("kind", "other"),)))], "'kind' is given twice"),
        ([Rule("r", (Pattern("a", "k", (Test("eq", "x"),)),))], "say 'has' or 'lacks'"),
        ([Rule("r", (Pattern("a", "k", (Test("has", "x", 1),)),))], "takes no value"),
        ([Rule("r", (Pattern("a", "k", (Test("like", "x", 1),)),))], "unknown operator 'like'"),
        ([Rule("r", (Pattern("a", "k", (Test("eq", "x", float("nan")),)),))], "cannot compare with nan"),
        ([Rule("r", (Pattern("a", "k", (Test("eq", "x", ["y"]),)),))], r"cannot compare with \['y'\]"),
        ([Rule("r", (Pattern("a", "k", (AnyOf(()),)),))], "alternatives without a test"),
        ([Rule("r", (Pattern("a", "k"),), (Pattern("n", "h"),), Head("h"))], "wants absent: 'r'"),
        (
            [
                Rule("first", (Pattern("a", "k"),), (Pattern("n", "m"),), Head("h")),
                Rule("second", (Pattern("a", "h"),), head=Head("m")),
            ],
            "wants absent: 'first'",
        ),
    ],
)
def test_rules_that_cannot_mean_anything_are_refused(rules, message):
    """A mistake in a rule is an error whichever engine would run, and is not a rule that never matches."""
    for name in ("auto", "plain"):
        with pytest.raises(RuleSetError, match=message):
            infer(rules, [{"kind": "k"}], name)


def test_all_problems_of_all_rules_are_told_at_once():
    """One error lists every problem, with the rule it is in."""
    rules = [Rule("one", ()), Rule("two", (Pattern("a", "k", (Test("has", "x", 1), Test("eq", "y"))),))]
    with pytest.raises(RuleSetError) as caught:
        infer(rules, [])

    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "rule 'one'",
        "rule 'two'",
        "rule 'two'",
    ]


@on_every_engine
@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ({"x": 1}, "fact 1 has no kind"),
        ({"kind": 5}, "fact 1 has no kind"),
        ({"kind": "k", "x": [1]}, "fact 1, field 'x'.*not a scalar"),
    ],
)
def test_what_is_not_a_fact_is_refused(engine, fact, message):
    """A fact has a kind and scalar fields; the error says which fact and which field."""
    with pytest.raises(FactError, match=message):
        infer([], [{"kind": "k"}, fact], engine)


def test_every_error_of_the_matcher_has_one_root():
    """Callers can catch everything that a matcher raises."""
    assert all(issubclass(error, MatcherError) for error in (RuleSetError, FactError, EngineError))


def test_importing_the_matcher_does_not_import_durable_rules():
    """The import of durable-rules costs time and happens only when it is asked for."""
    code = "import sys, engine.matcher; sys.exit(any('durable' in name for name in sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_engine_that_ran_is_named():
    """An engine is called by its name; where the plain one stands in for the other, the reason is given."""
    assert infer([], [], "plain").engine == "plain"
    if not WHY_NO_DURABLE:
        assert infer([], [], "auto").engine == infer([], [], "durable").engine == "durable-rules 2.0.28"
    else:
        assert infer([], [], "auto").engine == f"plain ({WHY_NO_DURABLE})"


def test_an_unknown_engine_is_refused():
    """A misspelt engine is an error, not the default."""
    with pytest.raises(ValueError, match="no engine is called 'durable-rules'; there are auto, durable, plain"):
        infer([], [], "durable-rules")


def test_auto_falls_back_where_durable_rules_cannot_be_imported(monkeypatch):
    """Without durable-rules the plain engine answers and says why; forcing durable-rules is an error."""
    monkeypatch.setattr(engine.matcher, "_import_durable", lambda: "not installed")
    rule = Rule("r", (Pattern("a", "k"),))

    assert infer([rule], [{"kind": "k"}]).engine == "plain (durable-rules: not installed)"
    assert len(infer([rule], [{"kind": "k"}]).firings) == 1
    with pytest.raises(EngineError, match="not installed"):
        infer([rule], [{"kind": "k"}], "durable")
