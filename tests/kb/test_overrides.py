"""A user's rule stands in for one of this program, or changes its weights, only where it says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kb.check import check
from kb.errors import RuleErrors
from kb.load import load_rules, read_rules

GOOD = Path(__file__).parent.parent / "rules" / "good"
ID = "driver.userspace-kernel-mismatch"
SHIPPED = GOOD / "causes/driver/userspace-kernel-mismatch.yaml"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A rule file of a user with the id of a shipped cause, still empty."""
    file = tmp_path / "rules" / "causes" / "driver" / "userspace-kernel-mismatch.yaml"
    file.parent.mkdir(parents=True)
    return file


def rules(file: Path) -> Path:
    return file.parents[2]


def test_the_same_id_without_a_word_is_refused_and_the_way_out_is_told(mine: Path):
    mine.write_text(SHIPPED.read_text())

    with pytest.raises(RuleErrors, match=r"is defined already.*to replace it write `overrides: whole`"):
        load_rules(GOOD, rules(mine))


@pytest.mark.parametrize("order", [1, -1])
def test_a_whole_rule_stands_in_for_the_other(mine: Path, order: int):
    mine.write_text("overrides: whole\n" + SHIPPED.read_text().replace("title: The user", "title: Ours. The user"))
    base = load_rules(*[GOOD, rules(mine)][::order])

    assert base.causes[ID].title.startswith("Ours.")
    assert base.files[ID] == str(mine)
    assert base.overridden[ID].changes == ("all of it",)
    assert len(base.causes) == 3


def test_weights_prior_and_status_are_changed_alone(mine: Path):
    mine.write_text(
        f"cause: {ID}\n"
        "because: we always pin the libraries\n"
        "overrides: {prior: rare, status: stable, weights: {nvml-says-so: weak, nvml-works: strong}}\n"
    )
    shipped, base = load_rules(GOOD).causes[ID], load_rules(GOOD, rules(mine))

    assert [one.weight for one in base.causes[ID].clauses] == ["conclusive", "weak", "strong"]
    assert base.causes[ID].prior == "rare"
    assert base.causes[ID].remedies == shipped.remedies
    assert base.overridden[ID].changes == (
        "prior rare instead of common",
        "nvml-says-so weak instead of strong",
        "nvml-works strong instead of moderate",
    )
    assert base.overridden[ID].file == str(mine)
    assert base.overridden[ID].because == "we always pin the libraries"


def test_a_cause_that_a_user_puts_back_into_use_is_replaced_by_nothing(mine: Path, tmp_path: Path):
    root = tmp_path / "shipped"
    shutil.copytree(GOOD, root)
    shipped = root / "causes" / "driver" / "userspace-kernel-mismatch.yaml"
    gone = "status: deprecated\nreplaced_by: p2p.iommu-corruption"
    shipped.write_text(shipped.read_text().replace("status: stable", gone))
    mine.write_text(f"cause: {ID}\noverrides: {{status: stable}}\n")

    assert load_rules(root).causes[ID].standing == "deprecated, replaced by p2p.iommu-corruption"
    assert load_rules(root, rules(mine)).causes[ID].standing == "stable"
    assert load_rules(root, rules(mine)).causes[ID].replaced_by == ()


def test_two_overrides_of_one_cause_are_refused(mine: Path, tmp_path: Path):
    mine.write_text(f"cause: {ID}\noverrides: {{prior: rare}}\n")
    other = tmp_path / "other" / "driver" / "userspace-kernel-mismatch.yaml"
    other.parent.mkdir(parents=True)
    other.write_text(mine.read_text())

    with pytest.raises(RuleErrors, match="is overridden already"):
        load_rules(GOOD, rules(mine), other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overrides: {prior: seldom}", "expected one of common, uncommon or rare, found `seldom`"),
        ("overrides: {weight: {}}", "unknown key `weight`; did you mean `weights`?"),
        ("overrides: {weights: {nvml-say-so: weak}}", "is named `nvml-say-so`; did you mean `nvml-says-so`?"),
        ("overrides: {weights: {nvml-works: some}}", "found `some`"),
        ("overrides: all", "expected whole, found `all`"),
    ],
)
def test_what_is_wrong_with_an_override_is_said(mine: Path, text: str, message: str):
    mine.write_text(f"cause: {ID}\n{text}\n")

    errors = check(read_rules(rules(mine), beside=[GOOD]))

    assert any(message in error.message and error.place.line == 2 for error in errors)


def test_an_override_of_nothing_is_refused(mine: Path):
    mine.write_text("cause: driver.userspace-kernel-mismatsh\noverrides: {prior: rare}\n")

    messages = [error.message for error in check(read_rules(rules(mine), beside=[GOOD]))]

    assert any(f"to override; did you mean `{ID}`?" in message for message in messages)


def test_users_take_ids_of_their_own(mine: Path):
    own = mine.parent.parent / "acme" / "library-pinned.yaml"
    own.parent.mkdir()
    own.write_text(
        SHIPPED.read_text().replace(ID, "acme.library-pinned").replace("leads_to: [", "leads_to: [acme.late, ")
    )
    messages = [error.message for error in check(read_rules(own, beside=[GOOD])) if error.place.path == str(own)]

    assert len(messages) == 2
    assert "`acme.late` is not in the vocabulary" in messages[1]
    assert "tests the same as" in messages[0]


@pytest.mark.parametrize("name", ["Acme.queue", "acme", "acme.", "a.b.c", "acme.queue stuck", "acme.q_u"])
def test_ids_of_users_are_plain(mine: Path, name: str):
    mine.write_text(SHIPPED.read_text().replace(ID, name))
    messages = [error.message for error in check(read_rules(mine, beside=[GOOD]))]

    assert any("expected an id such as `acme.queue-stuck` (family.name)" in message for message in messages)
