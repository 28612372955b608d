"""Files that are never held whole: the lines that readers want, with their numbers, whatever the cuts."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import chunks, large
from collectors.content import Content
from collectors.large import marked_sections
from collectors.markers import search_for
from collectors.offers import WORTH_A_SEARCH
from collectors.open import File
from collectors.scan import read_file, sections
from kb.evidence import Reader


def reader(*markers: str, **more) -> Reader:
    return Reader("r", lambda _: iter(()), markers, **more)


def wanted(content: bytes, *readers: Reader) -> list[dict[int, str]]:
    """For each reader that gets lines: number and text of each, without the empty ones that stand for others."""
    sections = marked_sections("a.log", Content(content), readers)
    found = [zip(section.numbers, section.lines, strict=True) for _, section in sections]
    return [{number: text for number, text in pairs if text} for pairs in found]


def by_hand(content: bytes, marker: str, before: int = 0, after: int = 0) -> dict[int, str]:
    lines = content.decode().split("\n")
    marked = [number for number, line in enumerate(lines) if marker in line]
    near = {n for m in marked for n in range(m - before, m + after + 1) if 0 <= n < len(lines)}
    return {number + 1: lines[number] for number in sorted(near) if number < len(lines) - (lines[-1] == "")}


@pytest.fixture(params=[1, 3], ids=["one part", "three parts"])
def parts(request, monkeypatch):
    monkeypatch.setattr(large, "cores", lambda: request.param)
    return request.param


@pytest.fixture
def no_rare(monkeypatch):
    """Nobody gets lines that he does not ask for."""
    monkeypatch.setattr(large, "RARE", 0)


@pytest.mark.usefixtures("parts", "no_rare")
@given(
    st.lists(st.sampled_from(["", "x", "has MARK", "two MARK MARK", "y" * 50, "MARKS"]), min_size=1, max_size=60)
)
def test_the_marked_lines_are_found_with_their_numbers(lines):
    """As a search by hand finds them, however the file is cut into pieces."""
    content = "\n".join(lines).encode()
    chunks.CHUNK, kept = 37, chunks.CHUNK
    try:
        found = wanted(content, reader("MARK"))
    finally:
        chunks.CHUNK = kept

    assert found == ([by_hand(content, "MARK")] if b"MARK" in content else [])


@pytest.mark.usefixtures("parts", "no_rare")
def test_a_reader_gets_the_lines_around_a_mark():
    """Before and after it, also where marks are near each other."""
    content = b"".join(b"line %d%s\n" % (n, b" MARK" if n in {40, 42, 90} else b"") for n in range(200))

    assert wanted(content, reader("MARK", context=(2, 3))) == [by_hand(content, "MARK", 2, 3)]


def test_the_first_marks_bring_the_lines_around_them_along(monkeypatch):
    """A table or a traceback near the beginning is whole; what is told often is only counted."""
    monkeypatch.setattr(large, "cores", lambda: 1)
    monkeypatch.setattr(large, "RARE", 2)
    monkeypatch.setattr(chunks, "BEFORE", 1)
    monkeypatch.setattr(chunks, "AFTER", 2)
    content = b"".join(b"line %d%s\n" % (n, b" MARK" if n % 10 == 5 else b"") for n in range(40))
    ((_, section),) = marked_sections("a.log", Content(content), [reader("MARK")])

    assert section.lines == [
        *("line 4", "line 5 MARK", "line 6", "line 7", ""),
        *("line 14", "line 15 MARK", "line 16", "line 17", ""),
        *("line 25 MARK", "", "line 35 MARK"),
    ]
    assert section.numbers == [5, 6, 7, 8, 9, 15, 16, 17, 18, 19, 26, 27, 36]


@pytest.mark.usefixtures("no_rare")
def test_each_reader_gets_its_own_lines(monkeypatch):
    """Those of its `lines`, and of its other markers the first; a reader without any is not asked."""
    monkeypatch.setattr(large, "cores", lambda: 1)
    content = b"a one\nb two\na two\nc two\nd two\n"
    readers = reader("one"), reader("zero"), reader("two", lines=("d two",)), reader("three", lines=("one",))

    assert wanted(content, *readers) == [{1: "a one"}, {2: "b two", 5: "d two"}]


@pytest.mark.usefixtures("parts", "no_rare")
def test_a_busy_marker_gives_its_first_and_its_last_lines(monkeypatch):
    """What a log says ten thousand times, it says."""
    monkeypatch.setattr(large, "FIRST", 3)
    monkeypatch.setattr(large, "LAST", 2)
    monkeypatch.setattr(chunks, "LAST", 2)
    found = wanted(b"".join(b"MARK %d\n" % n for n in range(1000)), reader("MARK"))[0]

    assert list(found)[:3] == [1, 2, 3]
    assert list(found)[-2:] == [999, 1000]
    assert len(found) <= 3 * 3 + 2


def test_the_checksum_is_that_of_the_whole_file():
    """Evidence can be checked against the file that was handed over."""
    content = b"MARK\n" + b"x\n" * 1000
    ((_, section),) = marked_sections("a.log", Content(content), [reader("MARK")])

    assert section.source(0).sha256 == hashlib.sha256(content).hexdigest()
    assert (section.source(0).line, section.source(0).text) == (1, "MARK")


def test_pieces_end_with_a_line_and_an_endless_line_is_cut(monkeypatch):
    """So that no line is ever torn, and none fills the memory."""
    monkeypatch.setattr(chunks, "CHUNK", 8)
    monkeypatch.setattr(chunks, "LONGEST_LINE", 16)

    pieces = [bytes(chunk[:size]) for chunk, size in chunks.chunks(io.BytesIO(b"abc\ndefgh\nij"), 12)]

    assert pieces == [b"abc\n", b"defgh\n", b"ij"]
    assert max(size for _, size in chunks.chunks(io.BytesIO(b"x" * 1000), 1000)) <= 16 + 8


GOLDEN = Path(__file__).parent.parent / "readers"
NOISE = [f"step {n} of 5000 took 0.{n % 7}31 s and was uneventful" for n in range(150)]
BY_THE_WHOLE = frozenset(
    (
        *("collect-env--sglang", "collect-env--wsl-names-the-driver-of-windows", "dcgm-json--nvlink-errors"),
        *("device-cgroup--plain-lxc", "libfabric--none-under-an-unknown-prompt", "nccl-ras--truncated"),
        *("nvlink-subnet-manager--port-down", "serve-commands--batch-script", "settings--sitecustomize"),
    )
)
"""What these say depends on lines far away or without a marker, or on there being no other lines."""


@cache
def logs() -> list[Path]:
    """Each sample of a kind of log that is one stretch of text."""
    texts = (path for path in sorted(GOLDEN.glob("*.txt")) if path.stem not in BY_THE_WHOLE)
    files = ((path, File(path.name, Content(path.read_bytes()))) for path in texts)
    return [path for path, file in files if [one.command for one in sections(file)] == [None]]


@pytest.mark.parametrize("kind", sorted({path.stem.partition("--")[0] for path in logs()}))
def test_a_large_log_is_read_like_a_small_one(kind, monkeypatch):
    """The same facts with the same lines, and the same statements of what was looked for."""
    monkeypatch.setattr(large, "cores", lambda: 1)
    monkeypatch.setattr(large, "beside", lambda work: work)
    for path in logs():
        if path.stem.partition("--")[0] == kind:
            lines = path.read_text(encoding="utf-8").split("\n")
            file = File(path.name, Content("\n".join([*NOISE, *lines, *NOISE]).encode()))
            monkeypatch.setattr("collectors.content.HELD", 8 << 20)
            small = read_file(file, among=WORTH_A_SEARCH + 1)[1]
            monkeypatch.setattr("collectors.content.HELD", 1000)
            big = read_file(file)[1]

            assert Counter(big) == Counter(small), path.name


LITERALS = ["NCCL WARN", "NCCL", "Xid", "id", "é", "a.b*c"]


@given(st.lists(st.sampled_from([*LITERALS, " ", "\n", "x", "NC", "CL"]), max_size=30))
def test_every_marker_is_found_where_it_ends(parts):
    """Also one that begins or lies within another; as a plain search finds them."""
    chunk = "".join(parts).encode()
    expected = {
        index: ends
        for index, literal in enumerate(LITERALS)
        if (
            ends := [
                at + len(literal.encode()) for at in range(len(chunk)) if chunk.startswith(literal.encode(), at)
            ]
        )
    }

    assert search_for(LITERALS)(chunk) == expected


@given(st.lists(st.sampled_from([*LITERALS, " ", "\n", "x", "NC", "CL"]), max_size=30))
def test_without_hyperscan_the_same_markers_are_found(parts):
    """Where there is no wheel, looking for one after the other serves."""
    from collectors.markers import _hyperscan, _one_by_one

    literals = [literal.encode() for literal in LITERALS]
    chunk = "".join(parts).encode()
    fast, plain = (of(literals, 3)(chunk) for of in (_hyperscan, _one_by_one))

    assert plain == fast
