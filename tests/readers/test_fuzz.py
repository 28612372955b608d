"""Bad input never stops a reader, and whatever a reader says stands where it says it stands."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.readers import readers
from kb.evidence import EXCERPT_CHARS, Observed, Reader, Section

HERE = Path(__file__).parent
TEXTS = [
    text.read_text(encoding="utf-8").split("\n")
    for text in sorted(HERE.glob("*--*.txt"))
    if text.stat().st_size < 20_000
]
COMMANDS = [None, *sorted({command for reader in readers() for command in reader.commands})]
MARKERS = sorted({marker for reader in readers() for marker in reader.markers})
FILLERS = ("a", " ", "0", "[", "/a", "a=", "0.", "-> ", ", 1", "| ", '"', "\t(", "é")
COLUMNS = 300_000
LIMIT_S = 1.0

# `make fuzz` asks for more of them, and for others each time.
FUZZING = os.environ.get("FUZZ_EXAMPLES")
EXAMPLES = int(FUZZING or 3000)

lines_of_golden_texts = st.sampled_from(TEXTS)
noise = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=60)


@st.composite
def mutated(draw: st.DrawFn) -> list[str]:
    """Lines of golden texts, some of them cut, doubled, joined, shuffled in or replaced by noise."""
    lines = list(draw(lines_of_golden_texts))
    if draw(st.booleans()):
        lines += draw(lines_of_golden_texts)
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        column = draw(st.integers(0, len(lines[at])))
        match draw(st.sampled_from(["cut", "tear", "insert", "double", "drop", "replace", "join"])):
            case "cut":
                lines[at] = lines[at][:column]
            case "tear":
                lines[at : at + 1] = [lines[at][:column], lines[at][column:]]
            case "insert":
                lines[at] = lines[at][:column] + draw(noise) + lines[at][column:]
            case "double":
                lines.insert(at, lines[at])
            case "drop":
                lines = lines[:at] + lines[at + 1 :] or [""]
            case "replace":
                lines[at] = draw(noise)
            case "join":
                lines[at : at + 2] = ["".join(lines[at : at + 2])]
    return lines


def check(section: Section, reader: Reader) -> None:
    """Runs the reader; every observation must cite the lines as they stand."""
    for reading in reader.read(section):
        for observed in reading.roots() if isinstance(reading, Observed) else ():
            source = observed.source
            first, last = source.line - section.first_line, source.end_line - section.first_line
            assert source.path == section.path
            assert 0 <= first <= last < len(section.lines), f"{reader.name}: line {source.line} is not there"
            stands = "\n".join(section.lines[first : last + 1])
            cited = source.text.removesuffix("…") if len(stands) > EXCERPT_CHARS else source.text
            assert stands.startswith(cited)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=not FUZZING, suppress_health_check=list(HealthCheck))
@given(lines=mutated(), command=st.sampled_from(COMMANDS))
def test_mutated_evidence_never_raises_and_is_cited_truly(lines: list[str], command: str | None) -> None:
    """Cut, torn and doubled lines give fewer facts, never an error or a wrong place."""
    section = Section("mutated.txt", lines, first_line=7, command=command)
    for reader in readers():
        check(section, reader)


@settings(
    max_examples=EXAMPLES // 10, deadline=None, derandomize=not FUZZING, suppress_health_check=list(HealthCheck)
)
@given(
    lines=st.lists(st.one_of(noise, st.builds("{} {}".format, st.sampled_from(MARKERS), noise)), max_size=8),
    command=st.sampled_from(COMMANDS),
)
def test_random_text_never_raises(lines: list[str], command: str | None) -> None:
    """Text that has nothing but the readers' markers in common with evidence."""
    for reader in readers():
        check(Section("random.txt", lines, command=command), reader)


@pytest.mark.parametrize("reader", readers(), ids=[reader.name for reader in readers()])
def test_long_lines_are_read_in_linear_time(reader: Reader) -> None:
    """Hundreds of thousands of columns, of a kind that makes careless patterns step back again and again."""
    lines = [marker + filler * (COLUMNS // len(filler)) for marker in reader.markers[:2] for filler in FILLERS]
    began = time.process_time()
    check(Section("long.txt", lines), reader)
    assert time.process_time() - began < LIMIT_S
