"""Rules as authors write them → what the matcher compares: which facts a pattern takes, told fact by fact."""

from __future__ import annotations

import pytest
from byhand import THING, cause, clause, symptom, thing

from engine.compile import (
    Encoder,
    Part,
    compile_all,
    compile_cause,
    compile_symptom,
    flag_field,
    joined,
    key_field,
    version_fields,
)
from engine.matcher import infer
from engine.matcher.form import Head, Ref
from kb.evidence import Observed, Source
from kb.facts import Fact
from kb.facts.driver import KernelModule, ResolvedLibrary
from kb.facts.framework import ModelFit
from kb.facts.gpu import Gpu
from kb.facts.machine import Boot, KernelParameter
from kb.facts.packages import Package
from kb.pattern import parse_patterns


def firings(patterns, *facts: Fact) -> list[dict[str, int]]:
    """The bindings of each firing of a rule with these patterns, as positions among the facts."""
    one = cause(requires=patterns)
    encoder = Encoder.of([one], [])
    encoded = [encoder.encode(Observed(fact, Source("a", 1, 1, ""))) for fact in facts]
    return [dict(firing.bindings) for firing in infer(compile_cause(one).rules, encoded, "plain").firings]


def package(upstream: str | None = None, **more) -> Package:
    return Package(**{"name": "p", "version": "1", "state": "installed", "upstream": upstream, **more})


TESTS = {
    "a literal is equal": ({"port": 3}, thing(port=3), True),
    "a literal differs": ({"port": 3}, thing(port=4), False),
    "a number is no text": ({"port": 3}, thing(address="3"), False),
    "a text is no number": ({"address": "3"}, thing(port=3, address="4"), False),
    "a list takes any of it": ({"address": ["a", "b"]}, thing(address="b"), True),
    "a list takes nothing else": ({"address": ["a", "b"]}, thing(address="c"), False),
    "not": ({"address": {"not": "a"}}, thing(address="b"), True),
    "not, and it is": ({"address": {"not": "a"}}, thing(address="a"), False),
    "not of a list is none of it": ({"address": {"not": ["a", "b"]}}, thing(address="b"), False),
    "not of a list, and it is another": ({"address": {"not": ["a", "b"]}}, thing(address="c"), True),
    "not of an unknown is not true": ({"address": {"not": "a"}}, thing(), False),
    "less": ({"port": {"lt": 3}}, thing(port=2), True),
    "not less": ({"port": {"lt": 3}}, thing(port=3), False),
    "at most": ({"port": {"le": 3}}, thing(port=3), True),
    "more": ({"port": {"gt": 3}}, thing(port=4), True),
    "not more": ({"port": {"gt": 3}}, thing(port=3), False),
    "at least": ({"port": {"ge": 3}}, thing(port=3), True),
    "between": ({"port": {"ge": 3, "lt": 5}}, thing(port=5), False),
    "numbers are ordered as numbers": ({"port": {"lt": 10}}, thing(port=9), True),
    "an unknown is not less": ({"port": {"lt": 3}}, thing(), False),
    "known": ({"address": {"known": True}}, thing(address="a"), True),
    "known, and it is not": ({"address": {"known": True}}, thing(port=1), False),
    "unknown": ({"address": {"known": False}}, thing(port=1), True),
    "unknown, and it is known": ({"address": {"known": False}}, thing(address="a"), False),
    "an expression is searched for": ({"address": {"matches": "b+c"}}, thing(address="abbcd"), True),
    "an expression that does not occur": ({"address": {"matches": "^b"}}, thing(address="ab"), False),
    "one of several expressions": ({"address": {"matches": ["^x", "d$"]}}, thing(address="abcd"), True),
    "an expression and a not": ({"address": {"matches": "^a", "not": "ab"}}, thing(address="ab"), False),
    "an expression in an unknown": ({"address": {"matches": ".*"}}, thing(port=1), False),
    "nothing is asked": (None, thing(), True),
}


@pytest.mark.parametrize(("fields", "fact", "taken"), TESTS.values(), ids=TESTS)
def test_a_pattern_takes_what_its_tests_say(fields, fact, taken):
    """Each operator on known and on unknown fields."""
    assert firings({"it": {THING.kind: fields}}, fact) == ([{"it": 0}] if taken else [])


VERSIONS = [
    ("570.26", "lt", "570.124", True),
    ("570.124", "lt", "570.26", False),
    ("570.124", "gt", "570.26", True),
    ("9.9.9", "lt", "10", True),
    ("580.142", "le", "580.142.0", True),
    ("580.142", "ge", "580.142.0", True),
    ("580.142", "lt", "580.142.0", False),
    ("12.4+cuda13", "lt", "12.5", True),
    ("550.54.14", "lt", "550.54.15", True),
    ("none at all", "lt", "1", False),
    ("none at all", "gt", "1", False),
]


@pytest.mark.parametrize(("found", "order", "wanted", "holds"), VERSIONS)
def test_versions_are_ordered_part_by_part(found, order, wanted, holds):
    """570.26 is before 570.124, as numbers and not as text, also where the other is a field of another fact."""
    literal = {"it": {"package": {"upstream": {order: wanted}}}}
    reference = {
        "other": {"kernel_module": {"version": {"known": True}}},
        "it": {"package": {"upstream": {order: "$other.version"}}},
    }

    assert bool(firings(literal, package(found))) is holds
    assert bool(firings(reference, package(found), KernelModule(version=wanted))) is holds


def test_a_version_is_equal_only_as_text():
    """What is printed differently is not the same version for `is` and `not`."""
    assert firings({"it": {"package": {"upstream": "580.142"}}}, package("580.142.0")) == []
    assert firings({"it": {"package": {"upstream": {"not": "580.142"}}}}, package("580.142.0")) == [{"it": 0}]


def test_a_text_that_is_no_version_has_no_order():
    """Only fields that hold versions get a number."""
    assert (
        firings({"it": {"kernel_parameter": {"value": {"lt": "2"}}}}, KernelParameter(name="n", value="1")) == []
    )


REFERENCES = {
    "equal": ("$one.port", thing(port=1, address="b"), [{"one": 0, "other": 1}]),
    "differs": ("$one.port", thing(port=2, address="b"), []),
    "not, and it differs": ({"not": "$one.port"}, thing(port=2, address="b"), [{"one": 0, "other": 1}]),
    "not, and it is equal": ({"not": "$one.port"}, thing(port=1, address="b"), []),
    "any of two": (["$one.port", 7], thing(port=7, address="b"), [{"one": 0, "other": 1}]),
    "ordered": ({"gt": "$one.port"}, thing(port=2, address="b"), [{"one": 0, "other": 1}]),
    "what is unknown is equal to nothing": ("$one.port", thing(address="b"), []),
    "what is unknown differs from nothing": ({"not": "$one.port"}, thing(address="b"), []),
}


@pytest.mark.parametrize(("test", "other", "found"), REFERENCES.values(), ids=REFERENCES)
def test_a_reference_is_the_value_of_an_earlier_binding(test, other, found):
    """`$binding.field` compares two facts."""
    patterns = {"one": {THING.kind: {"address": "a"}}, "other": {THING.kind: {"address": "b", "port": test}}}

    assert firings(patterns, thing(port=1, address="a"), other) == found


def test_a_reference_to_an_unknown_field_matches_nothing():
    """Neither equal nor different."""
    first, second = {"kernel_module": {}}, {"package": {"upstream": "$one.version"}}

    assert firings({"one": first, "other": second}, KernelModule(), package("1")) == []
    second = {"package": {"upstream": {"not": "$one.version"}}}
    assert firings({"one": first, "other": second}, KernelModule(), package("1")) == []


def test_two_patterns_of_one_kind_take_two_facts():
    """One fact takes one pattern of a rule at most."""
    patterns = {"one": {THING.kind: {}}, "other": {THING.kind: {}}}

    assert firings(patterns, thing(port=1)) == []
    assert len(firings(patterns, thing(port=1), thing(port=2))) == 2


def test_a_repeated_binding_is_tested_further():
    """The tests of a clause join those of the requirement with the same name; the order of bindings stays."""
    requires = parse_patterns({"one": {"boot": {"host": "h"}}, "two": {"package": {"name": "p"}}})
    when = parse_patterns({"two": {"package": {"upstream": "1"}}, "three": {"boot": {"kernel": "$two.name"}}})

    both = joined(requires, when)

    assert [pattern.binding for pattern in both] == ["one", "two", "three"]
    assert [[test.field for test in pattern.tests] for pattern in both] == [
        ["host"],
        ["name", "upstream"],
        ["kernel"],
    ]


def test_each_alternative_becomes_a_rule_of_the_same_part():
    """What a firing stands for can be looked up: requirements, a clause, or a remedy with conditions."""
    remedy = {"do": "this", "undo": "that", "verify": "here"}
    one = cause(
        for_={"here": clause([{"b": {"boot": {}}}, {"p": {"package": {}}}])},
        against={"there": clause({"b": {"boot": {}}})},
        remedies=[remedy, {**remedy, "when": {"b": {"boot": {}}}}, {**remedy, "unless": {"b": {"boot": {}}}}],
    )

    compiled = compile_cause(one)

    assert list(compiled.parts.values()) == [
        Part("a.one", "requires"),
        Part("a.one", "for", "here", 0, alone=True),
        Part("a.one", "for", "here", 1, alone=True),
        Part("a.one", "against", "there", alone=True),
        Part("a.one", "remedy", "1", alone=True),
        Part("a.one", "remedy", "2"),
    ]
    assert [rule.name for rule in compiled.rules] == list(compiled.parts)
    assert [pattern.kind for pattern in compiled.rules[-1].absent] == ["boot"]


TIED = {
    "it repeats a binding": (clause({"it": {"port_conflict": {"port": 1}}}), False),
    "it refers to a binding": (clause({"p": {"package": {"name": "$it.address"}}}), False),
    "it speaks of the same kind": (clause({"other": {"port_conflict": {}}}), False),
    "something must be absent": (clause({"b": {"boot": {}}}, unless={"p": {"package": {}}}), False),
    "it has no patterns of its own": (clause(), False),
    "it refers to its own bindings": (
        clause({"m": {"kernel_module": {}}, "p": {"package": {"upstream": "$m.version"}}}),
        True,
    ),
}


@pytest.mark.parametrize(("body", "alone"), TIED.values(), ids=TIED)
def test_what_says_nothing_of_the_bindings_is_matched_once_for_all_hypotheses(body, alone):
    """Its rule leaves the requirements out, so that there are not as many firings as pairs."""
    compiled = compile_cause(cause(for_={"c": body}))

    assert [part.alone for part in compiled.parts.values() if part.role == "for"] == [alone]
    assert ("it" in [pattern.alias for pattern in compiled.rules[-1].patterns]) is not alone


@pytest.mark.parametrize(("about", "value"), [("machine", "machine"), ("$it.address", Ref("it", "address"))])
def test_a_symptom_concludes_what_it_is_about(about, value):
    """The machine, or the value of a field; one rule for each alternative."""
    one = symptom("s", [{"it": {THING.kind: {}}}, {"it": {THING.kind: {"port": 3}}}], about=about)

    compiled = compile_symptom(one)

    assert [rule.head for rule in compiled.rules] == [Head("symptom", (("id", "s"), ("about", value)))] * 2
    assert set(compiled.parts.values()) == {Part("s", "symptom")}


def test_all_rules_together_keep_names_of_their_own():
    """Causes and symptoms that share names of clauses do not mix."""
    causes = [cause(name, for_={"same": clause({"b": {"boot": {}}})}) for name in ("a.one", "a.two")]

    compiled = compile_all(causes, [symptom("a.one", {"it": {THING.kind: {}}})])

    assert len({rule.name for rule in compiled.rules}) == len(compiled.rules) == len(compiled.parts) == 5


def test_the_encoder_adds_numbers_and_flags():
    """An integer beside each known version, a flag for each expression; unknown fields are left out."""
    one = cause(
        requires={"it": {"package": {"name": {"matches": "^p"}}}},
        for_={"c": clause(unless={"other": {"package": {"name": {"matches": "q$"}}}})},
    )
    encoder = Encoder.of([one], [])

    encoded = encoder.encode(Observed(package("2.1"), Source("a", 1, 1, "")))

    assert encoded[flag_field("name", "^p")] is True
    assert encoded[flag_field("name", "q$")] is False
    assert encoded[key_field("upstream")] == 200001 * 10**10
    assert encoded["kind"] == "package"
    assert "role" not in encoded
    unknown = encoder.encode(Observed(package(), Source("a", 1, 1, "")))
    assert key_field("upstream") not in unknown


def test_a_version_that_follows_from_other_fields_is_ordered_too():
    """What is worked out counts as what is read does, and other rules may refer to it."""
    patterns = {
        "gpu": {"gpu": {"cuda_since": {"known": True}}},
        "it": {"package": {"upstream": {"lt": "$gpu.cuda_since"}}},
    }
    old, new = (firings(patterns, package(found), Gpu(name="NVIDIA H100")) for found in ("11.10", "11.7"))

    assert (bool(old), bool(new)) == (False, True)


def test_version_fields_are_found_by_their_mark():
    """Also where the version may be unknown; a text that only looks like one is none."""
    assert version_fields("package") == {"upstream"}
    assert version_fields("resolved_library") == {"version"}
    assert version_fields(Boot.kind) == frozenset()
    assert version_fields("no such kind") == frozenset()


def test_decimals_are_compared_as_numbers():
    """A whole number of a rule against a decimal of a fact."""
    fit = ModelFit(weights_gib=7.5, gpus=1, memory_gib=8.0, fits=True)

    assert firings({"it": {"model_fit": {"weights_gib": {"lt": 8}, "memory_gib": 8}}}, fit) == [{"it": 0}]


def test_a_computed_field_can_be_asked_for():
    """The branch follows from the version."""
    facts = KernelModule(version="590.48.01"), ResolvedLibrary(soname="l", path="/l", version="590.48.01")

    assert firings({"it": {"kernel_module": {"branch": 590}}}, *facts) == [{"it": 0}]
