"""Rules of users take part in a diagnosis, and the report says so in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from diagnose.cli import app
from diagnose.explain import asked_about, explain
from diagnose.render.json_report import report_json
from diagnose.render.markdown import render_markdown
from diagnose.render.text import render_text
from diagnose.rules_new import PLAIN, draft
from diagnose.run_rules import run_rules
from kb.load import shipped_rules

STORY = str(Path(__file__).parent.parent / "stories" / "driver-split")
ID = "driver.userspace-kernel-mismatch"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack that overrides a shipped cause, named by the environment."""
    file = tmp_path / "mine" / "causes" / "driver" / "userspace-kernel-mismatch.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"cause: {ID}\nbecause: we pin them\noverrides: {{prior: rare}}\n")
    (tmp_path / "mine" / "pack.yaml").write_text("name: acme\nversion: 1.2\n")
    monkeypatch.setenv("DIAGNOSE_RULES", str(tmp_path / "mine"))
    return tmp_path / "mine"


def test_a_report_says_which_rules_took_part_and_what_they_changed(mine: Path):
    report = explain([STORY])
    console = Console(width=80, record=True, force_terminal=False)
    render_text(report, console)
    text = " ".join(console.export_text().split())
    markdown = render_markdown(report)
    rules = json.loads(json.dumps(report_json(report)))["rules"]

    assert "YOUR RULES took part: acme 1.2 (DIAGNOSE_RULES)" in text
    assert f"{ID} is overridden: prior rare instead of common (we pin them)" in text
    assert "## Your rules" in markdown
    assert "prior rare instead of common (we pin them)" in markdown
    assert rules["packs"] == [{"path": str(mine), "name": "acme", "version": "1.2", "named_by": "DIAGNOSE_RULES"}]
    assert [(one["cause"], one["changes"]) for one in rules["overrides"]] == [
        (ID, ["prior rare instead of common"])
    ]


@pytest.mark.usefixtures("mine")
def test_the_changed_cause_is_the_one_that_is_weighed():
    assert asked_about(ID, [STORY])[0].prior == "rare"


def test_without_rules_of_ones_own_nothing_is_said():
    report = explain([STORY])

    assert "Your rules" not in render_markdown(report)
    assert report_json(report)["rules"] == {"packs": [], "overrides": [], "faults": []}


def test_a_report_says_that_a_rule_is_deprecated_and_what_replaced_it(tmp_path: Path):
    """In text, Markdown and JSON; it still comes out, since what replaced it does not."""
    name = "p2p.iommu-corruption"
    shipped = (shipped_rules() / "causes" / "p2p" / "iommu-corruption.yaml").read_text()
    file = tmp_path / "causes" / "p2p" / "iommu-corruption.yaml"
    file.parent.mkdir(parents=True)
    gone = "status: deprecated\nreplaced_by: p2p.acs-redirect"
    file.write_text("overrides: whole\n" + shipped.replace("status: stable", gone))
    report = explain([str(Path(STORY).parent / "iommu")], [tmp_path])
    console = Console(width=120, record=True, force_terminal=False)
    render_text(report, console)
    first = report_json(report)["causes"][0]
    words = "deprecated, replaced by p2p.acs-redirect"

    assert f"\n  {name} ({words}) · machine\n" in console.export_text()
    assert f"`{name}` · {words} · machine\n" in render_markdown(report)
    assert (first["id"], first["status"], first["replaced_by"]) == (name, "deprecated", ["p2p.acs-redirect"])


LOG = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/srv/train.py", line 41, in <module>
[rank3]:     main()
[rank3]: acme.loader.SomeError: what its message says
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A sound rule, one with a value that can't be, one whose symptom does not exist, and a log to try them on."""
    folder = tmp_path / "rules" / "causes" / "acme"
    folder.mkdir(parents=True)
    text = draft("acme.sound", PLAIN)
    for name, old, new in (
        ("sound", "", ""),
        ("unreadable", "prior: common", "prior: comon"),
        ("odd", "explains: [process-failed]", "explains: [proces-failed]"),
    ):
        (folder / f"{name}.yaml").write_text(text.replace("acme.sound", f"acme.{name}").replace(old, new))
    (tmp_path / "job.log").write_text(LOG)
    return tmp_path


def test_a_faulty_rule_takes_no_part_and_is_told_and_sound_ones_run(pack: Path):
    report = report_json(explain([str(pack / "job.log")], [pack / "rules"]), everything=True)
    file = pack / "rules/causes/acme/unreadable.yaml"
    told = [one for one in report["unknown"] if one["what"] == "the rule acme.unreadable"]

    assert {"acme.sound", "acme.odd"} <= {one["id"] for one in report["causes"]}
    assert "acme.unreadable" not in {one["id"] for one in report["causes"]}
    assert [one["reason"] for one in told] == ["unreadable"]
    assert told[0]["consequence"].startswith(f"it took no part in the answer: {file}:6:8: expected one of common,")


def test_each_fault_is_a_line_on_standard_error_with_its_place_and_what_becomes_of_the_rule(pack: Path):
    result = CliRunner().invoke(app, ["explain", "--rules", str(pack / "rules"), str(pack / "job.log")])
    lines = [line for line in result.stderr.splitlines() if "requires and tests the same" not in line]
    folder = pack / "rules/causes/acme"

    assert result.exit_code == 1
    assert [line.rpartition("; ")[0].partition(";")[0] for line in lines] == [
        f"{folder}/odd.yaml:7:12: unknown symptom `proces-failed`",
        f"{folder}/unreadable.yaml:6:8: expected one of common, uncommon or rare, found `comon`",
    ]
    assert [line.rpartition("; ")[2] for line in lines] == [
        "the rule runs all the same",
        "this rule takes no part",
    ]


def test_a_fault_in_one_probe_leaves_out_no_other(tmp_path: Path):
    """The place of a fault tells which of the list it is."""
    sound = "- {id: one, title: t, run: ls, covers: [xid_event], gives: g}\n"
    (tmp_path / "probes.yaml").write_text(sound + "- {id: two, title: t, run: ls, covers: [xid_event], give: g}\n")
    rules = run_rules([tmp_path])

    assert "one" in rules.base.probes
    assert "two" not in rules.base.probes
    assert [one.what for one in rules.left_out] == ["the rule two"]


@pytest.mark.usefixtures("mine")
def test_the_cases_of_a_corpus_are_run_with_the_rules_of_the_environment(
    pack: Path, monkeypatch: pytest.MonkeyPatch
):
    """As `explain` would run them."""
    (pack / "rules/causes/acme/odd.yaml").unlink()
    (pack / "rules/causes/acme/unreadable.yaml").unlink()
    evidence = pack / "cases" / "one" / "evidence"
    evidence.mkdir(parents=True)
    (evidence / "job.log").write_text(LOG)
    (pack / "cases" / "one" / "case.yaml").write_text("causes: [acme.sound]\n")
    monkeypatch.setenv("DIAGNOSE_RULES", str(pack / "rules"))
    command = ["rules", "test", "--corpus", str(pack / "cases")]
    monkeypatch.setattr(
        "diagnose.rules_kit.causes_under", lambda *_: []
    )  # the examples are not what is asked here

    assert CliRunner().invoke(app, command).exit_code == 0
    monkeypatch.delenv("DIAGNOSE_RULES")
    assert CliRunner().invoke(app, command).exit_code == 1
