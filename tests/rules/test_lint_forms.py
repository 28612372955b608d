"""`diagnose rules lint`: the forms of its faults, and what it mends."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from diagnose import rules_kit
from diagnose.rules_command import app
from kb.wording import nearest

GOOD = Path(__file__).parent / "good"
IOMMU = "causes/p2p/iommu-corruption.yaml"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the good rules in place of those of this program."""
    shutil.copytree(GOOD, tmp_path / "rules")
    monkeypatch.setattr(rules_kit, "shipped_rules", lambda: tmp_path / "rules")
    return tmp_path / "rules"


def change(file: Path, *pairs: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text)


def lint(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["lint", *map(str, arguments)])


def test_json_holds_every_fault_with_its_check(root: Path):
    change(root / IOMMU, ("{peer_copy: {data", "{pear_copy: {data"))
    told = json.loads(lint(root, "--format", "json").stdout)

    assert told["schema"] == "diagnose.lint/1"
    (first, *_) = told["faults"]
    assert (first["check"], first["line"], first["column"]) == ("kinds-exist", 8, 9)
    assert first["path"] == str(root / IOMMU)


def test_json_and_sarif_of_sound_rules_are_whole(root: Path):
    assert json.loads(lint(root, "--format", "json").stdout)["faults"] == []
    assert json.loads(lint(root, "--format", "sarif").stdout)["runs"][0]["results"] == []
    assert lint(root, "--format", "github").stdout == ""


def test_sarif_points_at_the_place(root: Path):
    change(root / IOMMU, ("prior: uncommon", "prior: uncommn"))
    (run,) = json.loads(lint(root, "--format", "sarif").stdout)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]

    assert place["region"] == {"startLine": 4, "startColumn": 8}
    assert place["artifactLocation"]["uri"].endswith(IOMMU)
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}


def test_github_gets_one_annotation_a_fault(root: Path):
    odd = root / "causes" / "p2p" / "a,b%c.yaml"
    odd.write_text("cause: [\n")
    (line,) = lint(odd, "--format", "github").stdout.splitlines()

    assert re.fullmatch(r"::error file=.*/a%2Cb%25c\.yaml,line=2,col=1,title=reading::not valid YAML.*", line)


def test_near_names_are_mended_in_as_many_rounds_as_it_takes(root: Path):
    before = (root / IOMMU).read_text()
    change(
        root / IOMMU,
        ("explains: copy-wrong", "explains: copy-wrng"),
        ("    otherwise: conc", "    otherwize: conc"),
        ("{data: [wrong", "{dta: [wrong"),
        ("ask: iommu-groups", "ask: iommu-group"),
        ("- {domain: {iommu_group: {domain: DMA}}}", '- {domain: {"iommu_grup": {domain: DMA}}}'),
    )
    result = lint(root, "--fix")

    assert (result.exit_code, result.stdout) == (0, "")
    assert (root / IOMMU).read_text() == before.replace(
        "{iommu_group: {domain: DMA}}", '{"iommu_group": {domain: DMA}}'
    )
    assert result.stderr.count("fixed ") == 5
    assert f"fixed {root / IOMMU}:5:11: `copy-wrong` instead of `copy-wrng`" in result.stderr


def test_what_has_two_near_names_or_none_is_left_to_the_author(root: Path):
    change(root / IOMMU, ("{data: [wrong", "{zzz: [wrong"), ("ask: iommu-groups", "ask: nothing"))
    change(root / "probes.yaml", ("covers: [iommu_group]", "covers: [iommu_group, gpu_mem]"))
    before = [file.read_text() for file in sorted(root.rglob("*.yaml"))]
    result = lint(root, "--fix")

    assert result.exit_code == 1
    assert "fixed" not in result.stderr
    assert [file.read_text() for file in sorted(root.rglob("*.yaml"))] == before


def test_two_names_that_are_as_near_are_both_told():
    assert nearest("queue-a", ["queue-b", "queue-c", "other"]) == "; did you mean `queue-c` or `queue-b`?"
    assert nearest("queue-bb", ["queue-b", "quite-c"]) == "; did you mean `queue-b`?"


def test_only_what_was_asked_for_is_mended(root: Path):
    change(root / IOMMU, ("{data: [wrong", "{dta: [wrong"))

    assert lint(root / "causes/driver", "--fix").exit_code == 0
    assert "dta" in (root / IOMMU).read_text()


def test_a_rule_of_facts_that_nothing_brings_is_told(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rules_kit, "brought_kinds", lambda: frozenset({"peer_copy"}))
    result = lint(root / IOMMU)

    assert result.stdout.count("brings `iommu_group`: it would never match") == 2


def test_all_kinds_but_a_few_are_brought():
    from kb.facts import fact_types

    assert set(fact_types()) - rules_kit.brought_kinds() == set()


def test_the_id_of_a_shipped_cause_is_taken_only_where_it_is_said(root: Path, tmp_path: Path):
    mine = tmp_path / "mine" / "p2p" / "iommu-corruption.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text((root / IOMMU).read_text())

    assert f"{mine}:1:8: `p2p.iommu-corruption` is a cause of this program; to replace it" in lint(mine).stdout

    mine.write_text("overrides: whole\n" + mine.read_text())
    assert lint(mine).exit_code == 0


def test_a_pack_file_is_checked_with_its_rules(root: Path):
    (root / "pack.yaml").write_text("name: ours\nversion: 1.0\nrequires: diagnose >= 999\n")

    assert "pack.yaml:3:11: `ours` 1.0 needs diagnose 999 or newer" in lint(root).stdout
