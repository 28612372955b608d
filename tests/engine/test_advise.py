"""What to do: which remedies are offered in which order, filled in how; which tests are next."""

from __future__ import annotations

import subprocess

import pytest
from byhand import base, cause, clause, looked, partly, probe, read, symptom, thing

from engine.session import assess
from kb.facts.machine import Boot
from kb.facts.packages import Package

IT = read(thing(port=1, address="a"))
YES = {"it": {"port_conflict": {"port": 1}}}
NO = {"it": {"port_conflict": {"port": 2}}}
LIKELY = {"sure": clause(YES, "strong")}
UNKNOWN = {"b": {"boot": {}}}


def remedy(do: str, **more) -> dict:
    return {"do": do, "undo": ["undo it"], "verify": "sure", **more}


def offers(*remedies: dict, readings=IT) -> list:
    """The remedies offered for a likely cause over a thing."""
    one = cause(for_=LIKELY, remedies=list(remedies))
    return list(assess(base(one), readings, engine="plain").findings[0].remedies)


def titles(*remedies: dict, readings=IT) -> list[str]:
    return [offer.do for offer in offers(*remedies, readings=readings)]


def package(name: str, **more) -> Package:
    return Package(**{"name": name, "version": "1", "state": "installed", **more})


def test_the_remedy_that_disrupts_least_comes_first():
    """From nothing to hands on the hardware; otherwise in the order of the rule."""
    ways = ["hardware", "reboot", "none", "container", "firmware", "process", "gpu-reset", "none"]

    found = titles(*(remedy(f"{number} {way}", disrupts=way) for number, way in enumerate(ways)))

    assert found == [
        "2 none",
        "7 none",
        "5 process",
        "3 container",
        "6 gpu-reset",
        "1 reboot",
        "4 firmware",
        "0 hardware",
    ]


def test_among_equals_the_one_that_can_be_undone_comes_first():
    """A way back is worth more than a place in the rule."""
    assert titles(remedy("no way back", undo=[]), remedy("a way back")) == ["a way back", "no way back"]


CONDITIONS = {
    "none": ({}, True),
    "what is asked for is there": ({"when": {"p": {"package": {"name": "p"}}}}, True),
    "another is there": ({"when": {"p": {"package": {"name": "q"}}}}, False),
    "nobody looked": ({"when": {"b": {"boot": {}}}}, False),
    "one of two ways": ({"when": [{"b": {"boot": {}}}, {"p": {"package": {}}}]}, True),
    "what must not be there is there": ({"unless": {"p": {"package": {"name": "p"}}}}, False),
    "what must not be there is not": ({"unless": {"p": {"package": {"name": "q"}}}}, True),
    "what must not be there is only the subject itself": (
        {"when": {"p": {"package": {}}}, "unless": {"o": {"port_conflict": {}}}},
        True,
    ),
    "a binding of the requirements, tested further": ({"when": NO}, False),
    "a binding of the requirements that passes": ({"when": YES}, True),
}


@pytest.mark.parametrize(("conditions", "offered"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_remedy_is_offered_where_the_facts_allow(conditions, offered):
    """`when` needs a match, `unless` none."""
    found = titles(remedy("this", **conditions), readings=[*IT, *read(package("p"))])

    assert found == (["this"] if offered else [])


def test_a_remedy_is_for_the_subject_of_its_finding():
    """What the conditions match belongs to this hypothesis, not to another of the same cause."""
    one = cause(
        about="$it.address",
        for_={"sure": clause({"it": {"port_conflict": {}}})},
        remedies=[remedy("remove {p.name}", when={"p": {"package": {"name": "$it.address"}}})],
    )
    readings = read(thing(1, "a"), thing(2, "b"), thing(3, "c"), package("a"), package("b"))

    found = assess(base(one), readings, engine="plain").findings

    assert {f.hypothesis.about: [offer.do for offer in f.remedies] for f in found} == {
        "a": ["remove a"],
        "b": ["remove b"],
        "c": [],
    }


def test_every_text_of_a_remedy_is_filled_in():
    """From the requirements and from its own conditions; what is not known stands as the name of its field."""
    text = "{p.name} {it.address} {p.role}"
    one = remedy(
        text,
        run=[text],
        undo=[text],
        check=[text],
        expect=text,
        costs=text,
        caution=text,
        when={"p": {"package": {}}},
    )

    offer = offers(one, readings=[*IT, *read(package("lib"))])[0]

    whole = "lib a <role>"
    assert (offer.do, offer.expect, offer.costs, offer.caution) == (whole, whole, whole, whole)
    assert (offer.run, offer.undo, offer.check) == ((whole,), (whole,), (whole,))


def test_a_command_is_given_once_for_each_match():
    """One for each package, none twice, and steps stay in order."""
    one = remedy("all of {p.manager}", run=["remove {p.name}", "update"], when={"p": {"package": {}}})

    offer = offers(one, readings=[*IT, *read(package("a"), package("b"), package("a", role="nccl"))])[0]

    assert offer.run == ("remove a", "remove b", "update")


@pytest.mark.parametrize("name", ["x; touch broken", "$(touch broken)", "a'b", "`id`", "two words", "é\n"])
def test_a_value_is_one_word_of_a_command(name):
    """Evidence may come from a stranger: the shell sees the value and nothing else."""
    offer = offers(
        remedy("say {p.name}", run=["printf %s {p.name}"], when={"p": {"package": {}}}),
        readings=[*IT, *read(package(name))],
    )[0]

    assert subprocess.run(["sh", "-c", offer.run[0]], capture_output=True, check=True).stdout.decode() == name
    assert offer.do == f"say {name}"


def test_a_plain_value_is_not_quoted():
    """Versions, paths and addresses read as they are."""
    one = remedy("this", run=["rm {it.address}"])

    offer = offers(one, readings=read(thing(1, "/usr/lib64/lib-1.so.1:0.2+x@y")))[0]

    assert offer.run == ("rm /usr/lib64/lib-1.so.1:0.2+x@y",)


def next_of(*causes, probes=(), readings=IT, symptoms=()):
    """The next tests, with the causes that they separate and how much they could move."""
    diagnosis = assess(base(*causes, probes=probes, symptoms=symptoms), readings, engine="plain")
    return [(test.probe.id, test.separates, test.could_move) for test in diagnosis.next_tests]


def asks(name: str, weight: str = "strong", **more) -> dict:
    return clause(UNKNOWN, weight, ask=name, **more)


def test_an_unknown_clause_asks_for_its_probe():
    """With what it could move: the distance between its being true and its being false."""
    one = cause(for_={**LIKELY, "open": asks("p", "moderate", otherwise="strong")})

    assert next_of(one, probes=[probe("p")]) == [("p", ("a.one",), 30)]


def test_what_is_known_asks_for_nothing():
    """Neither a clause that is true nor one that is false."""
    one = cause(for_={"yes": clause(YES, ask="p"), "no": clause(NO, ask="p", otherwise="weak")})

    assert next_of(one, probes=[probe("p")]) == []


def test_a_test_gives_the_commands_of_its_probe():
    """As the rules have them."""
    one = cause(for_={"open": asks("p")})

    found = assess(base(one, probes=[probe("p", run=["a", "b"])]), IT, engine="plain").next_tests

    assert [test.commands for test in found] == [("a", "b")]


def test_tests_are_ordered_by_disruption_then_use_then_time():
    """Least disruption first; of these what moves most; of these the quicker; then by name."""
    weights = {"d": "weak", "b": "strong", "c": "strong", "a": "weak", "quick": "weak", "restart": "conclusive"}
    one = cause(for_={name: asks(name, weight) for name, weight in weights.items()})
    probes = [*map(probe, "abcd"), probe("quick", seconds=1), probe("restart", disrupts="process", seconds=1)]

    assert [name for name, *_ in next_of(one, probes=probes)] == ["b", "c", "quick", "a", "d", "restart"]


def test_a_probe_of_two_causes_moves_both():
    """What it could move adds up, and it names both."""
    causes = [cause(name, for_={**LIKELY, "open": asks("p", "moderate")}) for name in ("a.one", "a.two")]

    assert next_of(*causes, probes=[probe("p")]) == [("p", ("a.one", "a.two"), 20)]


def test_of_a_group_only_the_heaviest_clause_asks():
    """Clauses of one source move the score once."""
    one = cause(
        for_={
            **LIKELY,
            "a": asks("p", "moderate", same="g"),
            "b": asks("p", "strong", same="g"),
            "c": asks("p", "weak"),
        }
    )

    assert next_of(one, probes=[probe("p")]) == [("p", ("a.one",), 25)]


def test_the_farther_behind_the_less_a_test_is_worth():
    """It counts by its odds: with a seventh ten decibans behind the best, twenty behind with hardly anything."""
    best = cause("a.best", for_=LIKELY)
    ten = cause("a.ten", prior="uncommon", for_={**LIKELY, "open": asks("p")})
    twenty = cause("a.twenty", prior="common", for_={"open": asks("q")})
    more = cause("a.more", prior="uncommon", for_={"open": asks("r")})

    found = next_of(best, ten, twenty, more, probes=[probe(name) for name in "pqr"])

    assert found == [("p", ("a.ten",), 3)]


def test_what_is_settled_asks_for_nothing():
    """Neither what is proved nor what is ruled out can be moved."""
    proved = cause("a.proved", for_={"sure": clause(YES, "conclusive"), "open": asks("p")})
    refuted = cause("a.refuted", for_={"open": asks("q")}, against={"no": clause(YES, "conclusive")})

    assert next_of(proved, refuted, probes=[probe("p"), probe("q")]) == []


def test_states_and_fallbacks_that_yield_ask_for_nothing():
    """Tests tell faults apart."""
    symptoms = [symptom("x", {"it": {"port_conflict": {}}})]
    better = cause("a.better", explains=["x"], for_=LIKELY)
    last = cause("a.last", explains=["x"], fallback=True, for_={**LIKELY, "open": asks("p")})
    state = cause("state.one", for_={**LIKELY, "open": asks("q")})

    assert next_of(better, last, state, probes=[probe("p"), probe("q")], symptoms=symptoms) == []


def test_a_fallback_is_no_reason_to_stop_looking():
    """A likely fallback does not push the others out of reach."""
    last = cause("a.last", fallback=True, for_={name: clause(YES) for name in "abcd"})
    other = cause("a.other", prior="uncommon", for_={**LIKELY, "open": asks("p")})

    assert next_of(last, other, probes=[probe("p")]) == [("p", ("a.other",), 20)]


def test_what_nothing_speaks_for_yet_asks_for_little():
    """It counts with a fifth of what it would count with support."""
    bare = cause("a.bare", for_={"open": asks("p")})
    supported = cause("a.supported", for_={"seen": clause(YES, "weak"), "open": asks("q")})

    assert next_of(bare, probes=[probe("p")]) == [("p", ("a.bare",), 4)]
    assert next_of(supported, probes=[probe("q")]) == [("q", ("a.supported",), 20)]


def test_a_probe_that_no_rule_defines_is_left_out():
    """Nothing can be said of how to run it."""
    assert next_of(cause(for_={"open": asks("nowhere")}), probes=[probe("p")]) == []


def test_a_test_that_brings_nothing_of_what_is_lacking_is_not_next():
    """Of a clause over two kinds the one that is there is not asked for again."""
    both = clause({"b": {"boot": {}}, "p": {"package": {}}}, ask="p")
    one = cause(for_={"open": both})
    readings = [*IT, *read(Boot())[:1], *partly("boot")]

    assert next_of(one, probes=[probe("p", covers=["boot"])], readings=readings) == []
    assert next_of(one, probes=[probe("p", covers=["package"])], readings=readings) == [("p", ("a.one",), 4)]


def test_no_test_moves_a_hypothesis_by_more_than_a_conclusive_line_does():
    """A dozen clauses that one test would settle can't all come true."""
    one = cause(for_={**LIKELY, **{name: asks("p") for name in "abcd"}})

    assert next_of(one, probes=[probe("p")]) == [("p", ("a.one",), 40)]


def test_what_is_proved_asks_for_its_root():
    """A consequence is no rival of what leads to it."""
    proved = cause("a.proved", for_={"sure": clause(YES, "conclusive")})
    rival = cause("a.rival", for_={"open": asks("q")})
    root = cause("a.root", leads_to=["a.proved"], for_={"seen": clause(YES, "weak"), "open": asks("p")})

    assert next_of(proved, rival, root, probes=[probe("p"), probe("q")]) == [("p", ("a.root",), 20)]


def test_a_test_of_a_job_that_has_ended_interrupts_nothing():
    """What it would interrupt is gone; so it comes by what it could move."""
    one = cause(for_={**LIKELY, "a": asks("restart"), "b": asks("look", "weak")})
    free = {"free_when": {"seen": {"symptom": {"id": "over"}}}}
    probes = [probe("restart", disrupts="process", **free), probe("look")]

    def order(*symptoms) -> list[tuple[str, str]]:
        found = assess(base(one, probes=probes, symptoms=symptoms), IT, engine="plain").next_tests
        return [(test.probe.id, test.probe.disrupts) for test in found]

    assert order() == [("look", "none"), ("restart", "process")]
    assert order(symptom("over", YES)) == [("restart", "none"), ("look", "none")]


def commands_of(readings, fill, *run: str) -> tuple[str, ...]:
    """The commands of a next test, with these fillings."""
    one = cause(for_={"open": asks("p")})
    diagnosis = assess(base(one, probes=[probe("p", run=run, fill=fill)]), readings, engine="plain")

    assert diagnosis.probes["p"].run == diagnosis.next_tests[0].commands
    return diagnosis.next_tests[0].commands


PEER = {"when": {"it": {"port_conflict": {}}}, "words": {"THE-PEER": "{it.address}", "THE-PORT": "{it.port}"}}


def test_the_words_of_a_command_are_filled_in_from_the_facts():
    """Wherever they stand; a command without them is given once."""
    found = commands_of(read(thing(1, "a"), thing(2, "b")), [PEER], "ping THE-PEER; nc THE-PEER THE-PORT", "date")

    assert found == ("ping a; nc a 1", "ping b; nc b 2", "date")


def test_of_many_facts_a_few_fill_a_command_in():
    """Nobody tries a thousand peers by hand."""
    found = commands_of(read(*(thing(number, "a") for number in range(9))), [PEER], "nc THE-PEER THE-PORT")

    assert found == ("nc a 0", "nc a 1")


UNFILLED = {
    "it is not known": (thing(port=1), "ping THE-PEER 1"),
    "it is more than one plain word": (thing(1, "x; touch broken"), "ping THE-PEER 1"),
    "it would be an option": (thing(1, "-f"), "ping THE-PEER 1"),
    "it holds another word": (thing(1, "THE-PORT"), "ping THE-PORT 1"),
}


@pytest.mark.parametrize(("fact", "command"), UNFILLED.values(), ids=UNFILLED)
def test_a_word_stays_where_nothing_safe_is_known_for_it(fact, command):
    """A person fills it in: a value may stand within quotes of the command, where quoting it would end them."""
    assert commands_of(read(fact), [PEER], "ping THE-PEER THE-PORT") == (command,)


def test_the_first_filling_that_knows_a_word_counts():
    """Another may still fill in the words that are left."""
    later = {"when": {"p": {"package": {}}}, "words": {"THE-PEER": "{p.name}", "THE-NAME": "{p.name}"}}
    name = {"when": {"p": {"package": {}}}, "words": {"THE-NAME": "{p.name}"}}
    readings = [*read(thing(1, "a")), *read(package("b"))]

    assert commands_of(readings, [PEER, later, name], "say THE-PEER THE-NAME") == ("say a b",)


def test_a_test_whose_kinds_were_looked_for_is_not_next():
    """Once the answer is there, the question is gone."""
    one = cause(for_={"open": asks("p")})

    assert next_of(one, probes=[probe("p")], readings=[*IT, *looked("boot")]) == []
    assert next_of(one, probes=[probe("p")], readings=[*IT, *read(Boot())]) == []


def test_a_test_that_was_run_is_not_next_though_another_kind_is_lacking():
    """The clause stays unknown for want of what this probe never brings; half a run is no run."""
    both = cause(for_={"open": clause({**UNKNOWN, "p": {"package": {}}}, ask="p")})
    packages = probe("p", covers=["package"])

    assert next_of(both, probes=[packages]) == [("p", ("a.one",), 4)]
    assert next_of(both, probes=[packages], readings=[*IT, *partly("package")]) == [("p", ("a.one",), 4)]
    assert next_of(both, probes=[packages], readings=[*IT, *read(package("x"))]) == []


def test_a_test_worth_a_tenth_of_the_best_is_not_advised():
    """The list is for somebody in a hurry."""
    best = cause("a.best", for_={**LIKELY, **{name: asks("best", same=name) for name in "abc"}})
    behind = cause("a.behind", for_={"seen": clause(YES, "weak"), "open": asks("negligible", "moderate")})

    found = next_of(best, behind, probes=[probe("best"), probe("negligible")])

    assert [name for name, *_ in found] == ["best"]


def test_where_nothing_is_proposed_a_test_counts_by_what_it_brings_of_what_is_lacking():
    """A symptom stands for the kinds of facts that show it; a cause counts by its share."""
    seen = symptom("x", [{"b": {"boot": {}}}, {"p": {"package": {}}}])
    by_symptom = cause("a.by-symptom", requires={"s": {"symptom": {"id": "x"}}})
    by_kind = cause("a.by-kind", requires={"b": {"boot": {}}})
    probes = [probe("boots", covers=["boot"]), probe("packages", covers=["package"])]

    found = next_of(by_symptom, by_kind, probes=probes, readings=[], symptoms=[seen])

    assert found == [("boots", ("a.by-kind", "a.by-symptom"), 15), ("packages", ("a.by-symptom",), 5)]
