"""Evidence in several parts: what one says is never joined with what another says."""

from __future__ import annotations

from byhand import base, cause, clause, read, symptom, thing

from engine.result import Diagnosis
from engine.session import assess_parts
from kb.evidence import Reading
from kb.facts.machine import Boot

SEEN = {"it": {"port_conflict": {}}}
BOTH = {"it": {"port_conflict": {}}, "machine": {"boot": {}}}


def judged(
    parts: dict[str, list[Reading]], requires: dict[str, object] = SEEN, about: str = "machine"
) -> Diagnosis:
    one = cause(
        "net.port-conflict",
        requires=requires,
        about=about,
        **{"for": {"seen": clause(SEEN, weight="conclusive")}},
    )
    return assess_parts(base(one, symptoms=[symptom("s", SEEN)]), parts, engine="plain")


def abouts(diagnosis: Diagnosis) -> list[str]:
    return [about for one in diagnosis.findings for about in one.subjects]


def test_facts_of_two_parts_are_not_joined():
    diagnosis = judged({"host a": read(thing(1)), "host b": read(Boot(host="b"))}, BOTH)

    assert diagnosis.findings == ()


def test_facts_of_one_part_are_joined_and_the_finding_names_it():
    diagnosis = judged({"host a": [], "host b": read(thing(1), Boot(host="b"))}, BOTH)

    assert abouts(diagnosis) == ["host b"]


def test_a_subject_is_named_with_its_part():
    diagnosis = judged({"host a": [], "host b": read(thing(7))}, about="port {it.port}")

    assert abouts(diagnosis) == ["port 7 on host b"]


def test_the_same_fault_of_two_parts_is_two_findings():
    diagnosis = judged({"host a": read(thing(1)), "host b": read(thing(2))})

    assert sorted(abouts(diagnosis)) == ["host a", "host b"]


def test_what_rests_on_common_facts_alone_is_found_once_and_names_no_part():
    common = read(thing(1))
    diagnosis = judged({"host a": [*common, *read(Boot(host="a"))], "host b": [*common, *read(Boot(host="b"))]})

    assert abouts(diagnosis) == ["machine"]
    assert [one.about for one in diagnosis.symptoms] == ["machine"]


def test_symptoms_name_their_part():
    diagnosis = judged({"host a": read(thing(1)), "host b": []})

    assert [one.about for one in diagnosis.symptoms] == ["host a"]


def test_the_parts_are_told():
    assert judged({"host b": [], "host a": []}).parts == ("host a", "host b")
    assert judged({"": []}).parts == ()
