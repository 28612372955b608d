"""Lines that no reader knows are found by the texts that rules ask for, in small files and in large ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.content import HELD, Content
from collectors.open import File
from collectors.readers.log_lines import MOST_SORTS, line_readers
from collectors.scan import read_all
from diagnose.explain import read_case, read_files
from kb.asked import asked_lines
from kb.check import check
from kb.evidence import Looked, Observed
from kb.load import load_rules, parse_rules

EVICTED = "This client was evicted by"
LINE = f"[ 8321.445566] LustreError: 167-0: a-OST0002-osc: {EVICTED} a-OST0002; operations will fail."


def found(log: str, *texts: str) -> list[dict[str, object]]:
    _, readings = read_all([File("kernel.log", Content(log.encode()))], line_readers(texts or (EVICTED,)))
    facts = [one.fact for one in readings if isinstance(one, Observed) and one.fact.kind == "log_line"]
    return [fact.model_dump(exclude_defaults=True) for fact in facts]


def test_a_line_is_found_by_its_text_and_told_without_its_stamp():
    said = f"LustreError: 167-0: a-OST0002-osc: {EVICTED} a-OST0002; operations will fail."

    assert found(f"one\n{LINE}\nthree\n") == [{"holds": EVICTED, "text": said}]


@pytest.mark.parametrize(
    ("before", "rank"),
    [
        ("Jan 31 12:00:00 gpu07 kernel: ", None),
        ("<3>[  12.345678] ", None),
        ("[rank3]: ", "rank 3"),
        ("3: ", "task 3"),
    ],
)
def test_what_journals_and_launchers_put_before_it_is_left_out(before: str, rank: str | None):
    facts = found(f"{before}mmfs: {EVICTED} its server\n")

    assert [one["text"] for one in facts] == [f"mmfs: {EVICTED} its server"]
    assert [one.get("rank") for one in facts] == [rank]


def test_lines_that_differ_only_in_numbers_are_one_fact_with_their_count():
    log = "".join(f"[ {number}.000001] x-OST{number:04}: {EVICTED} x-OST{number:04}\n" for number in range(5))

    assert [(one["text"], one.get("count", 1)) for one in found(log)] == [(f"x-OST0000: {EVICTED} x-OST0000", 5)]


def test_memory_does_not_grow_with_the_sorts_of_lines():
    words = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(100, 200)]
    facts = found("".join(f"{word} {EVICTED} {word}\n" for word in words))

    assert len(facts) == MOST_SORTS
    assert sum(int(str(one.get("count", 1))) for one in facts) == len(words)


def test_what_is_not_asked_for_is_not_read_and_other_readers_read_on():
    xid = "[ 1.000000] NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"
    _, readings = read_all([File("kernel.log", Content((xid + LINE).encode()))])
    kinds = {one.fact.kind for one in readings if isinstance(one, Observed)}

    assert "log_line" not in kinds
    assert "logged_xid" in kinds


def test_a_large_file_gives_the_same(tmp_path: Path):
    """Of it, a reader gets only the lines that it wants."""
    file = tmp_path / "kernel.log"
    filler = b"[    1.000000] nothing to see here, move along now\n" * 1000
    with file.open("wb") as stream:
        while stream.tell() <= HELD:
            stream.write(filler)
        stream.write(f"{LINE}\n".encode())
    facts = [one for one in read_case([str(file)], lines=(EVICTED,)).observed if one.fact.kind == "log_line"]

    assert [one.source.text for one in facts] == [LINE]


def test_that_no_line_holds_it_proves_nothing():
    _, parts = read_files([File("a.log", Content(b"nothing\n"))], (EVICTED,))
    looked = [one for one in parts[""] if isinstance(one, Looked) and one.kind == "log_line"]

    assert [(one.complete, one.where) for one in looked] == [(False, "a.log")]


SYMPTOM = "symptom: x\ntitle: t\nsays: s\nwhen: {line: {log_line: {%s}}}\n"


def test_the_texts_of_all_patterns_are_asked_for_once():
    base = parse_rules(SYMPTOM % 'holds: ["was evicted by", "was evicted by", "lost its lease"]', "x.yaml").base

    assert asked_lines(base) == ("was evicted by", "lost its lease")


def test_the_rules_of_this_program_ask_for_no_line():
    """They have readers, so that no run is slower for it."""
    assert asked_lines(load_rules()) == ()


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ('text: {matches: "evicted"}', "expected `holds: a text that the line holds`"),
        ("holds: {not: was evicted by}", "expected `holds: a text that the line holds`"),
        ("holds: error", "expected one line's text of at least 8 characters, found `error`"),
        ('holds: "two\\nlines of it"', "expected one line's text of at least 8 characters"),
    ],
)
def test_a_line_that_could_not_be_found_is_a_fault(tests: str, message: str):
    faults = [one.message for one in check(parse_rules(SYMPTOM % tests, "x.yaml"))]

    assert [one for one in faults if message in one] != []
