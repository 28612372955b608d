"""Files that are never held whole: the lines that readers want, with their numbers, whatever the cuts."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import large
from collectors.content import Content
from collectors.large import chunks, marked_sections
from collectors.markers import search_for
from collectors.open import File
from collectors.scan import read_file
from kb.evidence import Observed, Reader
from kb.facts.iommu import IommuFault


def reader(*markers: str, **more) -> Reader:
    return Reader("r", lambda _: iter(()), markers, **more)


def wanted(content: bytes, *readers: Reader) -> list[dict[int, str]]:
    """For each reader that gets lines: number and text of each."""
    sections = marked_sections("a.log", Content(content), readers)
    return [dict(zip(section.numbers, section.lines, strict=True)) for _, section in sections]


def by_hand(content: bytes, marker: str, before: int = 0, after: int = 0) -> dict[int, str]:
    lines = content.decode().split("\n")
    marked = [number for number, line in enumerate(lines) if marker in line]
    near = {n for m in marked for n in range(m - before, m + after + 1) if 0 <= n < len(lines)}
    return {number + 1: lines[number] for number in sorted(near) if number < len(lines) - (lines[-1] == "")}


@pytest.fixture(params=[1, 3], ids=["one part", "three parts"])
def parts(request, monkeypatch):
    monkeypatch.setattr(large, "cores", lambda: request.param)
    return request.param


@pytest.mark.usefixtures("parts")
@given(
    st.lists(st.sampled_from(["", "x", "has MARK", "two MARK MARK", "y" * 50, "MARKS"]), min_size=1, max_size=60)
)
def test_the_marked_lines_are_found_with_their_numbers(lines):
    """As a search by hand finds them, however the file is cut into pieces."""
    content = "\n".join(lines).encode()
    large.CHUNK, kept = 37, large.CHUNK
    try:
        found = wanted(content, reader("MARK"))
    finally:
        large.CHUNK = kept

    assert found == ([by_hand(content, "MARK")] if b"MARK" in content else [])


@pytest.mark.usefixtures("parts")
def test_a_reader_gets_the_lines_around_a_mark():
    """Before and after it, also where marks are near each other."""
    content = b"".join(b"line %d%s\n" % (n, b" MARK" if n in {40, 42, 90} else b"") for n in range(200))

    assert wanted(content, reader("MARK", context=(2, 3))) == [by_hand(content, "MARK", 2, 3)]


def test_each_reader_gets_its_own_lines():
    """`lines` outrank the markers, and a reader without any is not asked."""
    content = b"a one\nb two\na two\n"

    assert wanted(content, reader("one"), reader("zero"), reader("two", lines=("a two",))) == [
        {1: "a one"},
        {3: "a two"},
    ]


@pytest.mark.usefixtures("parts")
def test_a_busy_marker_gives_its_first_and_its_last_lines(monkeypatch):
    """What a log says ten thousand times, it says."""
    monkeypatch.setattr(large, "FIRST", 3)
    monkeypatch.setattr(large, "LAST", 2)
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
    monkeypatch.setattr(large, "CHUNK", 8)
    monkeypatch.setattr(large, "LONGEST_LINE", 16)

    assert list(chunks(io.BytesIO(b"abc\ndefgh\nij"), 12)) == [b"abc\n", b"defgh\n", b"ij"]
    assert max(map(len, chunks(io.BytesIO(b"x" * 1000), 1000))) <= 16


def test_a_large_log_is_read_like_a_small_one(monkeypatch):
    """The same fact, with the same line."""
    event = b"AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1d address=0x3a0c4000000 flags=0x0020]"
    line = b"[ 84211.40] nvidia 0000:01:00.0: " + event + b"\n"
    content = b"[ 1.0] noise\n" * 1000 + line + b"[ 2.0] noise\n" * 1000
    small = read_file(File("dmesg", Content(content)))[1]
    monkeypatch.setattr("collectors.content.HELD", 1000)
    big = read_file(File("dmesg", Content(content)))[1]

    def fault(readings):
        return [one for one in readings if isinstance(one, Observed) and isinstance(one.fact, IommuFault)]

    assert fault(big) == fault(small)
    assert fault(big)[0].source.line == 1001


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
    fast, plain = _hyperscan(literals)(chunk), _one_by_one(literals)(chunk)

    assert plain == fast
