"""Lines that are passed over hold nothing that an expression would have found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.redact import Redactor
from collectors.redact.lines import kinds_of_lines, only, replaced, with_signs, with_words

TEXT = "one gpu17\ntwo\n\nthree GPU18 gpu17"


def lines_of(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[begin:end] for begin, end in spans]


def test_lines_are_given_once_and_in_order() -> None:
    """Whatever the number of words and signs in them, and without their ends."""
    assert lines_of(TEXT, with_words(TEXT, ["gpu18", "gpu", "no"])) == ["one gpu17", "three GPU18 gpu17"]
    signs = [re.compile("w"), re.compile("[0-9]")]
    assert lines_of(TEXT, with_signs(TEXT, signs)) == ["one gpu17", "two", "three GPU18 gpu17"]
    assert with_words("", ["gpu"]) == []


@pytest.mark.parametrize("text", ["the \u212aelvin sign", "İstanbul node7", "naïve"])
def test_letters_beyond_ascii_are_never_passed_over(text: str) -> None:
    """They may be the other case of a letter within, or change the length of the text."""
    assert lines_of(text, with_words(text, ["kelvin", "node"])) == [text]


def test_many_words_find_the_same_lines_as_few() -> None:
    """Of many, those are looked for whose first letters and digits stand in the text."""
    text = "a node-x7 b\nserial 1650423000001\nnothing\nnode\nada2 here"
    words = ["node-x", "1650423000001", "ada2"]

    assert with_words(text, [*words, *(f"other{number}" for number in range(200))]) == with_words(text, words)
    assert lines_of(text, with_words(text, words)) == ["a node-x7 b", "serial 1650423000001", "ada2 here"]


def test_a_text_of_some_lines_leads_back_to_the_whole() -> None:
    """Each place in it is the place of the same letter."""
    some, place = only(TEXT, with_words(TEXT, ["gpu17"]))

    assert some == "one gpu17\nthree GPU18 gpu17"
    assert [TEXT[place(at)] for at, letter in enumerate(some) if letter != "\n"] == list(some.replace("\n", ""))


def test_kinds_of_lines_hold_every_text_without_digits() -> None:
    """And each kind once."""
    assert sorted(kinds_of_lines("step 1 of 20\nstep 2 of 20\nend").split("\n")) == ["end", "step  of "]


def test_only_these_lines_are_changed() -> None:
    """With what stands before a line in sight of the expression."""
    pattern = re.compile(r"(?<!one )gpu\d+", re.IGNORECASE)

    assert replaced(TEXT, with_words(TEXT, ["gpu17"]), pattern, lambda match: match[0].upper() + "!") == (
        "one gpu17\ntwo\n\nthree GPU18! GPU17!"
    )


PARTS = st.sampled_from(
    (
        *("10.1.2.3", "version 10.1.2.3", "1.2.3.4/24", "GPU-8f1c2d3e", "MIG-GPU-12345678", "fe80::1%eth0", "::1"),
        *("8f1c2d3e-0b7e-4e55-9c11-6a2f0e9d4b10", "aa:bb:cc:dd:ee:ff", "12:02:11", "ip-10-1-2-3", "c10d::add"),
        *(
            "2001:db8:1:2:3:4:5:6",
            "0A01020F:1F90 ",
            "eth0\t0001000A\t0101000A\t0003\t",
            "node_guid: 0c42a10300f0e1d2",
        ),
        *(
            "0c42a10300f0e1d2",
            "0c42:a103:00f0:e1d2",
            "zeus21",
            "ZEUS22",
            "zeus",
            "zeus[21-22]",
            "/home/lovelace/x",
        ),
        *(
            "Mar  9 12:02:11 zeus21 kernel: x",
            "lovelace",
            "ada@zeus21:~$ ls",
            "a17:1:2 [0] NCCL INFO",
            "naïve",
            " ",
        ),
        *(
            "2026-03-09T12:02:11+00:00 a17 kernel: x",
            "uid=1000(lovelace)",
            "[a17:12345]",
            "Serial Number: 165042300",
        ),
    )
)


@given(st.lists(st.lists(PARTS, max_size=4).map(" ".join), max_size=6).map("\n".join))
def test_lines_one_by_one_come_out_as_all_at_once(text: str) -> None:
    """What is passed over, and what stands in the lines around, changes nothing."""
    whole, single = Redactor(b"k"), Redactor(b"k")
    for redactor in (whole, single):
        redactor.learn(text)
        redactor.learn_host("zeus21")

    assert whole.redact(text + "\n") == "".join(single.redact(f"{line}\n") for line in text.split("\n"))
    assert whole.counts == single.counts
