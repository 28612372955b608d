"""Codes that no rule takes are explained by their catalogues; what a standing cause rests on is not said again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from diagnose.cli import app
from diagnose.render.codes import ADVICE, OF_GROUP
from kb.catalogues import XidAction, XidGroup
from kb.vocabulary import vocabulary

UNKNOWN = """\
[   12.345678] NVRM: Xid (PCI:0000:41:00): 78, pid=1234, name=python3, vGPU start failed
[   12.345700] NVRM: Xid (PCI:0000:41:00): 43, pid=1234, name=python3, Ch 00000008
a17:311:340 [0] proxy.cc:58 NCCL WARN Could not find pool of op 0x7f00
RuntimeError: CUDA error: the launch timed out and was terminated
nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)
"""
KNOWN = """\
[   12.345678] NVRM: Xid (PCI:0000:41:00): 79, pid=1234, name=python3, GPU has fallen off the bus.
[   12.345700] NVRM: Xid (PCI:0000:61:00): 43, pid=1234, name=python3, Ch 00000008
"""


def explained(folder: Path, text: str, *arguments: str) -> str:
    (folder / "log.txt").write_text(text)
    return CliRunner().invoke(app, ["explain", str(folder / "log.txt"), *arguments]).stdout


def codes(folder: Path, text: str) -> list[dict[str, object]]:
    return json.loads(explained(folder, text, "--format", "json"))["explained_codes"]


def test_json_has_each_code_with_its_meaning_and_a_test(tmp_path):
    found = {str(one["code"]): one for one in codes(tmp_path, UNKNOWN)}

    assert found["Xid 78 (VGPU_START_ERROR)"]["kind"] == "xid"
    assert "update driver and firmware" in str(found["Xid 78 (VGPU_START_ERROR)"]["means"])
    assert "only follows" in str(found["Xid 43 (RESETCHANNEL_VERIF_ERROR)"]["means"])
    assert "not fatal" in str(found["SXid 12028"]["means"])
    launch = found["CUDA error 702 (cudaErrorLaunchTimeout)"]
    assert launch["certainty"] == "low"
    assert launch["next_test"]["id"] == "gpu-modes"
    assert launch["next_test"]["commands"]
    assert launch["evidence"][0]["source"]["line"] == 4
    assert any(one["kind"] == "nccl" for one in found.values())


def test_text_says_them_where_no_fault_stands(tmp_path):
    text = " ".join(explained(tmp_path, UNKNOWN).split())

    assert "WHAT THE CODES MEAN by their catalogues; accuses nothing by itself" in text
    assert "virtual GPU could not start" in text
    assert "To learn more: Read what the kernel logged on GPUs" in text


def test_markdown_says_them_too(tmp_path):
    text = explained(tmp_path, UNKNOWN, "--format", "markdown")

    assert "## What the codes mean" in text
    assert "Xid 78 (VGPU_START_ERROR)" in text.replace("\\_", "_")


def test_under_a_fault_they_are_shown_on_demand(tmp_path):
    """What the fault rests on is in its own lines."""
    assert "WHAT THE CODES MEAN" not in explained(tmp_path, KNOWN)
    assert "Xid 43" in explained(tmp_path, KNOWN, "--all").partition("WHAT THE CODES MEAN")[2]
    assert [one["code"] for one in codes(tmp_path, KNOWN)] == ["Xid 43 (RESETCHANNEL_VERIF_ERROR)"]


@pytest.mark.parametrize("number", [250, 999])
def test_a_number_that_nobody_knows_is_said_to_be_unknown(tmp_path, number):
    found = codes(tmp_path, f"[   1.000000] NVRM: Xid (PCI:0000:41:00): {number}, pid=1, name=x, y\n")

    assert "does not know this number" in str(found[0]["means"])


def test_every_action_and_group_has_words():
    from typing import get_args

    assert set(ADVICE) == set(get_args(XidAction))
    assert set(OF_GROUP) <= set(get_args(XidGroup))
    assert {cause for causes in OF_GROUP.values() for cause in causes} <= set(vocabulary())
