"""The command line: exit codes as promised, the result alone on standard output, one line for what is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from diagnose import __version__, cli
from diagnose.cli import exit_status, newest_bundle
from engine.result import Diagnosis, Finding, Hypothesis
from kb.errors import InputError
from kb.rule import Cause

STORIES = Path(__file__).parent.parent / "stories"
MISMATCH = str(STORIES / "driver-split")
HEALTHY = str(STORIES / "peer-access-off")
PROGRAM = [sys.executable, "-c", "from diagnose.cli import run; run()"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.fixture
def run(capsys, monkeypatch):
    """The command line with these arguments: exit status, standard output, standard error."""

    def ran(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["diagnose", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return ran


@pytest.fixture
def prose(tmp_path) -> Path:
    """Evidence that tells nothing."""
    (tmp_path / "mail.txt").write_text("it hangs, please help\n")
    return tmp_path / "mail.txt"


def test_a_fault_ends_with_one(run):
    """At least one with a confidence of one half."""
    status, out, err = run("explain", MISMATCH)

    assert (status, err) == (1, "")
    assert "driver.userspace-kernel-mismatch" in out


def test_a_healthy_machine_ends_with_zero(run):
    """No fault, and the evidence shows that the job works."""
    status, out, err = run("explain", HEALTHY)

    assert (status, err) == (0, "")
    assert "state.healthy" in out or "works" in out


def test_evidence_that_does_not_suffice_ends_with_three(run, prose):
    """No fault, and nothing that shows that all is well."""
    status, out, err = run("explain", prose)

    assert (status, err) == (3, "")
    assert out.startswith("NOTHING UNDERSTOOD")


def finding(name: str, verdict: str, confidence: float) -> Finding:
    rule = {"cause": name, "title": "t", "status": "stable", "prior": "common", "because": "b"}
    one = Cause.model_validate({**rule, "requires": {"b": {"boot": {}}}})
    return Finding(Hypothesis(one, "machine", {}, (), -10, 0, verdict), confidence)


def diagnosis(*findings: Finding) -> Diagnosis:
    return Diagnosis((), findings, (), (), (), (), (), (), "plain", 0)


STATUSES = {
    "a likely fault": ([("a.b", "likely", 0.7)], 1),
    "a fault that stands and a state": ([("a.b", "confirmed", 0.97), ("state.c", "likely", 0.7)], 1),
    "a possible fault of one half": ([("a.b", "possible", 0.5)], 1),
    "a possible fault": ([("a.b", "possible", 0.49)], 3),
    "a possible fault beside health": ([("state.healthy", "likely", 0.7), ("a.b", "possible", 0.3)], 0),
    "health": ([("state.healthy", "likely", 0.9)], 0),
    "something harmless": ([("state.loading-slowly", "likely", 0.9)], 0),
    "insufficient evidence": ([("state.insufficient-evidence", "likely", 0.9)], 3),
    "insufficient evidence beside something harmless": (
        [("state.insufficient-evidence", "likely", 0.9), ("state.rank0-only-message", "likely", 0.7)],
        3,
    ),
    "something harmless before insufficient evidence": (
        [("state.rank0-only-message", "likely", 0.9), ("state.insufficient-evidence", "likely", 0.7)],
        3,
    ),
    "nothing": ([], 3),
}


@pytest.mark.parametrize(("findings", "status"), STATUSES.values(), ids=STATUSES)
def test_exit_status(findings, status):
    """0: no fault, and shown so. 1: a fault of at least one half. 3: it can't be told."""
    assert exit_status(diagnosis(*(finding(*one) for one in findings))) == status


@pytest.fixture
def places(tmp_path) -> dict[str, Path]:
    """Inputs and rules that can't be used."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    os.mkfifo(tmp_path / "pipe")
    broken = tmp_path / "broken" / "causes" / "a" / "b.yaml"
    broken.parent.mkdir(parents=True)
    broken.write_text("cause: a.b\ntitle: [\n")
    return {"nowhere": tmp_path / "nowhere", "rules": tmp_path / "broken", "tmp": tmp_path}


WRONG = {
    "a missing path": (
        ["explain", "{tmp}/nowhere"],
        "expected evidence at .*/nowhere, found none .*; check the path",
    ),
    "an empty file": (
        ["explain", "{tmp}/empty.txt"],
        "expected evidence, found an empty file: .*; collect it again",
    ),
    "an empty directory": (["explain", "{tmp}/empty"], "expected evidence, found none in .*; give a bundle, .*"),
    "a broken archive": (
        ["explain", "{tmp}/cut.zip"],
        "expected evidence, found none in .*: archive: its members .*",
    ),
    "a special file": (["explain", "{tmp}/pipe"], "expected a file or a directory, found a special file at .*"),
    "no bundle here": (["explain"], "expected evidence, found no bundle here; run `diagnose collect`, .*"),
    "one of two is missing": (["explain", MISMATCH, "{tmp}/nowhere"], "expected evidence at .*/nowhere, .*"),
    "facts of nothing": (["facts", "{tmp}/nowhere"], "expected evidence at .*"),
    "a cause that is unknown": (
        ["why", "p2p.iommu-coruption", MISMATCH],
        "expected the id of a cause, found 'p2p.iommu-coruption'; did you mean p2p.iommu-corruption\\?",
    ),
    "a cause unlike any": (
        ["why-not", "xyzzy", "{tmp}/nowhere"],
        "expected the id of a cause, found 'xyzzy'; `diagnose rules list` shows all",
    ),
    "why without evidence": (["why", "p2p.iommu-corruption", "{tmp}/nowhere"], "expected evidence at .*"),
    "a missing later state": (["compare", MISMATCH, "{tmp}/nowhere"], "expected evidence at .*"),
    "rules that are not there": (["explain", MISMATCH, "--rules", "{tmp}/nowhere"], ".*/nowhere: no such .*"),
    "no place to write to": (["explain", MISMATCH, "-o", "{tmp}/no/where"], "could not write .*/no/where: .*"),
    "a folder to write to": (["facts", MISMATCH, "-o", "{tmp}"], "could not write .*: is a directory; .*"),
    "an unknown command": (["explian", "x"], "No such command 'explian'.*; see `diagnose --help`"),
    "an unknown option": (["explain", "--fast"], "No such option: --fast.*; see `diagnose explain --help`"),
    "an unknown format": (["explain", "--format", "xml", "x"], ".*--format.*; see `diagnose explain --help`"),
    "a confidence above one": (["explain", "--min-confidence", "2", "x"], ".*--min-confidence.*"),
    "a missing argument": (["why"], "Missing argument.*; see `diagnose why --help`"),
    "a comparison of one": (["compare", MISMATCH], "Missing argument.*; see `diagnose compare --help`"),
}


@pytest.mark.parametrize(("arguments", "line"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_in_one_line(run, places, monkeypatch, arguments, line):
    """On standard error: what, where, and what to do. Nothing on standard output, exit status 2."""
    monkeypatch.chdir(places["tmp"])

    status, out, err = run(*(one.format(tmp=places["tmp"]) for one in arguments))

    assert (status, out) == (2, "")
    assert re.fullmatch(f"diagnose: {line}\n", err), err


def test_all_faults_of_a_rule_are_told_with_their_places(run, tmp_path):
    """One line for each: file, line, column, what is wrong. The other rules run."""
    file = tmp_path / "causes" / "a" / "b.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "cause: a.b\ntitle: t\nstatus: stable\nprior: common\nbecause: b\n"
        "requires: {m: {kernel_module: {colour: red}}}\n"
        'for: {c: {when: {o: {nothing: {}}}, weight: weak, says: "{m.version} {x.y}"}}\n'
    )

    status, out, err = run("explain", MISMATCH, "--rules", tmp_path)

    faults = [line for line in err.splitlines() if line.endswith("; this rule takes no part")]

    assert status == 1
    assert out.startswith("CONFIRMED")
    assert [re.findall(r"b\.yaml:(\d+:\d+): .*(colour|nothing|x)`", line) for line in faults] == [
        [("6:32", "colour")],
        [("7:22", "nothing")],
        [("7:57", "x")],
    ]


def test_rules_can_be_added(run, tmp_path):
    """They take part like the others."""
    file = tmp_path / "causes" / "a" / "b.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "cause: a.b\ntitle: t\nstatus: experimental\nprior: common\nbecause: b\n"
        "requires: {m: {kernel_module: {}}}\n"
        'for: {c: {when: {m: {kernel_module: {loaded: true}}}, weight: conclusive, says: "{m.version}"}}\n'
    )

    _, out, _ = run("explain", MISMATCH, "--rules", tmp_path, "--format", "json")

    found = {cause["id"]: cause for cause in json.loads(out)["causes"]}
    assert found["a.b"]["confidence"] > 0.9
    assert found["a.b"]["evidence"][0]["source"]["path"] == "files/proc/driver/nvidia/version"


def test_a_defect_is_no_fault_of_the_machine(run, prose, monkeypatch):
    """One line and exit status 2: 1 would say that a fault was found, and a traceback helps nobody."""

    def broken(*_: object) -> None:
        raise ValueError("two\nlines")

    monkeypatch.setattr("diagnose.explain.explain", broken)

    status, out, err = run("explain", prose)

    assert (status, out) == (2, "")
    assert re.fullmatch(
        r"diagnose: a defect of this program: ValueError: two lines at test_cli\.py:\d+; please report it, .*\n",
        err,
    )


def test_an_interruption_ends_with_130(run, prose, monkeypatch):
    """As a shell would say it."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("diagnose.explain.explain", interrupted)

    assert run("explain", prose)[:2] == (130, "")


def test_the_report_as_json_keeps_its_contract(run):
    """One object with these keys, and nothing else on standard output."""
    status, out, _ = run("explain", MISMATCH, "--format", "json")

    report = json.loads(out)
    assert status == 1
    assert report["schema"] == "diagnose.report/1"
    assert report["version"] == __version__
    assert set(report) >= {
        "input", "symptoms", "causes", "next_tests", "contradictions", "unknown", "stats",
    }  # fmt: skip
    assert report["input"][0]["kind"] == "bundle"
    assert report["causes"][0]["id"] == "driver.userspace-kernel-mismatch"


def test_the_report_as_markdown(run):
    """With a heading for the answer."""
    _, out, _ = run("explain", MISMATCH, "--format", "markdown")

    assert out.startswith("#")
    assert "driver.userspace-kernel-mismatch" in out


@pytest.mark.parametrize("command", ["explain", "facts"])
def test_a_result_in_a_file_is_the_one_on_standard_output(run, tmp_path, command):
    """Which stays empty then; the exit status is the same."""
    status, out, _ = run(command, MISMATCH, "--format", "json")
    written = run(command, MISMATCH, "--format", "json", "-o", tmp_path / "r.json")

    assert written == (status, "", "")
    one, other = json.loads(out), json.loads((tmp_path / "r.json").read_text())
    assert one.pop("stats", None) is None or other.pop("stats")
    assert one == other


def test_causes_below_a_confidence_are_left_out_and_the_exit_status_is_not_touched(run):
    """What is shown is not what is found."""
    status, out, _ = run("explain", MISMATCH, "--format", "json", "--min-confidence", "0.4")
    none, left, _ = run("explain", MISMATCH, "--format", "json", "--min-confidence", "1.0")

    shown = [cause["confidence"] for cause in json.loads(out)["causes"]]
    assert min(shown) >= 0.4
    assert len(shown) > 1
    assert json.loads(left)["causes"] == []
    assert (status, none) == (1, 1)


def test_all_shows_weak_causes_too(run):
    """More than without; those that were shown stand first."""
    _, few, _ = run("explain", MISMATCH, "--format", "json")
    _, all_of_them, _ = run("explain", MISMATCH, "--format", "json", "--all")

    shorter = [cause["id"] for cause in json.loads(few)["causes"]]
    longer = [cause["id"] for cause in json.loads(all_of_them)["causes"]]
    assert longer[: len(shorter)] == shorter
    assert len(longer) > len(shorter)


def test_quiet_shows_the_answer_alone(run):
    """With the same exit status."""
    status, out, _ = run("explain", MISMATCH)
    quiet, short, _ = run("explain", MISMATCH, "--quiet")

    assert (status, quiet) == (1, 1)
    assert "driver.userspace-kernel-mismatch" in short
    assert len(short.splitlines()) < len(out.splitlines()) / 2


def test_facts_lists_files_facts_and_looks(run):
    """As its contract says."""
    status, out, _ = run("facts", MISMATCH, "--format", "json")

    value = json.loads(out)
    assert (status, value["schema"]) == (0, "diagnose.facts/1")
    assert {"path", "bytes", "readers", "facts", "unread_bytes", "why_unread"} <= set(value["files"][0])
    assert {"kind", "fields", "source", "text"} <= set(value["facts"][0])
    assert {"kind", "complete", "where"} <= set(value["looked"][0])


def test_why_shows_the_proof(run):
    """Down to the line that was read."""
    status, out, err = run("why", "driver.userspace-kernel-mismatch", MISMATCH)

    assert (status, err) == (0, "")
    assert "files/proc/driver/nvidia/version:1" in out


def test_why_of_a_cause_that_was_not_proposed_says_why_not(run):
    """The same as asking for that."""
    status, out, _ = run("why", "p2p.acs-redirect", HEALTHY)
    _, other, _ = run("why-not", "p2p.acs-redirect", HEALTHY)

    assert status == 3
    assert out == other != ""


def test_compare_shows_what_changed(run):
    """As text and as JSON."""
    status, out, _ = run("compare", MISMATCH, HEALTHY)
    _, as_json, _ = run("compare", MISMATCH, HEALTHY, "--format", "json")

    assert status == 0
    assert out.startswith("driver-split: driver.userspace-kernel-mismatch (confirmed)\n")
    assert json.loads(as_json)["steps"][0]["before"] == "driver-split"


def test_the_version(run):
    """Of the program, alone."""
    assert run("--version") == (0, f"diagnose {__version__}\n", "")


COMMANDS = ["", "collect", "explain", "facts", "why", "why-not", "compare"]
COMMANDS += ["rules", "rules list", "rules show", "rules lint", "rules test", "rules schema"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    """On standard output, with its options."""
    status, out, err = run(*command.split(), "--help")

    assert (status, err) == (0, "")
    assert f"Usage: diagnose{f' {command}' if command else ''}" in out
    assert "--help" in out


@pytest.mark.parametrize("command", ["", "rules"])
def test_without_a_command_the_help_is_shown(run, command):
    """It is no healthy machine: the exit status is that of wrong usage."""
    status, out, err = run(*command.split())

    assert (status, err) == (2, "")
    assert "Usage: diagnose" in out


def bundle(path: Path, when: int) -> Path:
    """An archive of evidence, last written then."""
    with tarfile.open(path, "w:gz") as archive:
        archive.add(STORIES / "peer-access-off", path.name.removesuffix(".tar.gz"))
    os.utime(path, (when, when))
    return path


def test_without_an_input_the_newest_bundle_is_explained(run, tmp_path, monkeypatch):
    """By the time when it was written."""
    monkeypatch.chdir(tmp_path)
    bundle(tmp_path / "diagnose-b-2.tar.gz", 1000)
    bundle(tmp_path / "diagnose-a-1.tar.gz", 2000)

    status, out, _ = run("explain", "--format", "json")

    assert status == 0
    assert json.loads(out)["input"][0]["path"] == "diagnose-a-1.tar.gz"


def test_what_is_no_bundle_is_not_taken_for_one(tmp_path):
    """A source tree, a dead link, a download that is not done, a report."""
    (tmp_path / "diagnose-main").mkdir()
    (tmp_path / "diagnose-x.tar.zst").symlink_to("nowhere")
    (tmp_path / "diagnose-y.tar.zst.part").write_bytes(b"x")
    (tmp_path / "diagnose-z.json").write_bytes(b"{}")
    with pytest.raises(InputError):
        newest_bundle(tmp_path)

    (tmp_path / "diagnose-folder").mkdir()
    (tmp_path / "diagnose-folder" / "manifest.json").write_bytes(b"{}")
    assert newest_bundle(tmp_path) == str(tmp_path / "diagnose-folder")


def test_collect_prints_the_path_of_the_bundle_last(run, tmp_path, monkeypatch):
    """It is what a script takes."""
    monkeypatch.setattr("diagnose.collecting.collect_bundle", lambda out, *_, **__: out)

    assert run("collect", "-o", tmp_path / "b.tar.gz") == (0, f"{tmp_path}/b.tar.gz\n", "")


def in_shell(redirect: str, *arguments: str) -> tuple[int, str, str]:
    """The program as a shell runs it: exit status, standard output, standard error."""
    command = ["sh", "-c", f'exec "$@" {redirect}', "sh", *PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=BUFFERED)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_closed_pipe_ends_the_program_quietly(form):
    """As the signal would, and not with the exit status of a fault; short results and long ones."""
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": BUFFERED}
    with subprocess.Popen([*PROGRAM, "explain", "--quiet", "--format", form, MISMATCH], **pipe) as program:
        program.stdout.close()
        err = program.stderr.read()

    assert (program.returncode, err) == (141, b"")


FULL = "diagnose: could not write standard output: no space left on device; name another file with -o\n"


@pytest.mark.parametrize(("redirect", "status", "err"), [(">&-", 1, ""), (">/dev/full", 2, FULL)])
def test_a_standard_output_that_takes_nothing(redirect, status, err):
    """Closed on purpose, it changes nothing; full, it is told."""
    assert in_shell(redirect, "explain", "--quiet", MISMATCH) == (status, "", err)


def test_nothing_on_standard_input_is_told():
    """Not even an open file."""
    told = "diagnose: expected evidence, found none in -; give a bundle, a directory, a log or an archive\n"

    assert in_shell("<&-", "explain", "-") == (2, "", told)


TWO_RUNS = """\
server_args=ServerArgs(model_path='m', tp_size=2)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.00 GiB is free.
Received sigquit from a child process. It usually means the child failed.
server_args=ServerArgs(model_path='m', tp_size=2)
[2025-01-01 10:10:40] The server is fired up and ready to roll!
"""  # noqa: E501 - a line of the log as it is


def test_the_last_run_counts_unless_another_is_asked_for(run, tmp_path):
    (tmp_path / "job.log").write_text(TWO_RUNS)

    _, last, _ = run("explain", tmp_path)
    _, first, _ = run("explain", tmp_path, "--run", "1")
    last = " ".join(last.split())

    assert "state.healthy" in last
    assert "job.log holds 2 runs of the job; this is about the last (--run 1 for the first)" in last
    assert "memory.gpu-oom" in first
    assert run("explain", tmp_path, "--run", "9")[0] == 2
