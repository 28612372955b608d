"""The catalogue of NCCL's warnings covers every form of every release, and nothing that does not exist."""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from kb.facts.nccl import NcclClass
from kb.nccl_warnings import warning_row, warning_rows

MESSAGES = Path(__file__).parent.parent.parent.parent / "shared" / "domain" / "nccl_messages.csv"
NEWER = MESSAGES.with_name("nccl_newer_strings.txt")
needs_messages = pytest.mark.skipif(not MESSAGES.exists(), reason="the census of messages is not at hand")

_VALUE = re.compile(r"%[-0-9.*]*(?:l|z|h)*[a-zA-Z]")
_KINDS = {"s": "x1", "p": "0x7f"}


def rows() -> list[dict[str, str]]:
    with files("kb.catalogues").joinpath("nccl_warnings.csv").open(encoding="utf-8") as table:
        return list(csv.DictReader(table))


def filled(form: str) -> str:
    """A text that the form of a message may print."""
    return _VALUE.sub(lambda value: _KINDS.get(value[0][-1], "7"), form)


def warnings() -> list[tuple[str, str]]:
    """Text and source file of every WARN form of the public releases."""
    with MESSAGES.open(encoding="utf-8") as table:
        return [(filled(row["text"]), row["file"]) for row in csv.DictReader(table) if row["kind"] == "WARN"]


def test_rows_say_what_they_are_and_where_from():
    """Else nobody could check them, and a typing error would make a rule silent."""
    assert {row["class"] for row in rows()} == set(get_args(NcclClass))
    assert {row["source"] for row in rows()} <= {"tags", "binaries"}
    assert all(len(row["date"]) == 10 for row in rows())
    assert all(bool(row["form"]) != bool(row["place"]) for row in rows())
    assert all(row["means"].endswith(".") and len(row["means"]) < 140 for row in rows())
    assert len({row["id"] for row in rows()}) == len(rows())


@pytest.mark.parametrize("row", rows(), ids=[row["id"] for row in rows()])
def test_a_row_holds_for_its_own_example(row):
    """The first row that fits its example is the row itself."""
    found = warning_row(filled(row["example"]), row["files"].split(" ")[0])

    assert found is not None
    assert found.id == row["id"]


@needs_messages
def test_every_warning_of_every_release_is_covered():
    """So that a warning nobody wrote a rule for still helps."""
    unknown = [(text, file) for text, file in warnings() if warning_row(text, file) is None]

    assert unknown == []


@needs_messages
def test_no_row_covers_nothing():
    """Each row has a warning in a public release or a string in a newer binary."""
    seen = {row.id for text, file in warnings() if (row := warning_row(text, file))}
    strings = [
        filled(line[2:]) for line in NEWER.read_text(encoding="utf-8").splitlines() if line[:2] in {"  ", "- "}
    ]
    seen |= {row.id for text in strings if (row := warning_row(text, None))}

    assert {row.id for row in warning_rows()} - seen == set()


def test_a_warning_that_nobody_knows():
    """Is of no class."""
    assert warning_row("the moon is full", "moon.cc") is None
