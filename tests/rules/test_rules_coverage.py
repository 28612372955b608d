"""`diagnose rules coverage`: nothing is unaccounted for, and what is missing is said."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from diagnose import rules_coverage, rules_kit
from diagnose.codes_coverage import code_rows
from diagnose.rules_command import app
from diagnose.rules_coverage import Coverage, as_lines, cases_of, coverage, lacking
from diagnose.rules_mechanisms import mechanisms
from kb.errors import InputError
from kb.load import load_rules, shipped_rules
from kb.rule import RuleBase
from kb.vocabulary import vocabulary

HERE = Path(__file__).parent
CASES = HERE.parent.parent.parent / "shared" / "cases"
GOOD = HERE / "good"


@cache
def base() -> RuleBase:
    return load_rules(shipped_rules())


@cache
def covered() -> Coverage:
    return coverage(base(), CASES if CASES.exists() else None)


@pytest.mark.parametrize("cause", sorted(vocabulary()))
def test_a_rule_is_complete(cause):
    """Mechanism, examples of every mechanism, look-alikes, remedies, references."""
    assert next(row for row in covered().causes if row.id == cause).lacks == ()


def test_nothing_is_unaccounted_for():
    """Each id has a rule; each Xid that explains others, SXid, warning and error leads to a cause or a reason."""
    assert list(covered().unaccounted) == []


def test_each_catalogue_is_there():
    """With all of its rows."""
    catalogues = {code.catalogue for code in covered().codes}

    assert catalogues == {"xid", "sxid", "nccl", "cuda"}
    assert sum(code.catalogue == "sxid" for code in covered().codes) == 420


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("xid 79", "gpu.fell-off-bus"),
        ("xid 144 to 550", "platform.confidential-computing"),
        ("xid 144 from 560", "gpu.nvlink-error"),
        ("xid 151", "platform.confidential-computing"),
        ("sxid 12020", "gpu.nvlink-error"),
        ("nccl shared-gpu", "nccl.duplicate-gpu"),
        ("cuda cuda 804", "driver.cuda-compat-misuse"),
    ],
)
def test_where_a_code_leads(code, cause):
    """Tried with evidence of it alone."""
    found = {f"{one.catalogue} {one.id}": one.causes for one in covered().codes}

    assert cause in found[code]


def test_a_code_without_a_cause_has_a_reason():
    """Xid 78 is trouble of the host, with no cause in the vocabulary."""
    found = next(one for one in covered().codes if (one.catalogue, one.id) == ("xid", "78"))

    assert found.causes == ()
    assert "host" in found.otherwise


@pytest.mark.skipif(not CASES.exists(), reason="the cases are not at hand")
def test_cases_are_shown_at_the_causes_that_they_exercise():
    """By their right answers."""
    row = next(row for row in covered().causes if row.id == "p2p.iommu-corruption")

    assert "seed-2-iommu-dma-faults" in row.cases or any(name.startswith("seed-") for name in row.cases)
    assert any("have no case" in line for line in as_lines(covered()))


@pytest.fixture
def few_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rules instead of all, and no trying of codes."""
    monkeypatch.setattr(rules_kit, "shipped_rules", lambda: GOOD)
    monkeypatch.setattr(rules_coverage, "code_rows", lambda _: [])


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["coverage", *map(str, arguments)])


@pytest.mark.usefixtures("few_rules")
def test_an_id_without_a_rule_is_said():
    """And ends with 1."""
    result = run()

    assert result.exit_code == 1
    assert "gpu.fell-off-bus: lacks a rule" in result.stdout
    assert "driver.userspace-kernel-mismatch: lacks a rule" not in result.stdout


@pytest.mark.usefixtures("few_rules")
def test_json_has_rows_and_what_is_unaccounted_for():
    """Cause by cause."""
    found = json.loads(run("--format", "json").stdout)

    assert found["schema"] == "diagnose.coverage/1"
    row = next(row for row in found["causes"] if row["id"] == "p2p.iommu-corruption")
    assert row["file"].endswith("iommu-corruption.yaml")
    assert "cases" not in row
    assert any(one.startswith("gpu.fell-off-bus") for one in found["unaccounted"])


@pytest.mark.usefixtures("few_rules")
def test_a_corpus_names_its_cases(tmp_path):
    """Also what is wrong beside the first answer; an id that nobody knows is said."""
    case = tmp_path / "one"
    case.mkdir()
    (case / "case.yaml").write_text("causes: [gpu.fell-off-bus]\nalso: [gpu.no-such-thing]\n")

    found = run("--corpus", tmp_path).stdout

    assert "cases: one" in found
    assert "one want `gpu.no-such-thing`, which is not in the vocabulary" in found


@pytest.mark.usefixtures("few_rules")
def test_a_corpus_without_cases_is_refused(tmp_path):
    """With what was expected there."""
    assert run("--corpus", tmp_path).exit_code == 2
    with pytest.raises(InputError, match="expected case folders"):
        cases_of(tmp_path)


def test_an_unreadable_case_is_named(tmp_path):
    """With its place."""
    (tmp_path / "case.yaml").write_text("- no mapping\n")

    with pytest.raises(InputError, match=r"case\.yaml"):
        cases_of(tmp_path)


def test_what_a_rule_lacks_is_said_in_words():
    """Of one that was stripped."""
    cause = base().causes["driver.too-old-for-cuda"]
    bare = cause.model_copy(update={"because": " ", "examples": (), "remedies": (), "references": ()})

    found = list(lacking(base(), bare))

    assert found[:5] == [
        "a mechanism (because)",
        "an example that comes out",
        "2 more examples that do not come out",
        "a remedy",
        "a reference",
    ]
    assert "an example of ptx-is-newer" in found


def test_a_mechanism_is_each_alternative_of_a_heavy_clause():
    """Seen where an example makes it true."""
    cause = base().causes["driver.too-old-for-cuda"]
    bare = cause.model_copy(update={"examples": cause.examples[:1]})

    found = {str(one): one.seen for one in mechanisms(base(), bare)}

    assert found["torch-names-the-drivers-cuda"]
    assert not found["call-needs-a-newer-driver, alternative 2"]
    assert "cuda-says-insufficient" not in found


def test_codes_without_rules_lead_nowhere():
    """But for what the catalogues themselves say."""
    empty = base().model_copy(update={"causes": {}})

    found = [code for code in code_rows(empty) if code.catalogue == "xid"]

    assert not any(code.causes for code in found)
    assert not any(code.accounted_for for code in found if code.id == "79")
