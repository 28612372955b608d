"""`diagnose rules test --corpus`: real cases whose answer is wrong, and why; `--junit`: all of it for CI."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from diagnose.junit import Outcome, junit_xml
from diagnose.rules_command import app

RULE = Path(__file__).parent.parent.parent / "rules" / "causes" / "net" / "port-conflict.yaml"
BUSY = """\
INFO 05-01 10:00:00 [api_server.py:1] vLLM API server version 0.8.5
[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).
torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. \
port: 29500, useIpv6: true, code: -98, name: EADDRINUSE, message: address already in use
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One case that comes out right, one that expects another cause, and one of another field."""
    for name, spec, log in (
        ("a-right", "causes: [net.port-conflict]", BUSY),
        ("b-other", "causes: [gpu.fell-off-bus]\nmust_not: [net.port-conflict]", BUSY),
        ("c-elsewhere", "causes: [state.insufficient-evidence, state.healthy]", "nothing here\n"),
        ("d-not-seen", "causes: [net.port-conflict]", "nothing here\n"),
    ):
        (tmp_path / name / "evidence").mkdir(parents=True)
        (tmp_path / name / "case.yaml").write_text(spec + "\n")
        (tmp_path / name / "evidence" / "job.log").write_text(log)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["test", *map(str, arguments)])


def test_wrong_cases_show_what_was_expected_what_came_and_why(corpus: Path):
    result = run(RULE, "--corpus", corpus)

    assert result.exit_code == 1
    assert result.stderr.splitlines()[1] == "3 cases, 2 failed"
    assert "FAILED corpus: b-other\n  expected gpu.fell-off-bus, got net.port-conflict\n" in result.stdout
    assert "  accused wrongly: net.port-conflict\n" in result.stdout
    assert "listening-failed (for) is true" in result.stdout
    assert "FAILED corpus: d-not-seen\n  expected net.port-conflict, got state." in result.stdout
    assert "net.port-conflict: not looked: port_conflict was not looked for" in result.stdout
    assert "a-right" not in result.stdout
    assert "c-elsewhere" not in result.stdout


def test_the_first_clause_that_differs_from_an_example_is_named(corpus: Path):
    log = corpus / "a-right" / "evidence" / "job.log"
    log.write_text(BUSY.splitlines()[1] + "\nRuntimeError: boom\n")
    result = run(RULE, "--corpus", corpus / "a-right")

    assert "first difference: process-ended-of-it is unknown here (process_error was looked" in result.stdout
    assert "true in its example `the store can't listen and the job ends`" in result.stdout


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, "no case here; expected NAME/case.yaml with NAME/evidence"),
        ("cause: x", "case.yaml: expected `causes: [id, …]`"),
        ("[", "case.yaml: expected `causes: [id, …]`"),
        ("causes: [3]", "case.yaml: expected `causes: [id, …]`"),
        ("causes: gpu.fell-off-bus", "case.yaml: expected `causes: [id, …]`"),
    ],
)
def test_what_is_no_corpus_is_wrong_usage(tmp_path: Path, spec: str | None, message: str):
    if spec is not None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "case.yaml").write_text(spec)
    result = run(RULE, "--corpus", tmp_path)

    assert result.exit_code == 2
    assert message in result.stderr


def test_junit_holds_examples_and_cases(corpus: Path, tmp_path: Path):
    file = tmp_path / "out.xml"
    run(RULE, "--corpus", corpus, "--junit", file)
    suite = ET.fromstring(file.read_text())  # noqa: S314 - our own

    assert suite.attrib["failures"] == "2"
    assert len(suite) == int(suite.attrib["tests"]) > 3
    assert {case.attrib["classname"] for case in suite} == {"net.port-conflict", "corpus"}
    (failure,) = suite.findall("testcase[@name='d-not-seen']/failure")
    assert failure.attrib["message"].startswith("expected net.port-conflict, got ")


def test_junit_holds_no_character_that_xml_can_not():
    text = junit_xml([Outcome("a", 'b<"&\x1b[2J\x00', ["c\x0b]]>"])])

    assert ET.fromstring(text)[0].attrib["name"] == 'b<"&\ufffd[2J\ufffd'  # noqa: S314 - our own
