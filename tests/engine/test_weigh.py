"""Ledgers and verdicts: logic decides, and what logic leaves open is a sum that a finger can check."""

from __future__ import annotations

import pytest
from byhand import base, cause, clause, findings, ledger, looked, read, thing
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.session import assess
from engine.weigh import CONCLUSIVE, UNKNOWN, decibans, filled, standing
from kb.evidence import Observed, Source
from kb.facts.machine import Boot
from kb.facts.packages import Package
from kb.rule import DECIBANS, PRIORS

IT = read(thing(port=1, address="a"))
YES = {"it": {"port_conflict": {"port": 1}}}
NO = {"it": {"port_conflict": {"port": 2}}}
OPEN = {"b": {"boot": {}}}


def judged(one, readings=IT):
    """The strongest hypothesis of a cause."""
    return findings(assess(base(one), readings, engine="plain"))[0].hypothesis


def package(name: str, **more) -> Package:
    return Package(**{"name": name, "version": "1", "state": "installed", **more})


def test_the_words_of_weight_are_these_numbers():
    """Three words of weight, three of prior: a change of one changes every verdict."""
    assert DECIBANS == {"weak": 5, "moderate": 10, "strong": 20}
    assert PRIORS == {"common": -10, "uncommon": -20, "rare": -30}
    assert [decibans(weight) for weight in ("conclusive", "strong", None)] == [CONCLUSIVE, 20, 0]


SIDES = {
    "for, true": ({"for_": {"c": clause(YES, "moderate", otherwise="strong")}}, 10),
    "for, false": ({"for_": {"c": clause(NO, "moderate", otherwise="strong")}}, -20),
    "for, false without weight": ({"for_": {"c": clause(NO, "moderate")}}, 0),
    "for, unknown": ({"for_": {"c": clause(OPEN, "moderate", otherwise="strong")}}, 0),
    "against, true": ({"against": {"c": clause(YES, "moderate", otherwise="strong")}}, -10),
    "against, false": ({"against": {"c": clause(NO, "moderate", otherwise="weak")}}, 5),
    "against, false without weight": ({"against": {"c": clause(NO, "moderate")}}, 0),
    "against, unknown": ({"against": {"c": clause(OPEN, "moderate", otherwise="weak")}}, 0),
    "for, conclusive": ({"for_": {"c": clause(YES, "conclusive")}}, 40),
    "for, conclusively not": ({"for_": {"c": clause(NO, "weak", otherwise="conclusive")}}, -40),
    "against, conclusive": ({"against": {"c": clause(YES, "conclusive")}}, -40),
    "against, conclusively not": ({"against": {"c": clause(NO, "weak", otherwise="conclusive")}}, 40),
}


@pytest.mark.parametrize(("sides", "added"), SIDES.values(), ids=SIDES)
def test_a_clause_adds_its_weight(sides, added):
    """True adds the weight, false takes the weight of `otherwise`, unknown adds nothing; against is the mirror."""
    hypothesis = judged(cause(**sides))

    assert [line.decibans for line in hypothesis.ledger] == [added]
    assert hypothesis.score == -10 + added


VERDICTS = {
    "nothing is known": ("common", {}, {}, "unlikely", -10),
    "the upper border": ("common", {"a": "strong"}, {}, "likely", 10),
    "just below it": ("common", {"a": "moderate", "b": "weak"}, {}, "possible", 5),
    "the middle": ("common", {"a": "moderate"}, {}, "possible", 0),
    "just above the lower border": ("common", {"a": "weak"}, {}, "possible", -5),
    "the lower border": ("uncommon", {"a": "moderate"}, {}, "unlikely", -10),
    "a rare cause needs more": ("rare", {"a": "strong", "b": "strong"}, {}, "likely", 10),
    "for and against": ("common", {"a": "strong"}, {"b": "moderate"}, "possible", 0),
    "proved": ("rare", {"a": "conclusive"}, {}, "confirmed", 10),
    "proved, whatever speaks against it": ("rare", {"a": "conclusive"}, {"b": "strong"}, "confirmed", -10),
    "refuted, whatever speaks for it": (
        "common",
        {"a": "strong", "b": "strong"},
        {"c": "conclusive"},
        "ruled-out",
        -10,
    ),
    "proved and refuted": ("common", {"a": "conclusive"}, {"b": "conclusive"}, "contradictory", -10),
}


@pytest.mark.parametrize(("prior", "for_", "against", "verdict", "score"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts(prior, for_, against, verdict, score):
    """A conclusive line decides; otherwise prior and ledger add up, +10 is likely and -10 unlikely."""
    one = cause(
        prior=prior,
        for_={name: clause(YES, weight) for name, weight in for_.items()},
        against={name: clause(YES, weight) for name, weight in against.items()},
    )

    hypothesis = judged(one)

    assert (hypothesis.verdict, hypothesis.score, hypothesis.prior) == (verdict, score, PRIORS[prior])


def test_an_unknown_conclusive_clause_decides_nothing():
    """Only what was looked at can prove or refute."""
    hypothesis = judged(cause(for_={"c": clause(OPEN, "conclusive", otherwise="conclusive")}))

    assert (hypothesis.verdict, hypothesis.settled) == ("unlikely", False)
    assert (hypothesis.ledger[0].could_add, hypothesis.ledger[0].conclusive) == (80, False)


def test_a_clause_counts_once_however_many_facts_match():
    """Three hundred lines that say the same are one piece of evidence, and each is cited."""
    many = read(*(package(f"p{number}") for number in range(300)))

    hypothesis = judged(cause(for_={"c": clause({"p": {"package": {}}})}), [*IT, *many])

    assert (hypothesis.score, len(hypothesis.ledger)) == (10, 1)
    assert len(hypothesis.ledger[0].evidence) == 300


def test_the_same_fact_from_two_places_counts_once():
    """Two files with one content are one fact."""
    twice = [*read(package("p")), *read(package("p"), path="b.txt")]

    assert judged(cause(for_={"c": clause({"p": {"package": {}}})}), [*IT, *twice]).score == 10


def test_two_alternatives_that_both_hold_count_once():
    """Alternatives are ways to say one thing."""
    hypothesis = judged(cause(for_={"c": clause([YES, {"it": {"port_conflict": {"address": "a"}}}])}))

    assert hypothesis.score == 10


def of_group(*bodies, against=()):
    """The lines of a cause whose clauses are all of one group."""
    clauses = {f"c{number}": {**body, "same": "g"} for number, body in enumerate(bodies)}
    others = {f"d{number}": {**body, "same": "g"} for number, body in enumerate(against)}
    return judged(cause(for_=clauses, against=others)).ledger


def test_of_a_group_only_the_heaviest_counts():
    """Clauses that draw on one source do not add up."""
    lines = of_group(clause(YES, "moderate"), clause(YES, "strong"), clause(YES, "strong"), clause(YES, "weak"))

    assert [line.decibans for line in lines] == [0, 20, 0, 0]
    assert [line.truth for line in lines] == ["true"] * 4


def test_the_heaviest_may_speak_against():
    """What weighs more counts, on whichever side."""
    lines = of_group(
        clause(YES, "moderate"), clause(NO, "weak", otherwise="strong"), against=[clause(YES, "weak")]
    )

    assert [line.decibans for line in lines] == [0, -20, 0]


def test_a_lighter_line_of_a_group_decides_nothing():
    """A conclusive line counts before the others of its group."""
    lines = of_group(clause(YES, "strong"), clause(YES, "conclusive"), clause(YES, "conclusive"))

    assert [(line.decibans, line.conclusive) for line in lines] == [(0, False), (40, True), (0, False)]


@pytest.mark.parametrize(
    ("known", "open_weight", "could_add"),
    [("weak", "strong", 15), ("moderate", "moderate", 0), ("strong", "weak", 0)],
)
def test_an_open_line_of_a_group_can_add_only_what_lies_above_it(known, open_weight, could_add):
    """Asking can move no more than the heaviest does not already say."""
    lines = of_group(clause(YES, known), clause(OPEN, open_weight))

    assert [line.could_add for line in lines] == [0, could_add]


def test_what_asking_could_move_lies_between_true_and_false():
    """Weight and otherwise together; nothing, where the answer is there."""
    one = cause(
        for_={
            "open": clause(OPEN, "moderate", otherwise="strong", ask="p"),
            "known": clause(YES, "moderate", otherwise="strong", ask="p"),
        }
    )

    lines = ledger(one, IT)

    assert (lines["open"].could_add, lines["open"].ask, lines["open"].evidence) == (30, "p", ())
    assert (lines["known"].could_add, lines["known"].ask) == (0, None)


def test_each_match_of_the_requirements_is_a_hypothesis_of_its_own():
    """Evidence of two subjects is never mixed."""
    one = cause(
        about="$it.address",
        for_={
            "one": clause({"p": {"package": {"name": "$it.address"}}}),
            "two": clause({"p": {"package": {"name": "$it.address", "manager": "rpm"}}}),
        },
    )
    facts = read(thing(address="a"), thing(address="b"), package("a"), package("b", manager="rpm"))

    found = findings(assess(base(one), facts, engine="plain"))

    assert {f.hypothesis.about: f.hypothesis.score for f in found} == {"a": 10, "b": 30}
    assert {f.hypothesis.about: f.subjects for f in found} == {"a": ("a",), "b": ("b",)}


@pytest.mark.parametrize("about", ["machine", "$it.address", "address {it.address}"])
@pytest.mark.parametrize("address", ["a", None])
def test_a_finding_is_about_a_value_or_the_machine(about, address):
    """A field or a text with fields in it; the machine where they are not known."""
    hypothesis = judged(cause(about=about), read(thing(1, address)))

    values = {"machine": "machine", "$it.address": "a", "address {it.address}": "address a"}
    assert hypothesis.about == (values[about] if address else "machine")


def test_of_each_subject_the_strongest_hypothesis_is_reported():
    """Several matches about one subject are several attempts at one finding."""
    one = cause(
        about="$it.address",
        for_={"c": clause({"it": {"port_conflict": {"port": 2}}})},
        against={"d": clause({"it": {"port_conflict": {"port": 3}}}, "conclusive")},
    )

    found = findings(assess(base(one), read(*(thing(port, "a") for port in (1, 2, 3))), engine="plain"))

    assert [(f.hypothesis.about, f.hypothesis.score, f.verdict) for f in found] == [("a", 10, "likely")]
    assert found[0].hypothesis.bindings["it"].fact.port == 2


def test_what_is_proved_stands_before_any_sum():
    """A sum of strong lines never outranks a conclusive one, even where more speaks against that."""
    strong = {f"c{number}": clause({"it": {"port_conflict": {"port": 1}}}) for number in range(6)}
    proof = {"p": clause({"it": {"port_conflict": {"port": 2}}}, "conclusive")}
    doubts = {f"d{number}": clause({"it": {"port_conflict": {"port": 2}}}) for number in range(3)}
    one = cause(for_={**strong, **proof}, against=doubts)

    hypothesis = judged(one, read(thing(1, "a"), thing(2, "a")))

    assert (hypothesis.verdict, hypothesis.bindings["it"].fact.port, hypothesis.score) == ("confirmed", 2, -30)


def test_standing_orders_logic_before_numbers():
    """Confirmed, then by score with the contradictory at zero, and what is ruled out last."""
    proved = {"p": clause(YES, "conclusive")}
    refuted = {"r": clause(YES, "conclusive")}
    strong = {name: clause(YES) for name in "abcdef"}
    worst_to_best = [
        cause(for_=strong, against=refuted),
        cause(),
        cause(for_=proved, against=refuted),
        cause(for_={"a": clause(YES)}),
        cause(for_=strong),
        cause(prior="rare", for_=proved, against={"s": clause(YES), "t": clause(YES)}),
    ]

    order = [standing(judged(one)) for one in worst_to_best]

    assert order == sorted(order)
    assert len(set(order)) == len(order)
    assert order[2] == 0


def test_evidence_is_what_the_clause_tests():
    """The facts that it adds, and those of the requirements that it tests again; not the others."""
    requires = {"it": {"port_conflict": {}}, "host": {"boot": {}}}
    one = cause(
        requires=requires,
        for_={
            "adds": clause({"p": {"package": {}}}),
            "tests": clause({"host": {"boot": {"host": "h"}}}),
            "lacks": clause(unless={"p": {"package": {"name": "other"}}}),
        },
    )

    lines = ledger(one, read(thing(1), Boot(host="h"), package("p")))

    kinds = {name: [observed.fact.kind for observed in line.evidence] for name, line in lines.items()}
    assert kinds == {"adds": ["package"], "tests": ["boot"], "lacks": []}


def test_a_clause_speaks_with_the_values_of_its_facts():
    """`{binding.field}` is filled in; what is not known stands as the name of its field."""
    says = "{p.name} of {p.manager} for {it.address}, {p.role}"
    one = cause(for_={"c": {**clause({"p": {"package": {}}}), "says": says}})

    there = ledger(one, [*IT, *read(package("lib"))])["c"]
    missing = ledger(one, [*IT, *looked("package")])["c"]

    assert there.says == "lib of dpkg for a, …"
    assert missing.says == "… of … for a, …"


def test_texts_keep_doubled_braces():
    """`{{` is a brace, and a format or conversion is of no matter."""
    bound = {"it": Observed(thing(3, "a"), Source("f", 1, 1, ""))}

    assert filled("{{x}} {it.port} {it.port!r:>5} {other.port}", bound) == "{x} 3 3 <port>"
    assert filled("{it.port} {other.port}", bound, unknown=UNKNOWN) == "3 …"


WEIGHTS = st.lists(st.sampled_from(["weak", "moderate", "strong"]), max_size=4)


@settings(derandomize=True, deadline=None, max_examples=40, database=None)
@given(st.sampled_from(["common", "uncommon", "rare"]), WEIGHTS, WEIGHTS)
def test_a_score_is_the_sum_of_its_lines(prior, for_, against):
    """No line counts that is not shown, and the order of clauses does not matter."""
    one = cause(
        prior=prior,
        for_={f"f{number}": clause(YES, weight) for number, weight in enumerate(for_)},
        against={f"a{number}": clause(YES, weight) for number, weight in enumerate(against)},
    )

    hypothesis = judged(one)

    assert hypothesis.score == hypothesis.prior + sum(line.decibans for line in hypothesis.ledger)
    assert hypothesis.score == PRIORS[prior] + sum(map(decibans, for_)) - sum(map(decibans, against))
