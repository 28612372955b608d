"""Rules of users take part in a diagnosis, and the report says so in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from diagnose.explain import asked_about, explain
from diagnose.render.json_report import report_json
from diagnose.render.markdown import render_markdown
from diagnose.render.text import render_text
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
    assert report_json(report)["rules"] == {"packs": [], "overrides": []}


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
