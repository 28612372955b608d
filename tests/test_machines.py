"""Nine machines, collected as their users would do it and explained from the bundle alone.

What each machine suffers from, and what must be said of it, stands in its expected.yaml.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml
from machine_images import MACHINES, plant_machine

from collectors.live import collect
from collectors.live.sources import table
from diagnose.explain import explain
from diagnose.render.json_report import report_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACCUSES = 0.5
NOT_WRITTEN = 97
"""The exit code of a tool for arguments that its transcript lacks."""
NAMES = sorted(path.name for path in MACHINES.iterdir())


class Seen(NamedTuple):
    """A machine as it was expected, the manifest of its bundle, and the report on that."""

    expected: dict[str, Any]
    manifest: dict[str, Any]
    report: dict[str, Any]


def _cases() -> Iterator[Any]:
    """Each machine, with each set of logs that a user might add."""
    for name in NAMES:
        for expected in yaml.safe_load((MACHINES / name / "expected.yaml").read_text())["explained"]:
            yield pytest.param((name, expected), id=f"{name}-with-log" if "logs" in expected else name)


@pytest.fixture(scope="module", params=_cases())
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """One collection, with no tools but those of the machine, and what is explained from it."""
    name, expected = request.param
    folder: Path = tmp_path_factory.mktemp(name)
    root, tools = plant_machine(name, folder)
    # Samples of the memory would be taken seconds apart; these machines are idle or stand still.
    sources = tuple(replace(source, after=None) for source in table(logs=tuple(expected.get("logs", ()))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tools))
        patch.setenv("HOME", "/root")
        patch.setattr("collectors.live.steps._MORE_PATH", ())
        bundle = collect(folder / "bundle", version="1", root=root, sources=sources, commands=True)
    return Seen(expected, json.loads((bundle / "manifest.json").read_bytes()), report_json(explain([str(bundle)])))


def test_the_first_cause_is_the_right_one(seen: Seen) -> None:
    """The answer is the first entry, and a fault is said to be likely at least."""
    first = seen.report["causes"][0]

    assert first["id"] == seen.expected["first"]
    assert first["kind"] == "state" or first["confidence"] >= ACCUSES


def test_nobody_else_is_accused(seen: Seen) -> None:
    """No fault besides the first cause gets a confidence of one half; the usual suspects are named."""
    accused = [c["id"] for c in seen.report["causes"] if c["kind"] == "fault" and c["confidence"] >= ACCUSES]

    assert [cause for cause in accused if cause != seen.expected["first"]] == []
    assert [cause for cause in seen.expected.get("must_not", ()) if cause in accused] == []


def test_the_proof_quotes_the_decisive_lines(seen: Seen) -> None:
    """The lines that an expert would point at stand in the evidence of the first cause."""
    quoted = "\n".join(evidence["text"] for evidence in seen.report["causes"][0]["evidence"])

    assert [line for line in seen.expected.get("quotes", ()) if line not in quoted] == []


def test_the_first_remedy_repairs_it(seen: Seen) -> None:
    """What the reader is told to do first is what an expert would do, and no fault means no remedy."""
    remedies = [remedy["title"] for remedy in seen.report["causes"][0]["remedies"]]

    assert [title[: len(seen.expected.get("remedy", ""))] for title in remedies[:1]] == [
        *filter(None, [seen.expected.get("remedy")])
    ]


def test_the_collection_used_nothing_but_the_machine(seen: Seen) -> None:
    """Every command that ran was written down, and no step ran into its deadline."""
    artifacts = seen.manifest["artifacts"]
    failed = [one["name"] for one in artifacts if one["exit_code"] == NOT_WRITTEN or one["outcome"] == "timed-out"]

    assert failed == []
    assert next(entry for entry in artifacts if entry["name"] == "etc-os-release")["outcome"] == "ok"
