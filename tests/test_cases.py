"""Real failures with the right answer, where they are at hand; skipped elsewhere."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.combine import combine
from collectors.scan import read_all
from diagnose.explain import read_case, rule_base
from engine.session import assess

SHARED = Path(__file__).parent.parent.parent / "shared"
SEEDS = sorted((SHARED / "cases").glob("seed-*"))
CASES = sorted((SHARED / "cases").glob("*/case.yaml"))
ACCUSES = 0.5

pytestmark = pytest.mark.skipif(not SEEDS, reason="the cases are not at hand")


def faults(files) -> dict[str, float]:
    _, readings = read_all(files)
    diagnosis = assess(rule_base(), [*readings, *combine(readings)])
    return {f.cause.cause: f.confidence for f in diagnosis.findings if f.cause.kind == "fault"}


def test_the_seed_cases_get_full_marks():
    """The scorer, as others run it."""
    command = [
        sys.executable,
        str(SHARED / "score"),
        "--diagnose",
        str(Path(sys.executable).with_name("diagnose")),
    ]
    done = subprocess.run([*command, *map(str, SEEDS)], capture_output=True, text=True, check=False)

    assert "first 5/5" in done.stdout
    assert "accused 0" in done.stdout
    assert "cited 5/5" in done.stdout


@pytest.mark.parametrize("case", SEEDS, ids=lambda case: case.name)
def test_deleting_any_file_of_a_seed_case_accuses_nobody_else(case):
    """Less evidence means less certainty, not another culprit."""
    import yaml

    spec = yaml.safe_load((case / "case.yaml").read_text())
    files = read_case([str(case / "evidence")]).opened.files
    whole = faults(files)
    allowed = set(whole) | set(spec["causes"]) | set(spec["acceptable"])
    for victim in files:
        accused = {
            c for c, confidence in faults([f for f in files if f is not victim]).items() if confidence >= ACCUSES
        }

        assert accused & set(spec["must_not"]) == set(), victim.path
        assert accused <= allowed, victim.path


@pytest.mark.parametrize("case", [path.parent for path in CASES], ids=lambda case: case.name)
def test_both_matchers_and_any_order_come_to_the_same(case):
    """The engine behind the fence, the plain one, and shuffled facts give one verdict."""
    base = rule_base()
    readings = list(read_case([str(case / "evidence")]).readings)
    shuffled = random.Random(case.name).sample(readings, len(readings))
    verdicts = {
        json.dumps(
            [
                (f.cause.cause, f.hypothesis.about, f.verdict, f.hypothesis.score)
                for f in (*diagnosis.findings, *diagnosis.weaker)
            ]
        )
        for diagnosis in (assess(base, readings, engine="plain"), assess(base, shuffled), assess(base, readings))
    }

    assert len(verdicts) == 1
