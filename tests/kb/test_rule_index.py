"""The index of the rules says what the rules say, and is not used where it does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kb import rule_index
from kb.load import load_rules, shipped_rules
from kb.rule_index import INDEX, diagnosing_rules, index_text


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the rules in place of those of this program."""
    shutil.copytree(shipped_rules(), tmp_path / "rules")
    monkeypatch.setattr(rule_index, "shipped_rules", lambda: tmp_path / "rules")
    return tmp_path / "rules"


def test_the_index_is_current():
    """`make index` writes it anew."""
    assert (shipped_rules() / INDEX).read_text(encoding="utf-8") == index_text()


def test_the_index_gives_the_rules_without_their_examples():
    whole, indexed = load_rules(), diagnosing_rules()

    assert indexed.symptoms == whole.symptoms
    assert indexed.probes == whole.probes
    assert indexed.files == whole.files
    assert indexed.causes == {
        name: cause.model_copy(update={"examples": ()}) for name, cause in whole.causes.items()
    }


def test_a_rule_that_was_changed_is_read_anew(copied: Path):
    file = copied / "causes" / "net" / "port-conflict.yaml"
    file.write_text(file.read_text().replace("prior: common", "prior: rare\n", 1))

    assert diagnosing_rules().causes["net.port-conflict"].prior == "rare"


def test_a_rule_that_was_taken_away_is_not_there(copied: Path):
    (copied / "causes" / "net" / "port-conflict.yaml").unlink()

    assert "net.port-conflict" not in diagnosing_rules().causes


@pytest.mark.parametrize("content", [None, "", "[]x"])
def test_without_a_sound_index_the_rules_are_read(copied: Path, content: str | None):
    (copied / INDEX).unlink()
    if content is not None:
        (copied / INDEX).write_text(content)

    assert diagnosing_rules() == load_rules(copied)
