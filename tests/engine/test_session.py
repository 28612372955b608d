"""The run as a whole: facts and rules in, a diagnosis out, whatever their order and whichever engine."""

from __future__ import annotations

import json
import random

import pytest
from byhand import base, cause, clause, findings, looked, partly, probe, read, symptom, thing
from engines import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.explain import rule_base
from engine.result import Diagnosis, Finding
from engine.session import assess
from kb.evidence import Looked, Observed, Source, Unread
from kb.examples import example_readings
from kb.facts.conclusion import Disagreement, Outcome
from kb.facts.driver import KernelModule
from kb.facts.framework import ProcessError, StartProgress
from kb.facts.launch import RunEnd
from kb.facts.machine import Boot
from kb.facts.packages import Package
from kb.rule import RuleBase

YES = {"it": {"port_conflict": {}}}
RULES = rule_base()
UP = StartProgress(framework="sglang", stage="ready", state="complete", ranks_begun=4, ranks_ended=4)
BLOCKED = StartProgress(
    framework="sglang", stage="communication", state="unfinished", ranks_begun=4, ranks_ended=0
)


def places(evidence) -> list[str]:
    """Where each fact was read."""
    return [f"{one.fact.kind} {one.source.path}:{one.source.line}" for one in evidence]


def told_of(one: Finding) -> list:
    """Everything that a finding says."""
    return [
        *(one.cause.cause, one.subjects, one.verdict, one.hypothesis.score),
        *(one.explains, one.consequence_of, one.yields_to),
        [(rival.cause, rival.margin) for rival in one.rivals],
        [
            (line.clause, line.truth, line.decibans, line.says, line.unknown, places(line.evidence))
            for line in one.hypothesis.ledger
        ],
        [(offer.do, offer.run) for offer in one.remedies],
    ]


def told(diagnosis: Diagnosis) -> str:
    """Everything that a diagnosis concludes, without what names the engine."""
    return json.dumps(
        [
            list(map(told_of, findings(diagnosis))),
            [(one.rule.symptom, one.about, one.explained_by, places(one.evidence)) for one in diagnosis.symptoms],
            [(one.probe.id, one.separates, one.could_move) for one in diagnosis.next_tests],
            sorted(diagnosis.not_applicable.items()),
            places(diagnosis.observed),
            diagnosis.rules_fired,
        ]
    )


def test_a_symptom_rests_on_the_facts_that_show_it():
    """Each fact that matched, whichever alternative; and it cites the first."""
    rule = symptom("s", [YES, {"b": {"boot": {"host": "h"}}}])

    seen = assess(base(symptoms=[rule]), read(thing(1), Boot(host="h")), engine="plain").symptoms

    assert [(one.rule.symptom, one.about, one.says) for one in seen] == [("s", "machine", "seen")]
    assert {observed.fact.kind for observed in seen[0].evidence} == {"port_conflict", "boot"}


def test_a_symptom_is_seen_once_for_each_thing_that_it_is_about():
    """Two subjects are two symptoms; two facts of one subject are one."""
    rule = symptom("s", YES, about="$it.address")

    seen = assess(
        base(symptoms=[rule]), read(thing(1, "a"), thing(2, "a"), thing(3, "b")), engine="plain"
    ).symptoms

    assert sorted((one.about, len(one.evidence)) for one in seen) == [("a", 2), ("b", 1)]


def test_a_symptom_of_something_unknown_is_about_the_machine():
    """The fact that shows it need not tell which part."""
    rule = symptom("s", YES, about="$it.address")

    assert [one.about for one in assess(base(symptoms=[rule]), read(thing(1)), engine="plain").symptoms] == [
        "machine"
    ]


def test_a_cause_may_ask_for_a_symptom():
    """What one rule concludes another may require, and the proof leads to what was read."""
    rules = base(
        cause(
            requires={"s": {"symptom": {"id": "s"}}}, for_={"c": clause({"s": {"symptom": {"about": "machine"}}})}
        ),
        symptoms=[symptom("s", YES)],
    )

    found = assess(rules, read(thing(1)), engine="plain").findings[0]

    assert [one.fact.kind for one in found.hypothesis.ledger[0].evidence] == ["symptom"]
    assert [one.fact for one in found.hypothesis.bindings["s"].roots()] == [thing(1)]


def test_a_symptom_names_the_causes_that_explain_it():
    """Only those that stand; none where nothing explains it."""
    rules = base(
        cause("a.likely", explains=["x"], for_={"c": clause(YES)}),
        cause("a.possible", explains=["y"], for_={"c": clause(YES, "moderate")}),
        symptoms=[symptom("x", YES), symptom("y", YES)],
    )

    diagnosis = assess(rules, read(thing(1)), engine="plain")

    assert {one.rule.symptom: one.explained_by for one in diagnosis.symptoms} == {"x": ("a.likely",), "y": ()}


def test_two_independent_causes_are_both_reported():
    """Neither hides the other, and no symptom is left over."""
    rules = base(
        cause("a.one", explains=["x"], for_={"c": clause(YES)}),
        cause("b.two", explains=["y"], requires={"b": {"boot": {}}}, for_={"c": clause({"b": {"boot": {}}})}),
        symptoms=[symptom("x", YES), symptom("y", {"b": {"boot": {}}})],
    )

    diagnosis = assess(rules, read(thing(1), Boot()), engine="plain")

    assert [one.cause.cause for one in diagnosis.findings] == ["a.one", "b.two"]
    assert [one.explained_by for one in diagnosis.symptoms] == [("a.one",), ("b.two",)]


def outcome_of(*causes, symptoms=(), readings=None) -> Outcome:
    """What the weighing came to, as the causes that speak of it see it."""
    watcher = cause("state.watcher", requires={"o": {"outcome": {}}}, for_={"c": clause({"o": {"outcome": {}}})})
    diagnosis = assess(base(*causes, watcher, symptoms=symptoms), readings or read(thing(1)), engine="plain")
    found = next(one for one in findings(diagnosis) if one.cause.cause == "state.watcher")
    return found.hypothesis.bindings["o"].fact


def test_the_outcome_counts_faults_and_symptoms():
    """Likely and possible faults, symptoms seen, and those that nothing standing explains."""
    causes = [
        cause("a.proof", for_={"c": clause(YES, "conclusive")}, explains=["x"]),
        cause("a.likely", for_={"c": clause(YES)}),
        cause("a.possible", for_={"c": clause(YES, "moderate")}, explains=["y"]),
        cause("a.unlikely"),
        cause("state.one", for_={"c": clause(YES)}, explains=["z"]),
    ]
    symptoms = [symptom(name, YES) for name in "xyz"]

    assert outcome_of(*causes, symptoms=symptoms) == Outcome(
        faults_likely=2, faults_possible=1, symptoms=3, unexplained=1
    )


def test_a_symptom_of_two_subjects_counts_once():
    """It is one question that wants an answer."""
    rule = symptom("x", YES, about="$it.address")

    found = outcome_of(symptoms=[rule], readings=read(thing(1, "a"), thing(2, "b")))

    assert (found.symptoms, found.unexplained) == (1, 1)


def test_an_outcome_that_is_given_is_taken():
    """The examples of rules may state it."""
    given = Outcome(faults_likely=7, faults_possible=0, symptoms=0, unexplained=0)

    assert outcome_of(cause("a.likely", for_={"c": clause(YES)}), readings=read(thing(1), given)) == given


def test_a_cause_that_was_not_proposed_says_why():
    """Not applicable, or not looked for, for causes of the first and of the second round."""
    rules = base(
        cause("a.absent", requires={"b": {"boot": {}}}),
        cause("a.unknown", requires={"p": {"package": {}}}),
        cause("state.late", requires={"o": {"outcome": {"faults_likely": 3}}}),
    )

    assert assess(rules, looked("boot"), engine="plain").not_applicable == {
        "a.absent": "no boot",
        "a.unknown": "not looked: package was not looked for",
        "state.late": "no outcome with faults_likely 3",
    }


def test_what_disagrees_is_told():
    """With the lines that were read on both sides."""
    one, other = (Observed(KernelModule(version=v), Source(f"{v}.txt", 1, 1, v)) for v in "12")
    said = Disagreement(question="the version", one="1 (a)", other="2 (b)")

    found = assess(base(), [one, other, Observed(said, one.source, (one, other))], engine="plain").contradictions

    assert [(c.title, c.evidence) for c in found] == [("the version: 1 (a), but 2 (b)", (one, other))]


def test_what_was_read_and_looked_for_is_kept():
    """The diagnosis carries its evidence, and each observation once."""
    readings = [*read(thing(1)), *partly("boot"), Unread("a", "truncated", "b")]

    diagnosis = assess(base(), [*readings, readings[0]], engine="plain")

    assert diagnosis.observed == (readings[0],)
    assert set(diagnosis.looked) == {one for one in readings if isinstance(one, Looked)}
    assert diagnosis.unread == (readings[-1],)
    assert diagnosis.engine == "plain"


def first(*readings) -> str:
    """The first cause of the shipped rules."""
    return assess(RULES, readings, engine="plain").findings[0].cause.cause


NOTHING_LIKELY = {
    "nothing was looked at": [],
    "everything that was looked at is in order": read(KernelModule(version="590.48.01", reported_by="procfs")),
    "a symptom that nothing explains": read(ProcessError(error="E", text="boom")),
}


@pytest.mark.parametrize("readings", NOTHING_LIKELY.values(), ids=NOTHING_LIKELY)
def test_where_nothing_is_likely_it_says_that_the_evidence_does_not_suffice(readings):
    """Insufficient evidence comes first, before faults that are only possible."""
    assert first(*readings) == "state.insufficient-evidence"


def test_a_job_that_works_is_healthy():
    """The service came up and no rank reports an error."""
    assert first(*read(UP), *looked("process_error", "process_exit", "nccl_warning")) == "state.healthy"


def test_unexplained_symptoms_are_told_apart():
    """A start that did not end has no likely cause here, and is counted."""
    diagnosis = assess(RULES, read(BLOCKED), engine="plain")

    says = [line.says for line in diagnosis.findings[0].hypothesis.ledger if line.clause == "symptoms-unexplained"]
    assert [(one.rule.symptom, one.explained_by) for one in diagnosis.symptoms] == [("start-not-finished", ())]
    assert says == ["1 of 1 symptoms stay unexplained"]


SMALL = base(
    cause(
        "a.one",
        about="$it.address",
        explains=["x"],
        leads_to=["a.two"],
        for_={
            "same": clause(
                {"p": {"package": {"name": "$it.address", "upstream": {"lt": "2"}}}}, otherwise="weak", ask="p"
            ),
            "lone": clause(unless={"o": {"package": {"role": "nccl"}}}, weight="moderate", same="g"),
            "host": clause({"b": {"boot": {"host": {"matches": "^[ab]"}}}}, same="g", ask="q"),
        },
        remedies=[
            {
                "do": "{p.name}",
                "run": "rm {p.name}",
                "undo": "no",
                "verify": "same",
                "when": {"p": {"package": {}}},
            }
        ],
    ),
    cause(
        "a.two", requires={"s": {"symptom": {"id": "x"}}}, explains=["x"], for_={"c": clause({"b": {"boot": {}}})}
    ),
    cause("a.last", explains=["x", "y"], fallback=True, for_={"c": clause(YES, "conclusive")}),
    cause(
        "state.late", requires={"o": {"outcome": {"faults_likely": 0}}}, for_={"c": clause({"o": {"outcome": {}}})}
    ),
    symptoms=[symptom("x", YES, about="$it.address"), symptom("y", {"p": {"package": {}}, "b": {"boot": {}}})],
    probes=[probe("p"), probe("q", seconds=1)],
)

WORDS = st.sampled_from(["a", "b", None])
FACTS = st.one_of(
    st.builds(thing, st.sampled_from([1, 2, None]), WORDS),
    st.builds(Boot, kernel=WORDS, host=WORDS),
    st.builds(
        Package,
        name=st.sampled_from(["a", "b"]),
        version=st.just("1"),
        state=st.just("installed"),
        upstream=st.sampled_from(["1.10", "1.9", "2.1", None]),
        role=st.sampled_from(["nccl", None]),
    ),
)
READINGS = st.lists(
    st.one_of(
        st.builds(
            Observed,
            FACTS,
            st.builds(
                lambda path, line: Source(path, line, line, ""), st.sampled_from(["f", "g"]), st.integers(1, 9)
            ),
        ),
        st.builds(
            lambda kind, whole: Looked(kind, whole, "f"),
            st.sampled_from(["port_conflict", "boot", "package"]),
            st.booleans(),
        ),
    ),
    max_size=8,
)


def shuffled(rules: RuleBase, order: random.Random) -> RuleBase:
    """The same rules in another order."""

    def mixed(table: dict) -> dict:
        return dict(order.sample(list(table.items()), len(table)))

    return RuleBase(causes=mixed(rules.causes), symptoms=mixed(rules.symptoms), probes=mixed(rules.probes))


@settings(derandomize=True, deadline=None, database=None, max_examples=120)
@given(READINGS, st.randoms(use_true_random=False))
def test_the_order_of_facts_and_rules_is_of_no_matter(readings, order):
    """A diagnosis depends on what was seen and what is known, not on what came first."""
    plain = told(assess(SMALL, readings, engine="plain"))

    mixed = order.sample(readings, len(readings))
    assert told(assess(shuffled(SMALL, order), mixed, engine="plain")) == plain


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
@settings(derandomize=True, deadline=None, database=None, max_examples=40)
@given(readings=READINGS)
def test_any_engine_comes_to_the_same(engine, readings):
    """Verdicts, ledgers, remedies and tests do not depend on who did the matching."""
    assert told(assess(SMALL, readings, engine=engine)) == told(assess(SMALL, readings, engine="plain"))


EXAMPLES = [
    pytest.param(example, id=f"{one.cause}::{example.name}")
    for one in RULES.causes.values()
    for example in one.examples
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_any_engine_comes_to_the_same_over_the_examples_of_the_rules(example):
    """All shipped rules over each small machine: the plain engine and the one that is taken by default."""
    readings = example_readings(example)

    assert told(assess(RULES, readings)) == told(assess(RULES, readings, engine="plain"))


@pytest.mark.parametrize(
    ("end", "seen"),
    [("time-limit", True), ("requeued", True), ("cancelled", True), ("preempted", False), ("finished", False)],
)
def test_that_the_scheduler_ended_a_job_is_a_symptom(end, seen):
    """It wants an explanation: a job that hangs is ended at its limit, and so is one that was too long."""
    diagnosis = assess(
        RULES, [Observed(RunEnd(end=end, said_by="scheduler"), Source("job.log", 1, 1, "slurmstepd: error: …"))]
    )

    assert ("ended-by-scheduler" in {one.rule.symptom for one in diagnosis.symptoms}) is seen
