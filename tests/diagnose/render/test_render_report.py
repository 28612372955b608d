"""What the whole of a diagnosis comes to, and which lines carry a hypothesis."""

from __future__ import annotations

from dataclasses import replace

import pytest
import samples

from diagnose.render.evidence import absences, first_line, opposing, supporting, telling, unknowns, unlooked
from diagnose.render.gain import smallest_change
from diagnose.render.gaps import gaps_in_short, unknown_parts
from diagnose.render.report import consequences, outlook, shown, standing_faults
from kb.rule import Cause


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("confirmed", "fault"),
        ("likely", "fault"),
        ("undecided", "undecided"),
        ("healthy", "healthy"),
        ("hostile", "fault"),
    ],
)
def test_outlook(name, expected):
    """A fault stands, all is well, a state explains it, or nothing is decided."""
    assert outlook(samples.SITUATIONS[name]().diagnosis) == expected


def test_without_any_finding_nothing_is_decided():
    """No answer is not a clean bill of health."""
    diagnosis = replace(samples.healthy().diagnosis, findings=())

    assert outlook(diagnosis) == "undecided"


def test_a_state_that_explains_it_is_no_fault():
    """It is what the machine is doing instead."""
    diagnosis = samples.healthy().diagnosis
    cause = samples.HEALTHY.model_copy(update={"cause": "state.loading-slowly"})
    finding = diagnosis.findings[0]
    loading = replace(finding, hypothesis=replace(finding.hypothesis, cause=cause))

    assert outlook(replace(diagnosis, findings=(loading,))) == "state"


def test_a_consequence_is_shown_under_its_root_alone():
    """It is not counted among the faults that stand for themselves."""
    diagnosis = samples.confirmed().diagnosis
    root, consequence = diagnosis.findings

    assert standing_faults(diagnosis) == [root]
    assert consequences(root, diagnosis) == [consequence]


def test_a_consequence_stands_alone_where_its_root_was_left_out():
    """Leaving out what is below a confidence must not hide what is above it."""
    diagnosis = samples.confirmed().diagnosis
    consequence = diagnosis.findings[1]

    assert standing_faults(replace(diagnosis, findings=(consequence,))) == [consequence]


def test_weak_causes_are_shown_only_on_demand():
    """And those that were never proposed not even then."""
    diagnosis = samples.undecided().diagnosis
    unproposed = replace(
        diagnosis.weaker[0], hypothesis=replace(diagnosis.weaker[0].hypothesis, verdict="not-applicable")
    )
    diagnosis = replace(diagnosis, weaker=(*diagnosis.weaker, unproposed))

    assert shown(diagnosis, everything=False) == diagnosis.findings
    assert shown(diagnosis, everything=True) == (*diagnosis.findings, diagnosis.weaker[0])


def test_a_probe_is_found_by_name_or_by_what_it_brings():
    """A clause whose author named no probe still gets a command."""
    report = samples.likely()

    assert report.commands_of("kernel-log") == ("dmesg --color=never > dmesg.txt",)
    assert report.commands_of(None, ("iommu_group",)) == ("grep -H . /sys/kernel/iommu_groups/*/type",)
    assert report.commands_of("no-such-probe", ("iommu_group",)) == ()
    assert report.commands_of(None, ("no_such_kind",)) == ()


def places(lines):
    return [(one.source.path, one.source.line, one.weight, one.clauses) for one in lines]


def test_evidence_is_strongest_first_and_each_line_once():
    """A line that serves two clauses carries the weight of the heavier and the names of both."""
    assert places(supporting(samples.likely_hypothesis())) == [
        ("var/log/dmesg.txt", 10, 20, ("fault-names-a-gpu",)),
        ("var/log/dmesg.txt", 11, 20, ("fault-names-a-gpu",)),
        ("p2p.txt", 7, 10, ("all-elements-wrong", "requires")),
    ]


def test_every_true_clause_keeps_a_line_however_few_are_wanted():
    """A limit drops repetitions, never a clause."""
    assert places(supporting(samples.likely_hypothesis(), limit=1)) == [
        ("var/log/dmesg.txt", 10, 20, ("fault-names-a-gpu",)),
        ("p2p.txt", 7, 10, ("all-elements-wrong", "requires")),
    ]


def test_at_most_twelve_lines_are_evidence():
    """An aggregate over a log rests on many lines; the first of them are enough."""
    copies = tuple(
        samples.read(samples.BAD_COPY.fact, "many.txt", number, f"peer copy {number}") for number in range(1, 40)
    )
    hypothesis = samples.likely_hypothesis()
    ledger = (replace(hypothesis.ledger[0], evidence=copies), *hypothesis.ledger[1:])

    lines = supporting(replace(hypothesis, ledger=ledger))
    assert len(lines) == 12
    assert places(lines)[-1] == ("p2p.txt", 7, 10, ("all-elements-wrong", "requires"))


def test_the_lines_that_tell_come_from_different_files_first():
    """Facts of several files complete each other; lines of one file repeat each other."""
    hypothesis = samples.confirmed().diagnosis.findings[0].hypothesis

    assert [one.source.path for one in telling(hypothesis)] == [
        "libs.txt",
        "ldconfig.txt",
        "proc_driver_nvidia_version.txt",
        "server.log",
    ]


def test_what_is_no_line_of_a_file_is_not_quoted():
    """The outcome of the weighing supports a state, but it is no evidence to look at."""
    hypothesis = samples.undecided().diagnosis.findings[0].hypothesis

    assert [one.source.path for one in supporting(hypothesis)] == ["the weighing of all faults"]
    assert telling(hypothesis) == []


def test_an_absence_names_the_places_that_were_looked_at():
    """False means: looked, and not there."""
    (absence,) = absences(samples.likely_hypothesis(), samples.likely().diagnosis.looked)

    assert absence.line.clause == "gpu-memory-errors"
    assert absence.kinds == ("gpu_oom",)
    assert absence.where == ("server.log", "var/log/dmesg.txt")


def test_true_clauses_against_it_are_opposing_lines():
    """With a negative weight."""
    hypothesis = samples.likely_hypothesis()
    against = samples.judged(samples.IOMMU, "gpu-memory-errors", "true", "so", (samples.BEGIN,))

    assert opposing(hypothesis) == []
    assert places(opposing(replace(hypothesis, ledger=(against,)))) == [
        ("server.log", 7, -10, ("gpu-memory-errors",))
    ]


def test_unknown_clauses_are_ordered_by_what_they_could_move():
    """And name the kinds that were not looked for completely."""
    hypothesis, looked = samples.likely_hypothesis(), samples.likely().diagnosis.looked
    lines = unknowns(hypothesis)

    assert [(line.clause, line.could_add) for line in lines] == [
        ("gpu-domain-translates", 60),
        ("staged-copy-is-right", 30),
    ]
    assert unlooked(lines[0], hypothesis, looked) == ("iommu_group",)


def test_the_smallest_change_takes_the_heaviest_clauses_first():
    """As few as are needed, and no more."""
    gains, reached = smallest_change(samples.acs_finding().hypothesis)

    assert [(gain.line.clause, gain.decibans) for gain in gains] == [("bridge-redirects", 20)]
    assert reached == 20


def test_one_conclusive_clause_is_enough():
    """It confirms by itself, whatever the score."""
    unknown = samples.judged(samples.USERSPACE, "resolved-library-differs", "unknown", unknown="not looked for")
    hypothesis = samples.hypothesis(samples.USERSPACE, "possible", {}, unknown)

    gains, reached = smallest_change(hypothesis)
    assert [gain.conclusive for gain in gains] == [True]
    assert reached == 10


def test_of_one_group_only_one_clause_can_add():
    """Clauses that share a source do not add up."""
    raw = {"when": {"a": {"gpu": None}}, "weight": "moderate", "same": "log", "says": "s"}
    cause = Cause.model_validate({
        "cause": "a.b", "title": "t", "status": "stable", "prior": "common", "because": "b",
        "requires": {"m": {"gpu": None}}, "for": {"one": raw, "two": raw},
    })  # fmt: skip
    hypothesis = samples.hypothesis(
        cause, "possible", {}, *(samples.judged(cause, name, "unknown") for name in ("one", "two"))
    )

    gains, reached = smallest_change(hypothesis)
    assert [gain.line.clause for gain in gains] == ["one"]
    assert reached == 0


CUT_LOG = "the kernel log is cut or does not go back to the boot: an earlier fault can't be ruled out"


def test_gaps_are_named_once_for_each_kind_and_reason():
    """With what follows from them."""
    assert unknown_parts(samples.confirmed().diagnosis) == [
        {
            "what": "iommu fault in dmesg.txt, kern.log",
            "reason": "truncated",
            "consequence": CUT_LOG,
        },
        {
            "what": "nvidia-bug-report.log.gz",
            "reason": "unreadable",
            "consequence": "its forty sections are missing: the gzip data end early",
        },
    ]


def test_a_gap_in_a_kind_of_which_there_are_facts_means_that_there_may_be_more():
    """It must not read as if nothing had been found."""
    (gap,) = unknown_parts(samples.likely().diagnosis)

    assert gap["consequence"] == "there may be more than was read"


def test_in_short_what_was_read_whole_elsewhere_is_no_gap():
    """A ring buffer that wrapped does not matter where procfs answered."""
    diagnosis = samples.likely().diagnosis
    whole = replace(diagnosis.looked[0], kind="peer_copy", where="other.txt")
    diagnosis = replace(diagnosis, looked=(*diagnosis.looked, whole))

    assert len(unknown_parts(diagnosis)) == 1
    assert gaps_in_short(diagnosis) == []


def test_the_line_that_says_most_of_what_its_clause_says_comes_first():
    """An aggregate may rest on lines that only lead up to it."""
    texts = ("NCCL INFO Bootstrap timings", "NCCL INFO ncclCommInitRank rank 0 - Init START")
    lines = tuple(
        samples.read(samples.BEGIN.fact, "nccl.log", number, text) for number, text in enumerate(texts, 1)
    )
    true = samples.judged(samples.BLOCKED, "init-not-complete", "true", "4 of 4 ranks logged Init START", lines)
    hypothesis = samples.hypothesis(samples.BLOCKED, "likely", {}, true)

    assert [one.source.line for one in telling(hypothesis)] == [2, 1]
    assert first_line(true)[0].line == 2


def test_no_clause_takes_all_the_room():
    """Beyond the first line of each clause, clauses take turns."""
    many = tuple(samples.read(samples.BEGIN.fact, "a.txt", number, "a") for number in range(1, 30))
    few = tuple(samples.read(samples.BEGIN.fact, "b.txt", number, "b") for number in range(1, 4))
    hypothesis = samples.hypothesis(
        samples.BLOCKED,
        "likely",
        {},
        samples.judged(samples.BLOCKED, "init-not-complete", "true", "so", many),
        samples.judged(samples.BLOCKED, "memory-is-flat", "true", "so", few),
    )

    assert [one.source.path for one in supporting(hypothesis)] == ["a.txt"] * 9 + ["b.txt"] * 3
