"""The text report as a tired engineer sees it: whole snapshots, and what must hold of every one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import samples

from diagnose.render.blocks import quotes
from diagnose.render.evidence import Cited
from diagnose.render.layout import show
from diagnose.render.neutral import terminal
from diagnose.render.text import render_text
from engine.result import Finding, Rival
from kb.evidence import Looked, Observed, Source
from kb.facts.driver import NvmlError

BEFORE_COMMANDS = 24
HEADS = ("HOW SURE", "THE LINES", "RUN THIS", "IT WORKED IF", "NOT LOOKED AT")


def text_of(printed, report, width=80, **options):
    return printed(lambda console: render_text(report, console, **options), width)


@pytest.mark.parametrize("name", samples.SITUATIONS)
def test_text_at_80_columns(name, printed, snapshot):
    """The whole report, line by line."""
    snapshot(f"{name}.txt", text_of(printed, samples.SITUATIONS[name]()))


@pytest.mark.parametrize("name", samples.SITUATIONS)
def test_one_line_a_cause(name, printed, snapshot):
    """What --quiet prints."""
    snapshot(f"{name}.quiet.txt", text_of(printed, samples.SITUATIONS[name](), quiet=True))


@pytest.mark.parametrize("name", ["confirmed", "likely", "hostile"])
def test_the_first_screen_answers_in_order(name, printed):
    """What is wrong, how sure, the lines, what to run, how to see that it worked, what was not looked at."""
    text = text_of(printed, samples.SITUATIONS[name]())
    places = [text.index(f"\n{head}") for head in HEADS]

    assert places == sorted(places)


@pytest.mark.parametrize("name", ["confirmed", "likely", "hostile"])
def test_commands_come_early(name, printed):
    """No more than 24 lines stand before the first of them."""
    report = samples.SITUATIONS[name]()
    command = report.diagnosis.findings[0].remedies[0].run[0].split("=")[0]
    lines = text_of(printed, report).split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith(f"    {command}"))

    assert first <= BEFORE_COMMANDS


@pytest.mark.parametrize("name", samples.SITUATIONS)
@pytest.mark.parametrize("width", [50, 80, 110])
def test_lines_fit_the_width(name, width, printed):
    """All but commands, which must be copied whole."""
    report = samples.SITUATIONS[name]()
    offers = [offer for finding in report.diagnosis.findings for offer in finding.remedies]
    whole = [command for offer in offers for command in (*offer.run, *offer.undo, *offer.check)]
    whole += [command for probe in samples.PROBES.values() for command in probe.run]
    whole = {part for command in whole for part in terminal(command).split("\n")}
    lines = [
        one.strip().removeprefix("Undo: ")
        for one in text_of(printed, report, width).split("\n")
        if len(one) > width
    ]
    long = [one for one in lines if one not in whole]

    assert long == []


@pytest.mark.parametrize("name", samples.SITUATIONS)
def test_nothing_reaches_a_terminal_that_it_would_obey(name, printed):
    """Printable lines alone, whatever stands in the evidence."""
    text = text_of(printed, samples.SITUATIONS[name](), everything=True)

    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text) is None


def test_markup_in_evidence_is_text(printed):
    """A log line in brackets is no colour."""
    assert "[bold red]fine[/]" in text_of(printed, samples.hostile())


def test_a_line_break_in_a_value_does_not_make_a_command(printed):
    """It shows as an escape within the command that it tried to end."""
    text = text_of(printed, samples.hostile())

    assert r"    export X=\x1b[2J\x1b]0;owned\x07[bold red]fine[/] ```\n# no" in text
    assert "\n    # no" not in text


def test_a_command_of_several_lines_stays_as_its_author_wrote_it(printed):
    """A script of a probe is printed line by line."""
    probe = samples.PEER_COPY.model_copy(update={"run": ("python3 - <<'PY'\nprint(1)\nPY\n",), "seconds": 300})
    report = samples.undecided()
    test = replace(report.diagnosis.next_tests[0], probe=probe, commands=probe.run)
    report = replace(report, diagnosis=replace(report.diagnosis, next_tests=(test,)))

    assert "       python3 - <<'PY'\n       print(1)\n       PY\n" in text_of(printed, report)
    assert "     5 min · restarts the job\n" in text_of(printed, report)


def test_without_a_likely_fault_the_first_line_says_so(printed):
    """Plainly, before anything else."""
    assert text_of(printed, samples.healthy()).startswith("NO FAULT FOUND  ")
    assert text_of(printed, samples.undecided()).startswith("THE EVIDENCE CAN'T TELL  ")


def test_without_anything_it_is_no_clean_bill_of_health(printed):
    """Nothing seen and nothing known are two things; the way on is to collect."""
    report = samples.healthy()
    report = replace(report, diagnosis=replace(report.diagnosis, findings=(), looked=()))

    assert text_of(printed, report) == (
        "NO FAULT FOUND  But the evidence does not suffice to call the machine healthy.\n"
        "\n"
        "RUN THIS NEXT  Collect on the machine itself while the fault is there.\n"
        "    diagnose collect\n"
        "\n"
        "diagnose 0.1.0 · plain engine · 64 facts · 9 files · 0.2 s\n"
    )


def with_second(report, second, **of_first):
    first, *rest = report.diagnosis.findings
    return replace(
        report, diagnosis=replace(report.diagnosis, findings=(replace(first, **of_first), second, *rest))
    )


def test_a_separate_fault_is_announced_on_the_first_screen(printed):
    """And has its own lines and remedy below."""
    second = samples.likely().diagnosis.findings[0]
    text = text_of(printed, with_second(samples.confirmed(), second))

    assert f"  A separate fault, below: {samples.IOMMU.title[:40]}" in text[: text.index("HOW SURE")]
    assert "a separate fault\n" in text[text.index("NOT LOOKED AT") :]
    assert text.count("    export NCCL_P2P_DISABLE=1\n") == 1


def test_a_rival_that_stands_is_announced_with_its_margin(printed):
    """Two answers to one question are not two faults."""
    second = samples.confirmed().diagnosis.findings[1]
    rival = Rival(second.cause.cause, second.cause.title, "likely", 5)
    second = replace(second, consequence_of=None)
    text = text_of(printed, with_second(samples.likely(), second, rivals=(rival,)))

    assert "  Rival (5 behind): Communicator set-up started" in text[: text.index("HOW SURE")]
    assert "rival of the first, 5 behind" in text
    assert "OTHER EXPLANATIONS" not in text


def test_the_same_cause_elsewhere_is_named_in_one_line(printed):
    """Eight GPUs with one fault are one story."""
    first = samples.likely().diagnosis.findings[0]
    about = "GPU 0000:41:00.0"
    other = replace(first, hypothesis=replace(first.hypothesis, about=about), subjects=(about,))
    text = text_of(printed, with_second(samples.likely(), other))

    assert "  The same for GPU 0000:41:00.0\n" in text[: text.index("HOW SURE")]
    assert "THE SAME ELSEWHERE  GPU 0000:41:00.0 (likely)\n" in text
    assert " ".join(text.split()).count(first.cause.title) == 1


def test_a_fault_without_a_remedy_shows_the_next_test_instead(printed):
    """There is always something to run."""
    report = samples.likely()
    first = replace(report.diagnosis.findings[0], remedies=())
    report = replace(report, diagnosis=replace(report.diagnosis, findings=(first,)))
    text = text_of(printed, report)

    assert "RUN THIS  No remedy is known for this machine.\n  1  Read the domain type" in text


def test_a_contradictory_finding_is_said_loudly(printed):
    """A proof and a refutation of one cause mean that a source or a rule is wrong."""
    report = samples.undecided()
    finding = report.diagnosis.findings[1]
    both = replace(finding, hypothesis=replace(finding.hypothesis, verdict="contradictory"))
    text = text_of(printed, replace(report, diagnosis=replace(report.diagnosis, findings=(both,))))

    assert "CONTRADICTIONS\n       !  One line proves nccl.init-blocked and another refutes it" in text


def test_everything_shows_the_weaker_causes(printed):
    """With score and verdict."""
    text = text_of(printed, samples.undecided(), everything=True)

    assert "WEAKER\n       0  PCIe access control sends" in text


def test_a_short_room_shows_more_lines_rather_than_longer_ones(printed):
    """And a line that is cut keeps the name of the event in sight."""
    lines = [Cited(one.source, one.fact, 20, ()) for one in (*samples.FAULTS.basis, samples.BAD_COPY)]
    text = printed(lambda console: show(quotes(lines, 80, 6), console))

    assert [line.strip() for line in text.split("\n")[::2] if line] == [
        "var/log/dmesg.txt:10",
        "var/log/dmesg.txt:11",
        "p2p.txt:7",
    ]
    assert text.count("IO_PAGE_FAULT") == 2


def test_a_machine_without_a_gpu_is_told_so(printed):
    """Nothing is asked of it but whether it is the right machine."""
    report = samples.undecided()
    absent = samples.hypothesis(
        samples.INSUFFICIENT,
        "likely",
        {},
        replace(
            samples.judged(samples.INSUFFICIENT, "unexplained", "true", "no GPU is listed"), clause="no-gpu-here"
        ),
    )
    diagnosis = replace(report.diagnosis, symptoms=(), findings=(Finding(absent, 0.9),))

    text = text_of(printed, replace(report, diagnosis=diagnosis))

    assert text.startswith("NO NVIDIA GPU HERE  This machine has none, so that nothing can be said of one.\n")
    assert "lspci -nn -d 10de:" in text
    assert "NEXT TESTS" not in text


def test_an_error_that_nothing_explains_is_no_clean_bill(printed):
    """Its code stands among what is seen, and the headline does not say that no fault was found."""
    report = samples.undecided()
    error = Observed(NvmlError(problem="version-mismatch", tool="nvidia-smi"), Source("a.txt", 5, 5, "mismatch"))
    diagnosis = replace(
        report.diagnosis, symptoms=(), findings=report.diagnosis.findings[:1], observed=(error,), looked=()
    )

    text = text_of(printed, replace(report, diagnosis=diagnosis))

    assert text.startswith("THE EVIDENCE CAN'T TELL  Errors are there that no cause known here explains.\n")
    assert "NVML error 18" in text.partition("RUN THIS NEXT")[0]


@pytest.mark.parametrize(
    ("reason", "told"), [("not-collected", False), ("no-permission", True), ("truncated", True)]
)
def test_only_what_kept_somebody_from_looking_is_a_gap(printed, reason, told):
    """That a listing was only ever of a part is in the JSON."""
    report = samples.undecided()
    partly = (Looked("gpu_modes", False, "smi.txt", reason),)

    text = text_of(printed, replace(report, diagnosis=replace(report.diagnosis, looked=partly, unread=())))

    assert ("gpu modes in smi.txt" in text) is told
