"""A rule that is being written, tried on evidence: its proof, what it lacks, or what is wrong with it."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from diagnose.rules_command import app
from diagnose.rules_try import each_change

RULE = """\
cause: net.port-conflict
overrides: whole
title: A port is taken
status: experimental
prior: common
explains: [address-in-use]
because: Only one process can listen on a port.
requires: {it: {port_conflict: {}}}
for:
  taken: {when: {it: {port_conflict: {port: 29500}}}, weight: conclusive, says: "port {it.port} is taken"}
remedies: [{do: End it., undo: [start it again], verify: taken}]
references: [https://example.org/ports]
examples:
  - {name: taken, facts: [{port_conflict: {port: 29500}}], expect: confirmed}
  - {name: another, facts: [{port_conflict: {port: 1}}], expect: unlikely}
"""
LOG = "[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    path = tmp_path / "causes" / "net" / "port-conflict.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(RULE)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(LOG)
    return path


def tried(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["try", *map(str, arguments)])


def test_a_rule_that_comes_out_shows_its_proof(rule: Path, log: Path):
    result = tried(rule, log)

    assert result.exit_code == 0
    assert "CONFIRMED" in result.stdout
    assert "port 29500 is taken" in result.stdout


def test_a_rule_that_does_not_come_out_shows_what_it_lacks(rule: Path, log: Path):
    log.write_text("server_args=ServerArgs(model_path='m', tp_size=2)\n")
    result = tried(rule, log)

    assert result.exit_code == 0
    assert "CONFIRMED" not in result.stdout
    assert "port conflict" in result.stdout


def test_a_rule_with_a_fault_shows_it_at_its_line(rule: Path, log: Path):
    rule.write_text(RULE.replace("port_conflict: {}", "port_conflct: {}"))
    result = tried(rule, log)

    assert result.exit_code == 1
    assert f"{rule}:8:" in result.stdout
    assert "did you mean `port_conflict`?" in result.stdout


def test_a_path_without_a_cause_is_refused(tmp_path: Path, log: Path):
    result = tried(tmp_path / "nowhere.yaml", log)

    assert result.exit_code == 2


def test_watching_gives_a_turn_at_first_and_at_each_change(rule: Path):
    moments = iter((1, 2, 3))

    def save(_: float) -> None:
        moment = next(moments)
        if moment != 2:
            os.utime(rule, (moment, moment))

    turns = each_change(rule, save)

    assert len(list(islice(turns, 3))) == 3
    assert next(moments, None) is None
