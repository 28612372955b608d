"""Three values: a clause is true, false only where all its kinds were looked at, or unknown with a reason."""

from __future__ import annotations

import pytest
from byhand import THING, base, cause, clause, findings, ledger, looked, partly, read, thing

from engine.coverage import Coverage, described
from engine.session import assess
from kb.facts.driver import KernelModule
from kb.facts.machine import Boot
from kb.facts.packages import Package
from kb.pattern import parse_patterns

IT = read(thing(port=1, address="a"))
NOT_LOOKED = "boot was not looked for"
IN_PART = "boot was looked for only in part"


def package(name: str, upstream: str | None = None) -> Package:
    return Package(name=name, version="1", state="installed", upstream=upstream)


def judged(body, *readings, **more) -> tuple[str, str]:
    """The truth of one clause over a thing and these readings, and why it is unknown."""
    line = ledger(cause(for_={"c": body}, **more), [*IT, *readings])["c"]
    return line.truth, line.unknown


BOOT = {"b": {"boot": {"kernel": "k"}}}

CLAUSES = {
    "it matches": (BOOT, read(Boot(kernel="k")), "true", ""),
    "it matches, though only a part was looked at": (
        BOOT,
        [read(Boot(kernel="k"))[0], *partly("boot")],
        "true",
        "",
    ),
    "nobody looked": (BOOT, [], "unknown", NOT_LOOKED),
    "somebody looked at all, and nothing is there": (BOOT, looked("boot"), "false", ""),
    "somebody looked at a part, and nothing is there": (BOOT, partly("boot"), "unknown", IN_PART),
    "one looked at a part and one at all": (BOOT, partly("boot") + looked("boot"), "false", ""),
    "what is there is another": (BOOT, read(Boot(kernel="other")), "false", ""),
    "another is there, and the rest was not looked at": (BOOT, read(Boot(kernel="x"))[:1], "unknown", NOT_LOOKED),
    "the field is not known": (BOOT, read(Boot(host="h")), "unknown", "boot.kernel is not known"),
    "one is another, the field of one is not known": (
        BOOT,
        read(Boot(kernel="other"), Boot(host="h")),
        "unknown",
        "boot.kernel is not known",
    ),
    "a field that is not known cannot help where another speaks against it": (
        {"b": {"boot": {"kernel": "k", "host": "h"}}},
        read(Boot(host="other")),
        "false",
        "",
    ),
    "whether it is known is always known": (
        {"b": {"boot": {"kernel": {"known": True}}}},
        read(Boot()),
        "false",
        "",
    ),
    "not, of an unknown": (
        {"b": {"boot": {"kernel": {"not": "k"}}}},
        read(Boot()),
        "unknown",
        "boot.kernel is not known",
    ),
    "an expression, of an unknown": (
        {"b": {"boot": {"kernel": {"matches": "k"}}}},
        read(Boot()),
        "unknown",
        "boot.kernel is not known",
    ),
    "an expression that does not occur": (
        {"b": {"boot": {"kernel": {"matches": "z"}}}},
        read(Boot(kernel="k")),
        "false",
        "",
    ),
    "an order, of an unknown": (
        {"p": {"package": {"upstream": {"lt": "2"}}}},
        read(package("p")),
        "unknown",
        "package.upstream is not known",
    ),
    "an order that does not hold": (
        {"p": {"package": {"upstream": {"lt": "2"}}}},
        read(package("p", "3")),
        "false",
        "",
    ),
    "two kinds, one of them not looked for": (
        {**BOOT, "p": {"package": {}}},
        read(Boot(kernel="k")),
        "unknown",
        "package was not looked for",
    ),
    "two kinds, and what was looked for is not there": (
        {**BOOT, "p": {"package": {}}},
        looked("boot"),
        "false",
        "",
    ),
    "two kinds that nobody looked for": (
        {**BOOT, "p": {"package": {}}},
        [],
        "unknown",
        f"{NOT_LOOKED}; package was not looked for",
    ),
    "two facts that do not fit together": (
        {"b": {"boot": {}}, "p": {"package": {"name": "$b.kernel"}}},
        read(Boot(kernel="k"), package("p")),
        "false",
        "",
    ),
    "a reference to what is not known": (
        {"b": {"boot": {}}, "p": {"package": {"name": "$b.kernel"}}},
        read(Boot(host="h"), package("p")),
        "unknown",
        "boot.kernel is not known",
    ),
    "one alternative matches": ([BOOT, {"p": {"package": {}}}], read(Boot(kernel="k")), "true", ""),
    "one alternative is false and one unknown": (
        [BOOT, {"p": {"package": {}}}],
        looked("boot"),
        "unknown",
        "package was not looked for",
    ),
    "all alternatives are false": ([BOOT, {"p": {"package": {}}}], looked("boot", "package"), "false", ""),
    "alternatives with one reason": ([BOOT, {"o": {"boot": {"kernel": "l"}}}], [], "unknown", NOT_LOOKED),
}


@pytest.mark.parametrize(("when", "readings", "truth", "why"), CLAUSES.values(), ids=CLAUSES)
def test_a_clause_has_three_values(when, readings, truth, why):
    """True where it matches; false where all was looked at; otherwise unknown, with what is missing."""
    assert judged(clause(when), *readings) == (truth, why)


K, KH = {"kernel": "k"}, {"kernel": "k", "host": "h"}

ABSENCES = {
    "nothing is there": (K, looked("boot"), "true", ""),
    "it is there": (K, read(Boot(kernel="k")), "false", ""),
    "nobody looked": (K, [], "unknown", NOT_LOOKED),
    "somebody looked at a part": (K, partly("boot"), "unknown", IN_PART),
    "another is there": (K, read(Boot(kernel="other")), "true", ""),
    "another is there, of a part": (K, [read(Boot(kernel="x"))[0], *partly("boot")], "unknown", IN_PART),
    "it is there, of a part": (K, [read(Boot(kernel="k"))[0], *partly("boot")], "false", ""),
    "its field is not known": (K, read(Boot(host="h")), "unknown", "boot.kernel is not known"),
    "one field is not known, another differs": (KH, read(Boot(host="other")), "true", ""),
    "one field is not known, another fits": (KH, read(Boot(host="h")), "unknown", "boot.kernel is not known"),
    "it must be unknown, and is known": ({"kernel": {"known": False}}, read(Boot(kernel="k")), "true", ""),
}


@pytest.mark.parametrize(("fields", "readings", "truth", "why"), ABSENCES.values(), ids=ABSENCES)
def test_absence_needs_a_complete_look(fields, readings, truth, why):
    """`unless` alone: true only where all was looked at, and nothing is there or might be."""
    assert judged(clause(unless={"b": {"boot": fields}}), *readings) == (truth, why)


def test_what_is_there_and_what_is_not_are_judged_together():
    """`when` and `unless` in one clause: what blocks one match leaves another."""
    body = clause({"p": {"package": {}}}, unless={"b": {"boot": {"kernel": "$p.name"}}})
    blocked, free = package("k"), package("free")

    assert judged(body, *read(blocked, Boot(kernel="k"))) == ("false", "")
    assert judged(body, *read(blocked, free, Boot(kernel="k"))) == ("true", "")
    assert judged(body, *read(blocked, Boot(kernel="k"))[:2]) == (
        "unknown",
        "package was not looked for",
    )


def test_only_the_matches_that_are_sure_are_evidence():
    """A match that an unknown field might block is not cited beside one that nothing can block."""
    body = clause(
        {"p": {"package": {"name": {"known": True}}}}, unless={"o": {"package": {"upstream": "$p.name"}}}
    )
    one = cause(for_={"c": body})

    sure = ledger(one, [*IT, *read(package("1", "9"), package("2", "9"))])["c"]
    unsure = ledger(one, [*IT, *read(package("1"), package("2", "9"))])["c"]

    assert (sure.truth, len(sure.evidence)) == ("true", 2)
    assert (unsure.truth, [fact.fact.name for fact in unsure.evidence]) == ("true", ["1"])


REQUIREMENTS = {
    "an expression": {"it": {THING.kind: {"address": {"matches": "^a"}}}},
    "an order": {"it": {THING.kind: {"port": {"lt": 5}}}},
    "what is unknown": {"it": {THING.kind: {"address": {"known": True}}}},
}


@pytest.mark.parametrize("requires", REQUIREMENTS.values(), ids=REQUIREMENTS)
def test_what_the_requirements_test_does_not_settle_a_clause(requires):
    """Requirements that hold by an expression or an order leave a clause unknown where nobody looked."""
    assert judged(clause(BOOT), requires=requires) == ("unknown", NOT_LOOKED)
    assert judged(clause(BOOT), *looked("boot"), requires=requires) == ("false", "")


def test_the_order_of_versions_in_a_requirement_does_not_settle_a_clause():
    """Versions are compared as numbers here too."""
    one = cause(requires={"m": {"kernel_module": {"version": {"lt": "570.124"}}}}, for_={"c": clause(BOOT)})

    line = ledger(one, read(KernelModule(version="570.26")))["c"]

    assert (line.truth, line.unknown) == ("unknown", NOT_LOOKED)


def test_a_binding_of_the_requirements_is_tested_further():
    """True, false and unknown depend on that one fact, not on others of its kind."""
    body = clause({"it": {THING.kind: {"address": "a"}}})
    one = cause(requires={"it": {THING.kind: {"port": 1}}}, for_={"c": body})
    other = thing(port=2, address="a")

    truths = {
        address: ledger(one, read(thing(port=1, address=address), other))["c"].truth
        for address in ("a", "b", None)
    }

    assert truths == {"a": "true", "b": "false", None: "unknown"}


def test_a_reference_to_an_unknown_field_of_the_requirements_makes_unknown():
    """Nothing can be said of what differs from an unknown version."""
    body = clause({"p": {"package": {"upstream": {"not": "$m.version"}}}})
    one = cause(requires={"m": {"kernel_module": {}}}, for_={"c": body})

    line = ledger(one, read(KernelModule(), package("p", "3")))["c"]

    assert (line.truth, line.unknown) == ("unknown", "kernel_module.version is not known")


NOT_PROPOSED = {
    "nobody looked": ({"b": {"boot": {}}}, [], "not looked: boot was not looked for"),
    "a part was looked at": ({"b": {"boot": {}}}, partly("boot"), "not looked: boot was looked for only in part"),
    "it is not there": ({"b": {"boot": {"kernel": ["k", "l"]}}}, looked("boot"), "no boot with kernel k or l"),
    "nothing of the kind": ({"b": {"boot": {}}}, looked("boot"), "no boot"),
    "the second is not there": (
        {"b": {"boot": {}}, "p": {"package": {"upstream": {"gt": "2"}}}},
        [*read(Boot()), *looked("package")],
        "no package with upstream gt 2",
    ),
    "they do not fit together": (
        {"b": {"boot": {}}, "p": {"package": {"name": "$b.kernel"}}},
        read(Boot(kernel="k"), package("p")),
        "the requirements match no facts together",
    ),
    "no symptom": ({"s": {"symptom": {"id": "x"}}}, [], "none of the symptoms that it would explain is seen"),
}


@pytest.mark.parametrize(("requires", "readings", "reason"), NOT_PROPOSED.values(), ids=NOT_PROPOSED)
def test_a_cause_that_is_not_proposed_says_why(requires, readings, reason):
    """Which requirement did not match, and whether anybody looked."""
    diagnosis = assess(base(cause(requires=requires)), readings, engine="plain")

    assert findings(diagnosis) == []
    assert diagnosis.not_applicable == {"a.one": reason}


def test_what_reasoning_adds_is_always_looked_for():
    """A symptom that is not derived is not there."""
    line = ledger(cause(for_={"c": clause({"s": {"symptom": {"id": "x"}}})}), IT)["c"]

    assert line.truth == "false"


def test_coverage_is_complete_where_one_look_was():
    """One complete look is enough; kinds that were only partly looked for are kept apart."""
    coverage = Coverage.of([*looked("boot"), *partly("boot", "package")], [])

    assert "boot" in coverage.complete
    assert coverage.partly == {"package"}


def test_a_pattern_in_words():
    """For messages, as the author wrote it."""
    patterns = parse_patterns(
        {"p": {"package": {"name": ["a", "b"], "upstream": {"lt": "$m.version"}}}, "b": {"boot": None}}
    )

    assert list(map(described, patterns)) == ["package with name a or b and upstream lt $m.version", "boot"]
