"""`diagnose collect --probe`: what is asked for, what is said, and what is in the bundle."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collectors.probes import NAMES
from collectors.taking import Wanted
from diagnose.collecting import collect_bundle
from diagnose.probing import probing
from kb.errors import InputError


def test_probes_are_told_of_on_stderr_and_are_in_the_bundle(tmp_path, capfd):
    """Also where the time of the collection itself is spent; standard output stays clean."""
    folder = collect_bundle(
        tmp_path / "bundle", 0.0, Wanted(), probing(["shm, network", "shm"], None, anyway=False)
    )
    out, err = capfd.readouterr()

    assert sorted(path.name for path in (folder / "probes").iterdir()) == ["network.jsonl", "shm.jsonl"]
    assert out == ""
    assert err.splitlines()[:2] == [
        "diagnose: probe shm: writes up to 16 MiB to /dev/shm and takes them away again",
        "diagnose: probe shm: completed",
    ]


@pytest.mark.parametrize(
    ("names", "python", "complaint"),
    [
        (["p2p,ptp"], None, r"expected probes among shm, .*, p2p; found ptp"),
        (["p2p,"], None, r"expected probes among shm, .*, p2p; found nothing between two commas"),
        (
            ["p2p"],
            "/nowhere/python",
            "expected a Python at /nowhere/python, found none that can be run; check --python",
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_collected(names, python, complaint):
    with pytest.raises(InputError, match=complaint):
        probing(names, python, anyway=False)


def test_a_python_stays_the_one_that_was_named(tmp_path):
    """A virtual environment is known by the path of its link."""
    (tmp_path / "python").symlink_to("/bin/sh")

    assert probing(["shm"], str(tmp_path / "python"), anyway=False).python == str(tmp_path / "python")


@pytest.mark.parametrize("name", ["p2p", "staged", "allreduce", "nccl-init", "cuinit", "shm", "network"])
def test_each_probe_can_be_asked_for_by_the_name_in_the_help(name):
    assert {probe.asked_as for probe in probing([name], None, anyway=True).probes} == {name}


def test_the_page_on_probes_tells_of_each_in_the_order_in_which_they_run():
    """`|` and the name begin its row."""
    page = (Path(__file__).parents[2] / "docs" / "probes.md").read_text()

    assert tuple(re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)) == NAMES
