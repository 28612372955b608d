"""What changed between bodies of evidence, and what that tells: no more than what was looked at on both sides."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose import compare as comparing
from diagnose.compare import Change, compare
from diagnose.output import on_console
from diagnose.render.comparison import comparison_json, render_comparison
from diagnose.render.report import Report, Stats
from engine.session import assess
from kb.evidence import Looked, Observed, Reading, Source
from kb.facts import Fact
from kb.facts.driver import KernelModule
from kb.facts.framework import PortConflict, ProcessExit, StartProgress
from kb.facts.gpu import Gpu
from kb.facts.packages import Package
from kb.facts.settings import EffectiveSetting
from kb.rule import Cause, RuleBase, SymptomRule

FAULT = Cause.model_validate(
    {
        "cause": "a.fault",
        "title": "It is broken",
        "status": "stable",
        "prior": "common",
        "explains": ["job-failed", "port-taken"],
        "because": "it is so",
        "requires": {"m": {"kernel_module": {}}},
        "for": {
            "old": {"when": {"m": {"kernel_module": {"version": "1"}}}, "weight": "strong", "says": "it is old"},
            "port": {"when": {"p": {"port_conflict": {}}}, "weight": "strong", "says": "the port is taken"},
        },
        "against": {"gone": {"when": {"p": {"package": {}}}, "weight": "strong", "says": "a package is there"}},
        "remedies": [
            {"do": "around", "run": "export AROUND=1", "lasting": False, "undo": "no", "verify": "old"},
            {"do": "mend", "run": "export MENDED=1", "undo": "no", "verify": "old"},
        ],
    }
)
BETTER = Cause.model_validate(
    {
        "cause": "b.better",
        "title": "It is another",
        "status": "stable",
        "prior": "common",
        "explains": ["job-failed"],
        "because": "it is so",
        "requires": {"e": {"process_exit": {}}},
        "for": {
            "code": {"when": {"e": {"process_exit": {"exit_code": 9}}}, "weight": "conclusive", "says": "code 9"}
        },
    }
)
SYMPTOMS = [
    SymptomRule.model_validate({"symptom": name, "title": title, "when": {"e": {kind: {}}}, "says": "seen"})
    for name, title, kind in (
        ("job-failed", "The job failed", "process_exit"),
        ("port-taken", "Port taken", "port_conflict"),
    )
]
RULES = RuleBase(
    causes={one.cause: one for one in (FAULT, BETTER)}, symptoms={s.symptom: s for s in SYMPTOMS}, probes={}
)

OLD, NEW = KernelModule(version="1"), KernelModule(version="2")
EXIT = ProcessExit(exit_code=1)


def evidence(*facts: Fact, looked: str = "", partly: str = "") -> list[Reading]:
    """The facts, each of whose kinds was looked for completely unless it is named among `partly`."""
    observed = [Observed(fact, Source("a.txt", line, line, f"line {line}")) for line, fact in enumerate(facts, 1)]
    kinds = [*{fact.kind for fact in facts}, *looked.split()]
    return [*observed, *(Looked(kind, kind not in partly.split(), "a.txt") for kind in (*kinds, *partly.split()))]


@pytest.fixture
def step(monkeypatch):
    """One step between two bodies of evidence, under the rules above."""

    def made(before: list[Reading], after: list[Reading], rules: RuleBase = RULES) -> Any:
        reports = {
            name: Report(assess(rules, readings, engine="plain"), (), "0", Stats(0, 0, 0, 0, 0, "plain"))
            for name, readings in (("x/before", before), ("x/after", after))
        }
        monkeypatch.setattr(comparing, "explain", lambda paths, _: reports[paths[0]])
        return compare(list(reports))

    return made


def facts_of(comparison) -> list[tuple[str, str | None, str | None]]:
    return [(change.subject, change.before, change.after) for change in comparison.steps[0].facts]


GPU = Gpu(index=0, bdf="0000:41:00.0", name="H")

CHANGES = {
    "nothing": (evidence(OLD), evidence(OLD), []),
    "a value": (evidence(OLD), evidence(NEW), [("kernel module nvidia", "version 1", "version 2")]),
    "only the field that differs is told": (
        evidence(KernelModule(version="1", flavour="open")),
        evidence(KernelModule(version="2", flavour="open")),
        [("kernel module nvidia", "version 1", "version 2")],
    ),
    "what is known on one side only is no change": (
        evidence(GPU),
        evidence(Gpu(index=0, bdf="0000:41:00.0", name="H", uuid="GPU-1")),
        [],
    ),
    "what was known on one side only is no change": (
        evidence(Gpu(index=0, bdf="0000:41:00.0", name="H", uuid="GPU-1")),
        evidence(GPU),
        [],
    ),
    "who reports it is no change": (evidence(OLD), evidence(KernelModule(version="1", reported_by="sysfs")), []),
    "two reports of one thing are put together": (
        evidence(KernelModule(version="1"), KernelModule(flavour="open")),
        evidence(KernelModule(version="1"), KernelModule(flavour="proprietary")),
        [("kernel module nvidia", "flavour open", "flavour proprietary")],
    ),
    "it came": (
        evidence(looked="kernel_module"),
        evidence(OLD),
        [("kernel module nvidia", None, "version 1")],
    ),
    "it went": (evidence(OLD), evidence(looked="kernel_module"), [("kernel module nvidia", "version 1", None)]),
    "a thing without values went": (
        evidence(KernelModule()),
        evidence(looked="kernel_module"),
        [("kernel module nvidia", "there", None)],
    ),
    "nobody looked before": (evidence(), evidence(OLD), []),
    "nobody looks again": (evidence(OLD), evidence(), []),
    "looked again in part": (evidence(OLD), evidence(partly="kernel_module"), []),
    "one of several went": (
        evidence(GPU, Gpu(index=1)),
        evidence(GPU),
        [("gpu 1", "there", None)],
    ),
    "one of several went, and only a part was looked at": (
        evidence(GPU, Gpu(index=1)),
        evidence(GPU, partly="gpu"),
        [],
    ),
    "what describes no state": (evidence(EXIT), evidence(ProcessExit(exit_code=2)), []),
}


@pytest.mark.parametrize(("before", "after", "changes"), CHANGES.values(), ids=CHANGES)
def test_what_changed(step, before, after, changes):
    """A value that is known on both sides, or a thing that was looked for and is not there."""
    assert facts_of(step(before, after)) == changes


def test_a_change_cites_both_sides(step):
    """The line before and the line after."""
    change = step(evidence(OLD), evidence(EXIT, NEW)).steps[0].facts[0]

    assert isinstance(change, Change)
    assert [(one.fact, one.source.line) for one in change.evidence] == [(OLD, 1), (NEW, 2)]


LOOKS = {
    "the same on both sides": (evidence(OLD), evidence(NEW), (), ()),
    "for the first time": (evidence(), evidence(OLD), ("kernel_module",), ()),
    "not again": (evidence(OLD), evidence(), (), ("kernel_module",)),
    "again, and nothing is there": (evidence(OLD), evidence(looked="kernel_module"), (), ()),
    "again, in part": (evidence(OLD), evidence(partly="kernel_module"), (), ("kernel_module",)),
    "a kind that describes no state": (evidence(), evidence(EXIT), (), ()),
}


@pytest.mark.parametrize(("before", "after", "first", "not_again"), LOOKS.values(), ids=LOOKS)
def test_what_was_not_looked_at_on_both_sides_is_told(step, before, after, first, not_again):
    """It is no change, and it may hide one."""
    one = step(before, after).steps[0]

    assert (one.looked_at_first, one.not_looked_at_again) == (first, not_again)


STUCK = StartProgress(framework="vllm", stage="weights", state="unfinished", ranks_begun=1, ranks_ended=0)
TAKEN = PortConflict(port=1)

FATES = {
    "came": (evidence(NEW), evidence(OLD), "came", "it is old"),
    "stayed": (evidence(OLD), evidence(OLD), "stayed", "it is old"),
    "looked at again, and no longer so": (
        evidence(OLD),
        evidence(NEW),
        "went",
        "looked at again, and no longer so: old",
    ),
    "the requirement was looked for, and is not there": (
        evidence(OLD),
        evidence(looked="kernel_module"),
        "went",
        "no kernel_module",
    ),
    "nobody looked again": (evidence(OLD), evidence(), "went", "not looked: kernel_module was not looked for"),
    "something speaks against it now": (
        evidence(OLD),
        evidence(OLD, Package(name="p", version="1", state="installed")),
        "went",
        "a package is there",
    ),
    "less is known": (
        evidence(NEW, TAKEN),
        evidence(NEW),
        "went",
        "not shown to be gone: port_conflict was not looked for; package was not looked for",
    ),
}


@pytest.mark.parametrize(("before", "after", "fate", "why"), FATES.values(), ids=FATES)
def test_what_became_of_a_cause(step, before, after, fate, why):
    """It came, stayed or went, and why."""
    one = step(before, after).steps[0].causes[0]

    assert (one.cause, one.title, one.fate, one.why) == ("a.fault", "It is broken", fate, why)


def test_a_fallback_that_gives_way_says_to_whom(step):
    """The other explains what it explained."""
    rules = RULES.model_copy(
        update={"causes": {"a.fault": FAULT.model_copy(update={"fallback": True}), "b.better": BETTER}}
    )

    one = step(evidence(OLD, EXIT), evidence(OLD, ProcessExit(exit_code=9)), rules).steps[0]

    assert [(c.cause, c.fate) for c in one.causes] == [("a.fault", "went"), ("b.better", "came")]
    assert one.causes[0].why == "b.better explains what it explained"
    assert one.story == ("Now first: b.better: It is another.",)


SAID = "a.fault was real and is repaired, and it was not what caused this: The job failed."

STORIES = {
    "repaired, and the symptom stays": (evidence(OLD, EXIT), evidence(NEW, EXIT), [SAID]),
    "the requirement is gone, and the symptom stays": (
        evidence(OLD, EXIT),
        evidence(EXIT, looked="kernel_module"),
        [SAID],
    ),
    "repaired, and the symptom goes": (
        evidence(OLD, EXIT),
        evidence(NEW, looked="process_exit"),
        ["No longer so: The job failed."],
    ),
    "repaired, and the symptom was not looked at again": (
        evidence(OLD, EXIT),
        evidence(NEW),
        ["Not looked at again: The job failed."],
    ),
    "repaired, and the symptom was looked at in part": (
        evidence(OLD, EXIT),
        evidence(NEW, partly="process_exit"),
        ["Not looked at again: The job failed."],
    ),
    "nobody looked again": (evidence(OLD, EXIT), evidence(EXIT), []),
    "something speaks against it now": (
        evidence(OLD, EXIT),
        evidence(OLD, EXIT, Package(name="p", version="1", state="installed")),
        [],
    ),
    "less is known": (evidence(NEW, TAKEN, EXIT), evidence(NEW, EXIT), ["Not looked at again: Port taken."]),
    "worked around": (
        evidence(OLD, EXIT),
        evidence(NEW, EXIT, EffectiveSetting(name="AROUND", value="1", origin="launch")),
        ["a.fault is worked around, not repaired: AROUND=1 is set now."],
    ),
    "another value is no workaround": (
        evidence(OLD, EXIT),
        evidence(NEW, EXIT, EffectiveSetting(name="AROUND", value="0", origin="launch")),
        [SAID],
    ),
    "what was set before is no workaround": (
        evidence(OLD, EXIT, EffectiveSetting(name="AROUND", value="1", origin="launch")),
        evidence(NEW, EXIT, EffectiveSetting(name="AROUND", value="1", origin="launch")),
        [SAID],
    ),
    "a lasting remedy is no workaround": (
        evidence(OLD, EXIT),
        evidence(NEW, EXIT, EffectiveSetting(name="MENDED", value="1", origin="launch")),
        [SAID],
    ),
    "it stays": (evidence(OLD), evidence(OLD), []),
}


@pytest.mark.parametrize(("before", "after", "story"), STORIES.values(), ids=STORIES)
def test_what_a_step_tells(step, before, after, story):
    """Only what was looked at again is said to be repaired or gone."""
    assert list(step(before, after).steps[0].story) == story


def test_of_several_subjects_the_strongest_speaks(step):
    """One line for each cause."""
    rules = RULES.model_copy(update={"causes": {"a.fault": FAULT.model_copy(update={"about": "$m.name"})}})
    readings = evidence(KernelModule(name="other", version="2"), KernelModule(name="nvidia", version="1"), TAKEN)

    one = step(readings, readings, rules).steps[0]

    assert [(c.cause, c.why) for c in one.causes] == [("a.fault", "it is old")]


def test_the_names_of_inputs_tell_them_apart(step):
    """Not more of the path than that."""
    comparison = step(evidence(OLD), evidence(NEW))

    assert comparison.names == ("before", "after")
    assert (comparison.steps[0].before, comparison.steps[0].after) == ("before", "after")


def test_a_comparison_as_json(step):
    """Each report, and each step with its sources."""
    value = comparison_json(step(evidence(OLD, EXIT), evidence(NEW, EXIT)))

    assert value["schema"] == "diagnose.comparison/1"
    assert value["inputs"] == ["before", "after"]
    assert [report["schema"] for report in value["reports"]] == ["diagnose.report/1"] * 2
    (one,) = value["steps"]
    assert one["story"] == [SAID]
    assert one["causes"] == [
        {"id": "a.fault", "title": "It is broken", "fate": "went", "why": "looked at again, and no longer so: old"}
    ]
    assert one["symptoms"] == {"job-failed": "stayed"}
    assert one["facts"] == [
        {
            "subject": "kernel module nvidia",
            "before": "version 1",
            "after": "version 2",
            "sources": [{"path": "a.txt", "line": 1, "end_line": 1, "sha256": ""}] * 2,
        }
    ]


def shown(comparison) -> list[str]:
    return on_console(None, lambda console: render_comparison(comparison, console)).splitlines()


def test_a_comparison_as_text(step):
    """The answer of each, what the step tells, the causes, the facts."""
    assert shown(step(evidence(OLD, EXIT), evidence(NEW, EXIT))) == [
        "before: a.fault (likely)",
        "after: nothing likely",
        "",
        "From before to after",
        "  a.fault was real and is repaired, and it was not what caused this: The job",
        "  failed.",
        "  - a.fault went: looked at again, and no longer so: old",
        "    kernel module nvidia: version 1 → version 2",
    ]


def test_a_step_in_which_nothing_changed_says_so(step):
    """And lists what could not be compared."""
    assert shown(step(evidence(NEW), evidence()))[3:] == [
        "From before to after",
        "  Nothing that counts has changed.",
        "    not looked at again: kernel module",
    ]


def test_many_changes_are_cut_and_counted(step):
    """All of them are in the JSON."""
    before = evidence(*(Gpu(index=number) for number in range(30)))

    comparison = step(before, evidence(looked="gpu"))

    assert shown(comparison)[-1] == "    and 10 more facts: --format json"
    assert len(comparison_json(comparison)["steps"][0]["facts"]) == 30
