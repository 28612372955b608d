"""The JSON keeps the contract, and says what the diagnosis says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import samples
from report_contract import Named, breaches

from diagnose.render.json_report import report_json
from diagnose.render.neutral import json_text
from diagnose.render.proof import proof_of


@pytest.mark.parametrize("name", samples.SITUATIONS)
@pytest.mark.parametrize("everything", [False, True])
def test_the_report_keeps_the_contract(name, everything):
    """Every key of the contract is there with its type, in every situation."""
    report = report_json(samples.SITUATIONS[name](), everything=everything)

    assert breaches(report, Named("report")) == []
    assert breaches(json.loads(json_text(report)), Named("report")) == []


def test_the_checker_finds_what_is_broken():
    """A check that never fails proves nothing."""
    report = report_json(samples.confirmed())
    del report["causes"][0]["proof"]["because"][0]["rule"]
    report["causes"][0]["confidence"] = "high"
    report["causes"][0]["remedies"][0]["disruption"] = "nothing"
    report["stats"]["bytes"] = True
    del report["unknown"]

    assert [one.split(": ")[0] for one in breaches(report, Named("report"))] == [
        "report.unknown",
        "report.causes[0].confidence",
        "report.causes[0].proof.because[0].rule",
        "report.causes[0].remedies[0].disruption",
        "report.stats.bytes",
    ]


def test_the_first_cause_is_the_answer():
    """Causes are the findings in their order; with everything, the weaker ones after them."""
    report = report_json(samples.undecided())
    all_of_it = report_json(samples.undecided(), everything=True)

    assert [one["id"] for one in report["causes"]] == ["state.insufficient-evidence", "nccl.init-blocked"]
    assert [one["id"] for one in all_of_it["causes"]][2:] == ["p2p.acs-redirect"]


def test_a_cause_says_what_the_finding_says():
    """Fields of the contract and the added ones."""
    cause = report_json(samples.likely())["causes"][0]

    assert cause["id"] == "p2p.iommu-corruption"
    assert cause["kind"] == "fault"
    assert cause["confidence"] == 0.853
    assert cause["explains"] == ["p2p-data-wrong", "start-blocked"]
    assert cause["subjects"] == ["GPU 0000:01:00.0", "host a17"]
    assert (cause["verdict"], cause["score"], cause["prior"]) == ("likely", 15, -20)
    assert (cause["status"], cause["consequence_of"]) == ("experimental", None)
    assert cause["rivals"][0] == {
        "id": "nccl.init-blocked",
        "title": samples.BLOCKED.title,
        "verdict": "possible",
        "margin": 15,
    }


def test_evidence_is_quoted_as_it_stands():
    """Text, place, hash, weight and rule; an absence is cited at the places that were looked at."""
    evidence = report_json(samples.likely())["causes"][0]["evidence"]

    assert [(one["source"]["path"], one["source"]["line"], one["weight"]) for one in evidence] == [
        ("var/log/dmesg.txt", 10, 20),
        ("var/log/dmesg.txt", 11, 20),
        ("p2p.txt", 7, 10),
        ("server.log", 0, 5),
    ]
    assert evidence[2]["text"] == "peer copy 0 -> 1: 67108864 elements, 67108864 wrong (dst reads 0.0)"
    assert evidence[2]["source"]["sha256"] == samples.SHA
    assert evidence[2]["rule"] == "p2p.iommu-corruption"
    assert evidence[3]["text"] == "not so: a GPU logged memory errors"
    assert evidence[3]["looked"] == ["server.log", "var/log/dmesg.txt"]


def test_hostile_evidence_is_data():
    """It comes back from the JSON exactly as it stood in its source."""
    report = json.loads(json_text(report_json(samples.hostile())))

    assert report["causes"][0]["subjects"] == [samples.HOSTILE]


def test_what_is_missing_comes_with_the_command_that_would_tell():
    """Heaviest first; the gaps of its words show as the fields they would be filled from."""
    missing = report_json(samples.likely())["causes"][0]["missing"]

    assert missing[0] == {
        "fact": "iommu_group",
        "why": "iommu_group was not looked for",
        "command": "grep -H . /sys/kernel/iommu_groups/*/type",
        "clause": "gpu-domain-translates",
        "says": "GPU … is in an IOMMU domain of type …",
        "could_add": 60,
        "ask": "iommu-groups",
    }


def test_the_proof_goes_down_to_the_lines():
    """Conclusion, requirement, clause, combined fact, line."""
    proof = report_json(samples.confirmed())["causes"][0]["proof"]
    requirement, library = proof["because"][:2]

    assert proof["conclusion"] == f"{samples.USERSPACE.title} (machine)"
    assert requirement["because"][0]["source"]["path"] == "proc_driver_nvidia_version.txt"
    assert library["conclusion"].endswith("is 565.57.01, the loaded module is 590.48.01")
    assert library["because"][0]["rule"] == "combine.resolved_library"
    assert [leaf["source"]["path"] for leaf in library["because"][0]["because"]] == ["ldconfig.txt", "libs.txt"]


def test_a_symptom_in_the_proof_is_a_step_of_its_own():
    """Named by its rule, resting on the lines that show it."""
    proof = report_json(samples.undecided())["causes"][1]["proof"]

    assert proof["because"][0]["conclusion"] == "The start blocks (machine)"
    assert proof["because"][0]["rule"] == "start-blocked"
    assert proof["because"][0]["because"][0]["text"] == samples.BEGIN.source.text


def test_a_remedy_can_be_run_undone_and_checked():
    """Where its rule gives no check, a fresh collection is one."""
    first, second = report_json(samples.likely())["causes"][0]["remedies"]

    assert (first["id"], second["id"]) == ("p2p.iommu-corruption/1", "p2p.iommu-corruption/2")
    assert first["commands"] == ["export NCCL_P2P_DISABLE=1"]
    assert (first["risk"], first["disruption"], first["needs_root"]) == ("none", "process", False)
    assert first["rollback"] == ["unset NCCL_P2P_DISABLE"]
    assert first["verify"] == ["diagnose collect", "diagnose explain"]
    assert first["expect"] == (
        "a fresh collection no longer shows that "
        "the destination of the copy from GPU 0 to GPU 1 reads 0.0 throughout"
    )
    assert first["references"] == list(samples.IOMMU.references)
    assert (first["lasting"], second["lasting"]) == (False, True)
    assert second["verify"][1] == "diagnose probe peer-copy --all-pairs"


def test_next_tests_say_what_they_cost_and_separate():
    """Cost is a time that people read, seconds are for programs."""
    test = report_json(samples.likely())["next_tests"][2]

    assert test["id"] == "peer-copy"
    assert (test["cost"], test["seconds"], test["risk"], test["disruption"]) == ("45 s", 45, "none", "process")
    assert test["separates"] == ["p2p.iommu-corruption"]


def test_stats_are_rounded_and_name_the_engine():
    """Nobody needs a microsecond."""
    assert report_json(samples.healthy())["stats"] == {
        "seconds": 0.234,
        "bytes": 5108,
        "facts": 64,
        "rules_fired": 37,
        "peak_rss_mb": 61.2,
        "engine": "plain",
    }


def test_json_does_without_rich():
    """A report for a program starts fast."""
    code = "import sys, diagnose.render.json_report; print([m for m in sys.modules if m.split('.')[0] == 'rich'])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


def test_a_proof_lists_fifty_lines_of_a_fact_and_counts_the_rest():
    """An aggregate over a long log must not make the report as long."""
    copies = [samples.read(samples.BAD_COPY.fact, "many.txt", number, "peer copy") for number in range(1, 61)]
    many = samples.combined(samples.BAD_COPY.fact, *copies)
    finding = samples.likely().diagnosis.findings[0]
    finding = replace(finding, hypothesis=replace(finding.hypothesis, bindings={"bad": many}))
    requirement = proof_of(finding, ())["because"][0]

    assert len(requirement["because"]) == 50
    assert requirement["omitted"] == 10
