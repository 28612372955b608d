"""Whole machines through the whole line: five moments of one story, in order, as the commands see them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml

from diagnose.compare import compare
from diagnose.explain import explain, read_case, rule_base
from diagnose.render.json_report import report_json
from engine.session import assess

STORIES = Path(__file__).parent / "stories"
EXPECTED = yaml.safe_load((STORIES / "expected.yaml").read_text())
ORDER = list(EXPECTED)
ACCUSES = 0.5


@pytest.fixture(scope="module")
def reports():
    return {name: report_json(explain([str(STORIES / name)])) for name in ORDER}


@pytest.mark.parametrize("name", ORDER)
def test_the_first_cause_is_the_right_one(reports, name):
    """The answer is the first entry."""
    assert reports[name]["causes"][0]["id"] == EXPECTED[name]["first"]


@pytest.mark.parametrize("name", ORDER)
def test_nobody_is_accused_wrongly(reports, name):
    """No fault that is not there gets a confidence of one half."""
    accused = {c["id"] for c in reports[name]["causes"] if c["kind"] == "fault" and c["confidence"] >= ACCUSES}

    assert accused & set(EXPECTED[name]["must_not"]) == set()


@pytest.mark.parametrize("name", [name for name in ORDER if EXPECTED[name]["decisive"]])
def test_the_proof_quotes_the_decisive_line(reports, name):
    """The lines that an expert would point at stand in the evidence of the first cause."""
    quoted = "\n".join(e["text"] for e in reports[name]["causes"][0]["evidence"])

    assert [line for line in EXPECTED[name]["decisive"] if line not in quoted] == []


@pytest.mark.parametrize("name", ["still-blocked", "one-line-from-rank0"])
def test_a_block_without_a_proven_cause_names_the_suspect_and_its_tests(reports, name):
    """Peer-to-peer under a translating IOMMU is next in line, and two tests would tell."""
    faults = [c["id"] for c in reports[name]["causes"] if c["kind"] == "fault"]
    tests = reports[name]["next_tests"][:2]

    assert faults[1] == "p2p.iommu-corruption"
    assert {test["id"] for test in tests} == {"kernel-log", "peer-copy"}
    assert all(test["commands"] for test in tests)


def test_under_snp_passthrough_is_no_remedy(reports):
    """The quick way is to keep NCCL and the framework off direct copies; iommu=pt alone is never offered."""
    remedies = reports["iommu"]["causes"][0]["remedies"]
    commands = "\n".join(line for remedy in remedies for line in remedy["commands"])

    assert remedies[0]["commands"][0] == "export NCCL_P2P_DISABLE=1"
    assert "--disable-custom-all-reduce" in commands
    assert [r["title"] for r in remedies if r["title"].startswith("iommu=pt is no way out")] != []
    assert [r["title"] for r in remedies if r["title"].startswith("Boot the host with the IOMMU")] == []
    assert all(remedy["verify"] for remedy in remedies)


@pytest.mark.parametrize("name", ORDER)
def test_the_order_of_facts_changes_nothing(name):
    """A verdict depends on what was seen, not on what was read first."""
    base = rule_base()
    readings = list(read_case([str(STORIES / name)]).readings)
    verdicts = set()
    for seed in range(3):
        random.Random(seed).shuffle(readings)
        diagnosis = assess(base, readings)
        verdicts.add(json.dumps([(f.cause.cause, f.verdict, f.hypothesis.score) for f in diagnosis.findings]))

    assert len(verdicts) == 1


def without(name: str, victim: str) -> dict:
    case = read_case([str(STORIES / name)])
    kept = [file for file in case.opened.files if file.path != victim]
    from collectors.combine import combine
    from collectors.scan import read_all

    _, readings = read_all(kept)
    diagnosis = assess(rule_base(), [*readings, *combine(readings)])
    return {f.cause.cause: f.confidence for f in diagnosis.findings if f.cause.kind == "fault"}


ALL_FILES = [(name, file.path) for name in ORDER for file in read_case([str(STORIES / name)]).opened.files]


@pytest.mark.parametrize(("name", "victim"), ALL_FILES)
def test_a_missing_file_never_makes_an_accusation(name, victim):
    """Less evidence means less certainty, not another culprit."""
    whole = {f.cause.cause for f in explain([str(STORIES / name)]).diagnosis.findings}
    accused = {cause for cause, confidence in without(name, victim).items() if confidence >= ACCUSES}
    acceptable = {EXPECTED[name]["first"], "nccl.init-blocked"} if name != "peer-access-off" else set()

    assert accused & set(EXPECTED[name]["must_not"]) == set()
    assert accused - acceptable - whole == set()


def test_the_story_tells_that_the_first_repair_was_real_and_not_enough():
    """The mismatch goes and the block stays; then the IOMMU; then healthy with peer access switched off."""
    comparison = compare([str(STORIES / name) for name in ORDER])
    first, second, third, fourth = comparison.steps

    assert {c.cause: c.fate for c in first.causes}["driver.userspace-kernel-mismatch"] == "went"
    assert first.symptoms["start-not-finished"] == "stayed"
    assert any("was not what caused" in sentence for sentence in first.story)
    assert {c.cause: c.fate for c in second.causes}["nccl.init-blocked"] == "stayed"
    assert {c.cause: c.fate for c in third.causes}["p2p.iommu-corruption"] == "came"
    assert {c.cause: c.fate for c in fourth.causes}["state.healthy"] == "came"
    assert any("worked around, not repaired: NCCL_P2P_DISABLE=1" in sentence for sentence in fourth.story)
    assert "effective_setting" in fourth.looked_at_first
