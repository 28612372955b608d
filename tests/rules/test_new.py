"""`diagnose rules new`: a draft that passes every check at once, empty or from evidence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from diagnose import rules_new
from diagnose.rules_command import app
from diagnose.telling_facts import stable_part
from kb.load import load_rules
from kb.rule import Cause

STORIES = Path(__file__).parent.parent / "stories"
MOST_LINES = 60


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def sound(path: Path) -> bool:
    """Lint and test say nothing."""
    results = [run("lint", path), run("test", path)]
    return [(one.exit_code, one.stdout) for one in results] == [(0, ""), (0, "")]


def test_a_plain_draft_passes_at_once_and_is_short(here: Path):
    result = run("new", "acme.queue-stuck")
    path = here / result.stdout.splitlines()[-1]

    assert path == here / "causes" / "acme" / "queue-stuck.yaml"
    assert len(path.read_text().splitlines()) <= MOST_LINES
    assert sound(path)


@pytest.mark.parametrize("story", ["driver-split", "iommu", "one-line-from-rank0", "still-blocked"])
def test_a_draft_from_evidence_passes_and_comes_out_on_it(here: Path, story: str):
    result = run("new", "acme.seen", "--from", STORIES / story)
    path = here / result.stdout.splitlines()[-1]
    cause = load_rules(path).causes["acme.seen"]
    tried = run("try", path, STORIES / story)

    assert len(path.read_text().splitlines()) <= MOST_LINES
    assert sound(path)
    assert cause.explains
    assert "LIKELY" in tried.stdout


def test_clauses_key_on_kinds_and_never_on_instances(here: Path):
    run("new", "acme.seen", "--from", STORIES / "iommu")
    cause = load_rules(here / "causes/acme/seen.yaml").causes["acme.seen"]
    tests = [
        (pattern.fact, test.field, test.values)
        for clause in cause.clauses
        for choice in clause.when
        for pattern in choice
        for test in pattern.tests
    ]

    assert ("peer_copy", "data", ("wrong",)) in tests
    assert not {field for _, field, _ in tests} & {"src", "dst", "bdf", "count", "elements", "ranks_begun"}


def test_what_state_healthy_counts_against_is_proposed_without_a_symptom(here: Path):
    log = here / "dmesg.txt"
    log.write_text(
        "[   10.0] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    )
    run("new", "acme.seen", "--from", log)

    assert "xid_event" in (here / "causes/acme/seen.yaml").read_text()
    assert sound(here / "causes/acme/seen.yaml")


def test_evidence_of_nothing_is_refused_with_a_way_out(here: Path):
    (here / "mail.txt").write_text("it hangs\n")
    result = run("new", "acme.seen", "--from", here / "mail.txt")

    assert result.exit_code == 2
    assert "without --from a plain draft is written" in result.stderr
    assert not (here / "causes").exists()


def test_the_folder_rules_is_taken_where_there_is_one(here: Path):
    (here / "rules").mkdir()

    assert run("new", "acme.x").stdout.splitlines()[-1] == os.path.join("rules", "causes", "acme", "x.yaml")  # noqa: PTH118


def test_editors_find_the_schema_that_the_modeline_names(here: Path):
    run("new", "acme.x", "-o", here / "mine")
    path = here / "mine/causes/acme/x.yaml"
    named = path.read_text().splitlines()[0].partition("$schema=")[2]

    assert json.loads((path.parent / named).read_text())["title"].startswith("A rule of diagnose")
    assert run("schema", "-o", path.parent / named).exit_code == 0


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ("Acme.x", "expected an id such as acme.queue-stuck (family.name), found 'Acme.x'"),
        ("../../x.y", "expected an id such as"),
        ("net.port-conflict", "there is a rule for net.port-conflict: "),
    ],
)
def test_ids_that_can_not_be_taken_are_refused(here: Path, cause: str, message: str):
    result = run("new", cause)

    assert result.exit_code == 2
    assert message in result.stderr
    assert not (here / "causes").exists()


def test_nothing_is_overwritten(here: Path):
    run("new", "acme.x")
    (here / "causes/acme/x.yaml").write_text("mine")
    result = run("new", "acme.x")

    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert (here / "causes/acme/x.yaml").read_text() == "mine"


def test_rules_of_this_program_need_an_id_of_the_vocabulary(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rules_new, "shipped_rules", lambda: here)

    assert "is not in kb/causes.yaml" in run("new", "acme.x", "-o", here).stderr


SLURM = "slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT ***\n"
LUSTRE = "[ 8321.445566] LustreError: 167-0: a-OST0002-osc: This client was evicted by a-OST0002; it will fail.\n"


def drafted(path: Path) -> Cause:
    return load_rules(path).causes["acme.seen"]


def asked_in(cause: Cause) -> set[tuple[str, str, str]]:
    return {
        (pattern.fact, test.field, test.op)
        for clause in cause.clauses
        for choice in clause.when
        for pattern in choice
        for test in pattern.tests
    }


def test_how_the_scheduler_ended_a_job_is_proposed_with_its_words(here: Path):
    (here / "job.log").write_text(SLURM)
    path = here / run("new", "acme.seen", "--from", here / "job.log").stdout.splitlines()[-1]

    assert {
        ("slurm_error", "class", "is"),
        ("slurm_error", "text", "matches"),
        ("run_end", "end", "is"),
    } <= asked_in(drafted(path))
    assert sound(path)


def test_the_look_alike_of_a_draft_has_other_words_and_does_not_come_out(here: Path):
    (here / "job.log").write_text(SLURM)
    path = here / run("new", "acme.seen", "--from", here / "job.log").stdout.splitlines()[-1]
    other = drafted(path).examples[1]

    assert other.facts[0]["slurm_error"]["text"] == "what else it may say"
    assert other.expect == "unlikely"


def test_a_line_that_nobody_reads_is_taken_by_a_text_in_it(here: Path):
    (here / "kernel.log").write_text(LUSTRE)
    result = run("new", "acme.seen", "--from", here / "kernel.log", "--line", "This client was evicted by")
    path = here / result.stdout.splitlines()[-1]

    assert drafted(path).requires[0].tests[0].values == ("This client was evicted by",)
    assert sound(path)
    assert "LIKELY" in run("try", path, here / "kernel.log").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--from", "kernel.log", "--line", "no such text"],
            'no line of the evidence holds "no such text"; it is',
        ),
        (
            ["--line", "This client was"],
            "--line TEXT says which lines of the evidence count; name that with --from",
        ),
    ],
)
def test_a_line_that_is_not_there_is_refused(here: Path, arguments: list[str], message: str):
    (here / "kernel.log").write_text(LUSTRE)
    result = run("new", "acme.seen", *arguments)

    assert (result.exit_code, result.stderr.startswith(message)) == (2, True)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("lease of shard 17 expired after 600 s", "lease of shard"),
        ("*** JOB 4711 ON gpu07 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT ***", "DUE TO TIME LIMIT"),
        ("can't open /srv/data/a.tar: No space left on device", "No space left on device"),
        ("17 of 32", ""),
    ],
)
def test_the_part_of_a_text_that_stays_the_same(text: str, part: str):
    assert stable_part(text) == part
