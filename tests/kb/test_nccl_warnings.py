"""The catalogue of NCCL's warnings covers every form of every release, and nothing that does not exist.

What a newer release brings is found in its binary: `DIAGNOSE_LIBNCCL=/path/to/libnccl.so.2 pytest tests/kb`, or a
wheel nvidia-nccl-cu* in the environment of the tests.
"""

from __future__ import annotations

import csv
import os
import re
import struct
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
from nccl_binary import Message, messages

from kb.facts.nccl import NcclClass
from kb.load import load_rules, shipped_rules
from kb.nccl_warnings import class_rows, warning_row, warning_rows
from kb.vocabulary import vocabulary

MESSAGES = Path(__file__).parent.parent.parent.parent / "shared" / "domain" / "nccl_messages.csv"
NEWER = MESSAGES.with_name("nccl_newer_strings.txt")
needs_messages = pytest.mark.skipif(not MESSAGES.exists(), reason="the census of messages is not at hand")

WARN = 2

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


def library() -> Path | None:
    """The libnccl.so that is named in the environment, or that of an installed wheel."""
    named = os.environ.get("DIAGNOSE_LIBNCCL")
    if named:
        return Path(named)
    return next((so for entry in sys.path for so in Path(entry).glob("nvidia/nccl/lib/libnccl.so*")), None)


needs_library = pytest.mark.skipif(library() is None, reason="no libnccl.so is at hand (DIAGNOSE_LIBNCCL)")


@cache
def warnings_of_library() -> frozenset[tuple[str, str | None]]:
    """Text and source file of every WARN form of the library at hand; none without one."""
    found = library()
    if found is None:
        return frozenset()
    return frozenset((filled(one.text), one.file) for one in messages(found) if one.level == WARN)


@needs_library
def test_every_warning_of_the_library_is_covered():
    """What a new release warns of gets a row; where the source file was not found, the text need not tell."""
    found = warnings_of_library()

    assert len(found) > 100, "nothing was found in the library: does it pass its messages in another way?"
    assert sorted((file, text) for text, file in found if file and warning_row(text, file) is None) == []


@needs_messages
def test_no_row_covers_nothing():
    """Each row has a warning in a public release, a string in a newer binary, or a warning of the library at hand.

    Rows that are from binaries only can't be checked without one.
    """
    seen = {row.id for text, file in warnings() if (row := warning_row(text, file))}
    if library() is None:
        seen |= {row["id"] for row in rows() if row["source"] == "binaries"}
    seen |= {row.id for text, file in warnings_of_library() if (row := warning_row(text, file))}
    strings = [
        filled(line[2:]) for line in NEWER.read_text(encoding="utf-8").splitlines() if line[:2] in {"  ", "- "}
    ]
    seen |= {row.id for text in strings if (row := warning_row(text, None))}

    assert {row.id for row in warning_rows()} - seen == set()


def test_a_warning_that_nobody_knows():
    """Is of no class."""
    assert warning_row("the moon is full", "moon.cc") is None


def test_messages_of_a_binary_are_found_with_level_and_file(tmp_path):
    """A library of a few bytes: the loads of file, text and level, and the call."""
    texts, at = b"init.cc\0Something is wrong with %s\0", 0x200
    code = bytearray()
    for opcode, target in ((b"\x48\x8d\x15", at), (b"\x4c\x8d\x0d", at + len(b"init.cc\0"))):
        code += opcode + struct.pack("<i", target - (0x100 + len(code) + 7))
    code += b"\xbf\x02\0\0\0\xe8\0\0\0\0"
    header = bytearray(b"\x7fELF" + bytes(0xFC))
    struct.pack_into("<H", header, 18, 62)
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 1)
    struct.pack_into("<IIQQQQQQ", header, 64, 1, 5, 0, 0, 0, 0x300, 0x300, 1)
    file = tmp_path / "libnccl.so.2"
    file.write_bytes(bytes(header) + bytes(code).ljust(0x100, b"\0") + texts.ljust(0x100, b"\0"))

    assert messages(file) == {Message("Something is wrong with %s", WARN, "init.cc")}


def test_every_class_leads_somewhere():
    """To causes and a test that there are."""
    found = class_rows()

    assert sorted(found) == sorted(get_args(NcclClass))
    assert {cause for row in found.values() for cause in row.causes} <= set(vocabulary())
    assert {row.test for row in found.values()} <= set(load_rules(shipped_rules()).probes)
