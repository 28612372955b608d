"""Directories of rules that are named by an option, the environment or an installed package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kb.errors import InputError, RuleErrors
from kb.packs import packs, read_pack

RULE = "cause: acme.x\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "acme_rules"
    (folder / "causes" / "acme").mkdir(parents=True)
    (folder / "causes" / "acme" / "x.yaml").write_text(RULE)
    return folder


@pytest.fixture
def site(tmp_path: Path, rules: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the import path with an installed package that offers those rules."""
    (rules / "__init__.py").write_text("raise RuntimeError('it must not be imported')")
    info = tmp_path / "acme_rules-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text("[diagnose.rules]\nacme = acme_rules\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_all_three_ways_lead_to_rules_and_each_directory_counts_once(tmp_path: Path, rules: Path, site: Path):
    other = tmp_path / "other"
    other.mkdir()
    found = packs(
        [rules, other], "1.0", {"DIAGNOSE_RULES": os.pathsep.join(["", str(other), ""])}, [str(site), "/nowhere"]
    )

    assert [(one.path, one.named_by) for one in found] == [
        (rules, "package acme-rules"),
        (other, "DIAGNOSE_RULES"),
    ]
    assert "acme_rules" not in sys.modules


def test_without_any_there_are_none(tmp_path: Path):
    assert packs([], "1.0", {}, [str(tmp_path)]) == []


def test_a_directory_that_is_not_there_names_who_named_it(tmp_path: Path):
    with pytest.raises(InputError, match="nowhere: no such rule file or directory; it is named by DIAGNOSE_RULES"):
        packs([], "1.0", {"DIAGNOSE_RULES": str(tmp_path / "nowhere")}, [])


def test_an_entry_point_that_leads_nowhere_is_one_line(site: Path):
    (site / "acme_rules-2.1.dist-info" / "entry_points.txt").write_text("[diagnose.rules]\nacme = acme_gone\n")

    with pytest.raises(InputError, match=r"entry point `acme_gone`.*reinstall or remove"):
        packs([], "1.0", {}, [str(site)])


def test_a_pack_has_a_name_and_a_version(rules: Path):
    (rules / "pack.yaml").write_text("name: acme\nversion: 1.2\nrequires: diagnose >= 0.9\n")
    (one,) = packs([rules], "1.0", {}, [])

    assert (one.name, one.version) == ("acme", "1.2")


@pytest.mark.parametrize(
    ("requires", "program", "met"),
    [
        ("diagnose >= 1", "1.0.0", True),
        ("diagnose>=1.9", "1.10", True),
        ("diagnose >= 1.10", "1.9.3", False),
        ("diagnose >= 2.0", "2.0.0.dev1", True),
        ("diagnose >= 0.1.1", "0.1", False),
    ],
)
def test_what_a_pack_requires_is_compared_by_numbers(rules: Path, requires: str, program: str, met: bool):
    (rules / "pack.yaml").write_text(f"name: acme\nversion: 1.2\nrequires: {requires}\n")
    errors = read_pack(rules, program)[1]

    needs = f"needs diagnose {requires.split()[-1]} or newer, this is {program}; upgrade it"
    assert [str(error) for error in errors] == ([] if met else [f"{rules / 'pack.yaml'}:3:11: `acme` 1.2 {needs}"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: acme\n", "1:1: `version` is missing"),
        ("name: acme\nversion: 2\n", '2:10: expected a text, found the number 2; in quotes it is a text: "2"'),
        ("name: a\nversion: a\nrequire: x\n", "3:1: unknown key `require`; did you mean `requires`?"),
        ("name: a\nversion: a\nrequires: numpy\n", "3:11: expected `diagnose >= 1.2`, found `numpy`"),
        ("[", "2:1: not valid YAML"),
        ("- a", "1:1: expected a mapping `key: value`"),
    ],
)
def test_a_fault_of_a_pack_file_is_one_line_at_its_place(rules: Path, text: str, message: str):
    (rules / "pack.yaml").write_text(text)

    with pytest.raises(RuleErrors) as caught:
        packs([rules], "1.0", {}, [])

    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{rules / 'pack.yaml'}:{message}")
