"""Every kind of broken rule gives one clear message at the right place."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kb.check import CHECKS, check, names
from kb.check.regex import fault_of_expression
from kb.load import parse_rules, read_rules
from kb.vocabulary import vocabulary

GOOD = Path(__file__).parent.parent / "rules" / "good"
MISMATCH = "causes/driver/userspace-kernel-mismatch.yaml"
IOMMU = "causes/p2p/iommu-corruption.yaml"
NVML = "symptoms/nvml-fails.yaml"
MARK = "«"


class Broken(NamedTuple):
    """One kind of broken rule: changes to a good one with a mark at the fault, and what must be said."""

    id: str
    file: str
    changes: list[tuple[str, str]]
    message: str

    def text(self) -> str:
        """The text of the broken file, with the mark in it."""
        text = (GOOD / self.file).read_text(encoding="utf-8")
        for old, new in self.changes:
            assert old in text, f"{old!r} is not in {self.file}"
            text = text.replace(old, new, 1)
        return text


def broken_rules() -> list[Broken]:
    """The table of broken rules."""
    table = yaml.safe_load(Path(__file__).with_name("broken.yaml").read_text(encoding="utf-8"))
    return [
        Broken(row["id"], row["file"], [pair for one in row["change"] for pair in one.items()], row["says"])
        for row in table
    ]


def rules_with(tmp_path: Path, case: Broken) -> Path:
    """A copy of the good rules, one of them broken."""
    root = tmp_path / "rules"
    shutil.copytree(GOOD, root)
    (root / case.file).write_text(case.text().replace(MARK, ""), encoding="utf-8")
    return root


def marked_place(text: str) -> tuple[int, int]:
    """Line and column of the mark."""
    before = text[: text.index(MARK)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize("case", broken_rules(), ids=lambda case: case.id)
def test_a_broken_rule_gives_its_message_at_its_place(
    case: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message stands at the marked line and column, once."""
    root = rules_with(tmp_path, case)
    monkeypatch.setattr(names, "shipped_rules", lambda: root)

    errors = [error for error in check(read_rules(root)) if case.message in error.message]

    assert [(error.place.line, error.place.column) for error in errors] == [marked_place(case.text())]
    assert errors[0].place.path == str(root / case.file)


def test_good_rules_have_no_fault() -> None:
    """The rules that all cases start from are sound."""
    assert check(read_rules(GOOD)) == []


def test_most_faults_are_said_alone(tmp_path: Path) -> None:
    """A single mistake is not buried under others that only follow from it."""
    case = next(case for case in broken_rules() if case.id == "an unknown field")

    assert len(check(read_rules(rules_with(tmp_path, case)))) == 1


def test_a_deprecated_cause_is_not_replaced_by_another_one(tmp_path: Path) -> None:
    """What the report sends people to must last; both rules are told, each at the name."""
    root = tmp_path / "rules"
    shutil.copytree(GOOD, root)
    for file, other in ((MISMATCH, "p2p.iommu-corruption"), (IOMMU, "driver.userspace-kernel-mismatch")):
        path = root / file
        gone = f"status: deprecated\nreplaced_by: {other}"
        path.write_text(re.sub("status: .*", gone, path.read_text(), count=1))

    said = [error.message for error in check(read_rules(root))]

    assert said == [
        "`p2p.iommu-corruption` is deprecated itself; name what has taken its place",
        "`driver.userspace-kernel-mismatch` is deprecated itself; name what has taken its place",
    ]


def test_all_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    """Faults of loading and of checking, of several files, in order of file and line."""
    root = tmp_path / "rules"
    shutil.copytree(GOOD, root)
    for file in (MISMATCH, IOMMU):
        path = root / file
        path.write_text(
            path.read_text().replace("prior: ", "prior: very-", 1).replace("peer_copy: {src: 0", "gpuu: {src: 0")
        )
    (root / NVML).write_text((root / NVML).read_text().replace("nvml_error", "nvml_erorr"))

    errors = check(read_rules(root))

    places = [(error.place.path, error.place.line) for error in errors]
    assert len({path for path, _ in places}) == 3
    assert places == sorted(places)


VALUES = ["", '""', "3", "true", "[]", "{}", "[a, b]", "{a: b}", "$a.b", '"{a.b}"', '"{"', "{gpu: }", "{not: x}"]
VALUES += [
    "{lt: [1, 2]}",
    "{matches: 3}",
    "{looked: {a: b}}",
    "{partly: [[x]]}",
    "{symptom: {id: 3}}",
    "[{a: {gpu: }}]",
]


@given(st.sampled_from([MISMATCH, IOMMU, NVML]), st.integers(0, 90), st.sampled_from(VALUES))
def test_checks_never_fail_themselves(file: str, number: int, value: str) -> None:
    """Whatever stands where a value stood, the outcome is a list of faults."""
    lines = (GOOD / file).read_text(encoding="utf-8").splitlines()
    line = lines[number % len(lines)]
    lines[number % len(lines)] = f"{line.partition(':')[0]}: {value}"

    errors = check(parse_rules("\n".join(lines), str(GOOD / file)))

    assert all(error.message and "\n" not in error.message for error in errors)


def test_every_check_says_what_it_holds() -> None:
    """Each check is one function with a docstring, and no name is used twice."""
    assert all(one.__doc__ for one in CHECKS)
    assert len({f"{one.__module__}.{one.__name__}" for one in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        (r"^NVRM: Xid \(PCI:[0-9a-f:.]+\): (79|48),", True),
        (r"(?:[0-9a-f]{2}:){3}", True),
        (r"(?:, \d+)?", True),
        (r"(?P<name>abc)+(?i:x)", True),
        (r"[(]a+[)]+", True),
        (r"\(a+\)+", True),
        (r"(a+)+", False),
        (r"(a|ab)*", False),
        (r"(?:(?:x+)y)*", False),
        (r"(a?)+", False),
        (r"(\d+){2,}", False),
        (r"(.*){3}", False),
        (r"a{3", True),
        (r"a(", False),
        (r"[a", False),
    ],
)
def test_expressions_that_may_run_away_are_refused(text: str, sound: bool) -> None:
    """A group that repeats without end may hold neither a repetition nor alternatives."""
    assert (fault_of_expression(text) == "") is sound


def test_the_vocabulary_has_families() -> None:
    """Each id is family.name, and says what it is."""
    assert len(vocabulary()) > 100
    assert all(cause.count(".") == 1 and text for cause, text in vocabulary().items())


def test_faults_of_loading_hide_no_others(tmp_path: Path) -> None:
    """One go is enough: what a rule with a misspelt key and a wrong choice says elsewhere is checked as well."""
    root = tmp_path / "rules"
    shutil.copytree(GOOD, root)
    path = root / MISMATCH
    text = path.read_text()
    for old, new in (
        ("prior: common", "prior: commn"),  # a wrong choice
        ("requires:", "requirs:"),  # a misspelt key, whose content is checked under its right name
        ("kernel_module: {name: nvidia", "kernel_module: {nam: nvidia"),
        ("verify: ", "verify: not-"),
        ("explains: [", "explains: [no-such-symptom, "),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)

    said = [error.message for error in check(read_rules(root))]

    assert [message.partition(";")[0] for message in said] == [
        "`requires` is missing",
        "expected one of common, uncommon or rare, found `commn`",
        "unknown symptom `no-such-symptom`",
        "unknown key `requirs`",
        "`kernel_module` has no field `nam`",
        "no clause is named `not-library-differs`",
    ]


def test_what_only_follows_from_a_fault_of_loading_is_not_said(tmp_path: Path) -> None:
    """A binding in what can't be read is missed by nobody."""
    root = tmp_path / "rules"
    shutil.copytree(GOOD, root)
    path = root / MISMATCH
    path.write_text(
        path.read_text().replace("module: {kernel_module:", "module: [kernel_module]\n  x: {kernel_module:")
    )

    said = [error.message for error in check(read_rules(root))]

    assert len(said) == 1
    assert "expected one fact kind under binding `module`" in said[0]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("experimental", "expected an example that ends otherwise than confirmed or likely, found none"),
        ("stable", "expected 2 examples that end otherwise than confirmed or likely, found none"),
    ],
)
def test_how_many_examples_are_wanted_is_said_in_good_grammar(status: str, said: str) -> None:
    """One is not `1 examples`."""
    text = (GOOD / MISMATCH).read_text().replace("status: stable", f"status: {status}")
    text = re.sub("expect: (?!confirmed|likely).*", "expect: likely", text)

    assert said in [error.message for error in check(parse_rules(text, str(GOOD / MISMATCH)))]
