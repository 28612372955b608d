"""Which hypotheses are reported, in which order, who is a rival of whom, and what steps back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from byhand import proposed, symptom, thing
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cover import FOLLOWS, NEAR, ONLY_ONE_LEFT, confidence, cover, with_the_only_one_left
from engine.result import Finding, Hypothesis, LedgerLine, SymptomSeen
from kb.evidence import Observed, Source


def seen(*names: str) -> list[SymptomSeen]:
    return [SymptomSeen(symptom(name, {"b": {"boot": {}}}), "machine", "seen", ()) for name in names]


def ids(findings) -> list[str]:
    return [finding.cause.cause for finding in findings]


def by_id(hypotheses, symptoms) -> dict[str, Finding]:
    reported, weaker = cover(hypotheses, symptoms)
    return {finding.cause.cause: finding for finding in (*reported, *weaker)}


def test_the_best_comes_first():
    """By standing, and by name where that is equal."""
    reported, weaker = cover([proposed("a.b", 12), proposed("a.c", 30), proposed("a.a", 12)], [])

    assert ids(reported) == ["a.c", "a.a", "a.b"]
    assert weaker == ()


def test_what_is_proved_comes_before_any_sum():
    """Logic decides; numbers order what it leaves open."""
    reported, _ = cover([proposed("a.sum", 110), proposed("a.proof", -30, "confirmed")], [])

    assert ids(reported) == ["a.proof", "a.sum"]


REPORTED = {
    ("fault", "confirmed"): True,
    ("fault", "likely"): True,
    ("fault", "possible"): True,
    ("fault", "contradictory"): True,
    ("fault", "unlikely"): False,
    ("fault", "ruled-out"): False,
    ("state", "confirmed"): True,
    ("state", "likely"): True,
    ("state", "possible"): False,
    ("state", "contradictory"): False,
    ("state", "unlikely"): False,
}


@pytest.mark.parametrize(("kind", "verdict"), REPORTED, ids=lambda word: word)
def test_which_verdicts_are_reported(kind, verdict):
    """Faults unless they are unlikely; states only where they stand. The rest is kept as weaker."""
    name = "state.one" if kind == "state" else "a.one"

    reported, weaker = cover([proposed(name, 0, verdict)], [])

    assert (len(reported), len(weaker)) == ((1, 0) if REPORTED[kind, verdict] else (0, 1))


def test_states_come_after_faults_and_before_what_is_only_possible():
    """One ranking: standing faults, standing states, possible faults."""
    hypotheses = [
        proposed("a.possible", 5, "possible"),
        proposed("state.one", 90),
        proposed("a.likely", 11),
        proposed("a.proof", 0, "confirmed"),
    ]

    assert ids(cover(hypotheses, [])[0]) == ["a.proof", "a.likely", "state.one", "a.possible"]


def test_a_consequence_stands_behind_its_root():
    """Root before consequence, whatever the scores, and each consequence behind its own root."""
    hypotheses = [
        proposed("a.deep", 60),
        proposed("a.consequence", 50, leads_to=["a.deep"]),
        proposed("a.alone", 40),
        proposed("a.root", 30, leads_to=["a.consequence"]),
    ]

    reported, _ = cover(hypotheses, [])

    assert ids(reported) == ["a.alone", "a.root", "a.consequence", "a.deep"]
    assert [finding.consequence_of for finding in reported] == [None, None, "a.root", "a.consequence"]


def test_a_consequence_of_two_roots_is_that_of_the_stronger():
    """It is listed once."""
    hypotheses = [
        proposed("a.one", 20, leads_to=["a.end"]),
        proposed("a.two", 30, leads_to=["a.end"]),
        proposed("a.end", 40),
    ]

    reported, _ = cover(hypotheses, [])

    assert ids(reported) == ["a.two", "a.end", "a.one"]
    assert reported[1].consequence_of == "a.two"


@pytest.mark.parametrize("verdict", ["possible", "unlikely", "ruled-out", "contradictory"])
def test_a_root_that_does_not_stand_has_no_consequences(verdict):
    """What is only possible explains nothing away."""
    found = by_id([proposed("a.root", 0, verdict, leads_to=["a.end"]), proposed("a.end", 40)], [])

    assert found["a.end"].consequence_of is None


def test_a_consequence_that_does_not_stand_is_not_shown_as_one():
    """What is only possible follows from nothing."""
    found = by_id([proposed("a.root", leads_to=["a.end"]), proposed("a.end", 0, "possible")], [])

    assert found["a.end"].consequence_of is None


def test_causes_that_lead_to_each_other_are_both_reported_once():
    """A circle in the rules loses nothing."""
    hypotheses = [
        proposed("a.one", 20, leads_to=["a.two"]),
        proposed("a.two", 30, leads_to=["a.one"]),
        proposed("a.self", 15, leads_to=["a.self"]),
    ]

    reported, _ = cover(hypotheses, [])

    assert sorted(ids(reported)) == ["a.one", "a.self", "a.two"]
    assert by_id(hypotheses, [])["a.self"].consequence_of is None


def test_each_subject_of_a_consequence_is_listed_once():
    """Two subjects of one cause in the middle of a chain do not double what follows from it."""
    hypotheses = [
        proposed("a.root", 50, leads_to=["a.middle"]),
        proposed("a.middle", 40, about="one", leads_to=["a.end"]),
        proposed("a.middle", 30, about="two", leads_to=["a.end"]),
        proposed("a.end", 20),
    ]

    reported, _ = cover(hypotheses, [])

    assert [(finding.cause.cause, finding.subjects) for finding in reported] == [
        ("a.root", ("machine",)),
        ("a.middle", ("one",)),
        ("a.end", ("machine",)),
        ("a.middle", ("two",)),
    ]


def test_two_causes_without_a_common_symptom_are_separate_problems():
    """Both are reported, and neither is a rival of the other."""
    reported, _ = cover(
        [proposed("a.one", 30, explains=["x"]), proposed("b.two", 20, explains=["y"])], seen("x", "y")
    )

    assert ids(reported) == ["a.one", "b.two"]
    assert [finding.explains for finding in reported] == [("x",), ("y",)]
    assert [finding.rivals for finding in reported] == [(), ()]


def test_a_cause_explains_only_what_is_seen():
    """Its other symptoms are not claimed; the order is that of the symptoms."""
    found = by_id([proposed("a.one", explains=["z", "y", "x"])], seen("x", "y"))

    assert found["a.one"].explains == ("x", "y")


def test_rivals_explain_a_common_symptom():
    """With how far they are behind; what is ruled out is no rival any more."""
    hypotheses = [
        proposed("a.one", 30, explains=["x", "y"]),
        proposed("a.two", 18, explains=["y"]),
        proposed("a.three", -15, "unlikely", explains=["x"]),
        proposed("a.out", -50, "ruled-out", explains=["x"]),
        proposed("a.unseen", 20, explains=["z"]),
    ]

    found = by_id(hypotheses, seen("x", "y"))

    assert [(rival.cause, rival.margin) for rival in found["a.one"].rivals] == [("a.two", 12), ("a.three", 45)]
    assert [(rival.cause, rival.margin) for rival in found["a.two"].rivals] == [("a.one", -12)]
    assert found["a.one"].rivals[0].title == "title of a.two"
    assert found["a.one"].rivals[1].verdict == "unlikely"


def test_a_rival_with_several_subjects_is_named_once():
    """With the margin of its strongest hypothesis; a cause is no rival of itself."""
    hypotheses = [
        proposed("a.one", 30, explains=["x"]),
        proposed("a.two", 20, about="p", explains=["x"]),
        proposed("a.two", 12, about="q", explains=["x"]),
    ]

    reported, _ = cover(hypotheses, seen("x"))

    assert [[(r.cause, r.margin) for r in finding.rivals] for finding in reported] == [
        [("a.two", 10)],
        [("a.one", -10)],
        [("a.one", -18)],
    ]


def test_the_one_that_stands_before_is_never_behind():
    """A proved cause is ahead of a rival with a larger sum, and the rival is behind it."""
    hypotheses = [proposed("a.proof", -30, "confirmed", explains=["x"]), proposed("a.sum", 90, explains=["x"])]

    found = by_id(hypotheses, seen("x"))

    assert [rival.margin for rival in found["a.proof"].rivals] == [1]
    assert [rival.margin for rival in found["a.sum"].rivals] == [-1]


FALLBACKS = {
    "all its symptoms are explained": (["x", "y"], [proposed("a.one", explains=["x", "y"])], "a.one"),
    "two causes explain them together": (
        ["x", "y"],
        [proposed("a.one", 30, explains=["x"]), proposed("a.two", explains=["y"])],
        "a.one",
    ),
    "a state explains them": (["x", "y"], [proposed("state.one", explains=["x", "y"])], "state.one"),
    "one of them is left": (["x", "y"], [proposed("a.one", explains=["x"])], None),
    "the one that is left is not seen": (["x"], [proposed("a.one", explains=["x"])], "a.one"),
    "the other is only possible": (["x"], [proposed("a.one", 0, "possible", explains=["x"])], None),
    "the other is a fallback too": (["x"], [proposed("a.one", 30, explains=["x"], fallback=True)], None),
    "none of them is seen": ([], [proposed("a.one", explains=["x"])], None),
}


@pytest.mark.parametrize(("symptoms", "others", "better"), FALLBACKS.values(), ids=FALLBACKS)
def test_a_fallback_yields_where_all_its_symptoms_are_explained(symptoms, others, better):
    """To a standing cause that is no fallback itself; and it is not reported then, however likely."""
    fallback = proposed("z.last", 90, explains=["x", "y"], fallback=True)

    found = by_id([fallback, *others], seen(*symptoms))
    reported, _ = cover([fallback, *others], seen(*symptoms))

    assert found["z.last"].yields_to == better
    assert ("z.last" in ids(reported)) is (better is None)


def test_a_fallback_that_yields_is_nobodys_root():
    """What has given way leads to nothing."""
    fallback = proposed("z.last", 90, explains=["x"], fallback=True, leads_to=["a.end"])

    found = by_id([fallback, proposed("a.one", explains=["x"]), proposed("a.end")], seen("x"))

    assert found["a.end"].consequence_of is None


@pytest.mark.parametrize(
    ("others", "first"), [([], "state.none"), ([("a.one", 10)], "a.one"), ([("state.up", 10)], "state.up")]
)
def test_where_nothing_stands_the_evidence_cannot_tell(others, first):
    """An empty answer would read as all is well."""
    last = proposed("state.none", -10, "unlikely", fallback=True)

    reported, weaker = cover([last, *(proposed(*one) for one in others)], [])

    assert reported[0].cause.cause == first
    assert (last.cause.cause in ids(weaker)) is bool(others)


REPLACEMENTS = {
    "its replacement stands": ([proposed("a.new", 11)], "a.new"),
    "the first of two that stand": ([proposed("a.new", 11), proposed("a.newer", 90)], "a.new"),
    "the second stands alone": ([proposed("a.new", 0, "possible"), proposed("a.newer", 11)], "a.newer"),
    "its replacement is only possible": ([proposed("a.new", 9, "possible")], None),
    "its replacement is refuted": ([proposed("a.new", 90, "ruled-out")], None),
    "each replaces the other": ([proposed("a.new", 90, replaced_by=["a.old"])], None),
}


@pytest.mark.parametrize(("others", "better"), REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_a_deprecated_cause_gives_way_to_its_replacement(others, better):
    """However likely it is; where that does not stand, it is reported as ever."""
    old = proposed("a.old", 30, status="deprecated", replaced_by=["a.new", "a.newer"])

    found = by_id([old, *others], [])
    reported, _ = cover([old, *others], [])

    assert found["a.old"].yields_to == better
    assert ("a.old" in ids(reported)) is (better is None)


def test_a_deprecated_cause_is_no_rival_of_its_replacement():
    """They are one explanation by two names, and a fallback gives way to the newer name."""
    old = proposed("a.old", 30, status="deprecated", replaced_by=["a.new"], explains=["x"])
    last = proposed("z.last", 10, explains=["x"], fallback=True)

    found = by_id([old, proposed("a.new", 11, explains=["x"]), last], seen("x"))

    assert [rival.cause for rival in found["a.new"].rivals] == ["z.last"]
    assert found["z.last"].yields_to == "a.new"


HYPOTHESES = st.lists(
    st.builds(
        lambda name, score, verdict, leads, explains, fallback: proposed(
            name, score, verdict, leads_to=leads, explains=explains, fallback=fallback
        ),
        st.sampled_from(["a.one", "a.two", "a.three", "state.one", "state.two"]),
        st.integers(-60, 60),
        st.sampled_from(["confirmed", "likely", "possible", "unlikely", "ruled-out", "contradictory"]),
        st.lists(st.sampled_from(["a.one", "a.two", "a.three"]), max_size=2),
        st.lists(st.sampled_from(["x", "y"]), max_size=2),
        st.booleans(),
    ),
    max_size=5,
    unique_by=lambda one: one.cause.cause,
)


@settings(derandomize=True, deadline=None, database=None)
@given(HYPOTHESES, st.randoms(use_true_random=False))
def test_nothing_is_lost_and_the_order_of_hypotheses_is_of_no_matter(hypotheses, random):
    """Every hypothesis is either reported or among the weaker, once, and always in the same place."""
    symptoms = seen("x", "y")
    reported, weaker = cover(hypotheses, symptoms)
    shuffled = random.sample(hypotheses, len(hypotheses))

    assert sorted(ids((*reported, *weaker))) == sorted(one.cause.cause for one in hypotheses)
    assert cover(shuffled, symptoms) == (reported, weaker)


def test_what_rests_on_a_contradicted_fact_is_less_sure():
    """Whether it proposed the cause or speaks for it, and also where it was combined with others."""
    read = Observed(thing(1), Source("a.txt", 1, 1, "line"))
    combined = Observed(thing(2), read.source, (read,))
    line = LedgerLine("c", "for", "true", 20, conclusive=False, says="", evidence=(combined,))
    sure = proposed("a.b", 10)

    for one in (replace(sure, bindings={"it": read}), replace(sure, ledger=(line,))):
        assert confidence(one, {read}) == pytest.approx(confidence(proposed("a.b", 5)))
        assert confidence(one) == confidence(sure) == confidence(sure, {read})


def test_what_only_follows_is_hardly_a_root_cause():
    """It is reported with its verdict, and accuses nobody."""
    root, follower = proposed("a.root", 20, leads_to=["a.follower"]), proposed("a.follower", 40)
    reported, _ = cover([follower, root], [])

    assert [(one.cause.cause, one.verdict, one.confidence) for one in reported] == [
        ("a.root", "likely", confidence(root)),
        ("a.follower", "likely", FOLLOWS),
    ]


def uncommon(name: str, score: int, about: str = "machine", explains: Sequence[str] = ("seen",)) -> Hypothesis:
    return proposed(name, score, "possible", about, -20, explains=list(explains))


def left(*hypotheses) -> list[str]:
    """The causes that are likely once what alone is left to explain `seen` counts."""
    found = with_the_only_one_left(hypotheses, seen("seen"))
    assert [one.cause for one in found] == [one.cause for one in hypotheses]
    return [one.cause.cause for one in found if one.verdict == "likely"]


def test_what_alone_is_left_to_explain_what_is_seen_is_likely():
    """With a line of its ledger that says so; of one cause, about each subject."""
    one, other = uncommon("a.one", 0), uncommon("a.one", 5, about="GPU 1")
    promoted, second = with_the_only_one_left([one, other], seen("seen"))

    assert (promoted.verdict, promoted.score, promoted.ledger[-1].decibans) == (
        "likely",
        ONLY_ONE_LEFT,
        ONLY_ONE_LEFT,
    )
    assert promoted.ledger[-1].clause == "nothing-else-explains-it"
    assert (second.verdict, second.score) == ("likely", 5 + ONLY_ONE_LEFT)


AGAINST = LedgerLine("c", "against", "true", -5, conclusive=False, says="")
NOT_LEFT = {
    "its evidence does not make up for its prior": [uncommon("a.one", -1)],
    "its evidence would not make a common cause likely": [proposed("a.one", 5, "possible", explains=["seen"])],
    "it explains nothing that is seen": [uncommon("a.one", 5, explains=["other"])],
    "something speaks against it": [replace(uncommon("a.one", 5), ledger=(AGAINST,))],
    "another possible fault is near": [uncommon("a.one", 5), uncommon("a.two", 5 - NEAR + 1)],
    "a state explains it as well": [uncommon("a.one", 5), uncommon("state.one", 5)],
    "it is a state": [uncommon("state.one", 5)],
}


@pytest.mark.parametrize("hypotheses", NOT_LEFT.values(), ids=NOT_LEFT)
def test_what_is_not_the_only_one_left_stays_possible(hypotheses):
    """Nobody is accused for want of others."""
    assert left(*hypotheses) == []


def test_where_a_fault_is_likely_nothing_else_becomes_so():
    """There is an explanation already."""
    assert left(uncommon("a.one", 5), proposed("a.two", 10)) == ["a.two"]


@pytest.mark.parametrize(
    "other",
    [uncommon("a.two", 5 - NEAR), uncommon("state.one", 5, explains=["other"])],
    ids=["far behind", "a state of something else"],
)
def test_what_is_no_rival_does_not_keep_it_from_being_the_only_one(other):
    """A fault that is far behind, and a state that explains nothing of it."""
    assert left(uncommon("a.one", 5), other) == ["a.one"]
