"""Compressed and packed evidence → its members: all that can be read, within limits, and the rest told."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import stat
import tarfile
import tracemalloc
import zipfile

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors import archives, room
from collectors.archives import decompressed, is_archive, members
from collectors.content import Content
from collectors.room import Limits, Room
from kb.evidence import Unread

TEXT = "".join(f"line {number} {random.Random(number).random()}\n" for number in range(4000)).encode()
COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
ZEROS = b"\0" * 5000


def tar(*entries: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    """A tar archive of files and of members as they are given."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                archive.addfile(entry)
            else:
                member = tarfile.TarInfo(entry[0])
                member.size = len(entry[1])
                archive.addfile(member, io.BytesIO(entry[1]))
    return raw.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return raw.getvalue()


def unpacked(content: bytes) -> tuple[dict[str, Content], list[Unread]]:
    limits = Limits([])
    return members(Content(content), Room(limits)), limits.unread


def plain(content: bytes, name: str = "a", most: int | None = None) -> tuple[Content, str, list[str]]:
    limits = Limits([])
    result, inner = decompressed(name, Content(content), Room(limits, most).inside(len(content)))
    return result, inner, [one.consequence for one in limits.unread]


@pytest.mark.parametrize("kind", COMPRESS)
def test_what_is_compressed_is_unpacked(kind):
    """Whole, without a complaint, and without its suffix."""
    assert plain(COMPRESS[kind](TEXT), f"dir/a.txt.{kind}") == (Content(TEXT), "dir/a.txt", [])


@pytest.mark.parametrize("kind", COMPRESS)
def test_one_stream_after_another_is_unpacked(kind):
    """Rotated logs are appended like that; zeros at the end are padding."""
    content = COMPRESS[kind](TEXT) + COMPRESS[kind](b"") + COMPRESS[kind](b"more") + ZEROS

    assert plain(content) == (Content(TEXT + b"more"), "a", [])


BLOCKS = {"gz": 20_000, "xz": 20_000, "bz2": 0, "zst": 0}
"""What is certainly readable of a text that was cut at two thirds: bz2 and zstd unpack whole blocks."""


@pytest.mark.parametrize("kind", COMPRESS)
def test_what_is_cut_is_unpacked_as_far_as_it_goes(kind):
    """The beginning, marked as cut, and the reason told."""
    compressed = COMPRESS[kind](TEXT)

    result, _, told = plain(compressed[: len(compressed) * 2 // 3])

    assert TEXT.startswith(result.data)
    assert BLOCKS[kind] <= len(result.data) < len(TEXT)
    assert result.cut is True
    assert told == [f"what follows its first {len(result.data)} bytes was not read: it ends too early"]


@pytest.mark.parametrize("kind", ["bz2", "zst"])
def test_whole_blocks_before_the_cut_are_unpacked(kind):
    """A long text has several of them."""
    long = TEXT * 20

    result, _, _ = plain(COMPRESS[kind](long)[:-200])

    assert long.startswith(result.data)
    assert len(result.data) >= 1 << 17
    assert result.cut is True


@pytest.mark.parametrize("kind", COMPRESS)
def test_what_is_damaged_is_unpacked_up_to_there(kind):
    """A flipped byte is found, told, and what was read before it is kept."""
    compressed = bytearray(COMPRESS[kind](TEXT))
    compressed[-6] ^= 255

    result, _, told = plain(bytes(compressed))

    assert TEXT.startswith(result.data)
    assert len(result.data) >= BLOCKS[kind]
    assert result.cut is True
    assert len(told) == 1


@pytest.mark.parametrize("kind", COMPRESS)
def test_what_follows_and_is_no_stream_is_told(kind):
    """All before it is read."""
    result, _, told = plain(COMPRESS[kind](TEXT) + b"something else")

    assert result == Content(TEXT, cut=True)
    assert told == [f"what follows its first {len(TEXT)} bytes was not read: something else follows"]


@pytest.mark.parametrize("kind", COMPRESS)
def test_what_unpacks_to_too_much_is_cut(kind):
    """A small file cannot fill the memory."""
    result, _, told = plain(COMPRESS[kind](b"\0" * 3_000_000), most=1000)

    assert result == Content(b"\0" * 1000, cut=True)
    assert told == ["what follows its first 1000 bytes was not read: it unpacks to more than 1000 bytes"]


SUFFIXES = {
    "a.tgz": (gzip.compress, "a.tar"),
    "a.tar.gz": (gzip.compress, "a.tar"),
    "a.tbz2": (bz2.compress, "a.tar"),
    "a.txz": (lzma.compress, "a.tar"),
    "a.tzst": (COMPRESS["zst"], "a.tar"),
    "a.log": (gzip.compress, "a.log"),
    "a.gz": (bz2.compress, "a.gz"),
}


@pytest.mark.parametrize(("name", "inner"), [(name, inner) for name, (_, inner) in SUFFIXES.items()])
def test_content_decides_and_the_name_follows(name, inner):
    """A suffix is taken away only where it names the compression that was found."""
    assert plain(SUFFIXES[name][0](b"x"), name)[1] == inner


def test_what_is_not_compressed_is_left_as_it_is():
    """Whatever its name says."""
    assert plain(b"text", "a.gz") == (Content(b"text"), "a.gz", [])
    assert not is_archive(Content(b"text" * 200))


def test_files_of_a_tar_archive():
    """By name, without folders."""
    folder = special("dir", tarfile.DIRTYPE)

    assert unpacked(tar(folder, ("dir/a", b"1"), ("dir/b", b""))) == (
        {"dir/a": Content(b"1"), "dir/b": Content(b"")},
        [],
    )


def test_files_of_a_zip_archive():
    """By name, without folders."""
    assert unpacked(zipped(("dir/", b""), ("dir/a", b"1"), ("b", TEXT))) == (
        {"dir/a": Content(b"1"), "b": Content(TEXT)},
        [],
    )


CLIMBERS = ["/etc/passwd", "../a", "a/../../b", "..", "\\a", "a\\..\\b"]


@pytest.mark.parametrize("name", CLIMBERS)
@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar", "zip"])
def test_a_name_that_leads_outside_is_left_out_and_told(pack, name):
    """The others are read."""
    found, unread = unpacked(pack((name, b"evil"), ("good..txt", b"1")))

    assert found == {"good..txt": Content(b"1")}
    assert [(one.what, one.reason) for one in unread] == [(name, "unreadable")]


SPECIAL = {
    "link": special("l", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": special("l", tarfile.LNKTYPE, "good"),
    "pipe": special("l", tarfile.FIFOTYPE),
    "device": special("l", tarfile.CHRTYPE),
}


@pytest.mark.parametrize("entry", SPECIAL.values(), ids=SPECIAL)
def test_a_member_that_is_no_file_is_left_out_and_told(entry):
    """No link is followed, and no device is read."""
    found, unread = unpacked(tar(entry, ("good", b"1")))

    assert found == {"good": Content(b"1")}
    assert [(one.what, one.reason) for one in unread] == [("l", "unreadable")]


def test_links_and_secrets_of_a_zip_archive_are_left_out_and_told():
    """What is encrypted can't be read, and a link is not followed."""
    link, secret = zipfile.ZipInfo("l"), zipfile.ZipInfo("s")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    content = bytearray(zipped((link, b"/etc/passwd"), (secret, b"x"), ("good", b"1")))
    at = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 4)
    content[at + 8] |= 1

    found, unread = unpacked(bytes(content))

    assert found == {"good": Content(b"1")}
    assert [one.what for one in unread] == ["l", "s"]


def test_a_tar_archive_that_is_cut_gives_what_is_there():
    """Whole members, then the beginning of the one in which it ends; and it is told."""
    content = tar(("a", b"1" * 600), ("b", TEXT))

    found, unread = unpacked(content[:5000])

    assert found["a"] == Content(b"1" * 600)
    assert found["b"].cut is True
    assert TEXT.startswith(found["b"].data)
    assert len(found["b"].data) == 5000 - 3 * 512 - 1024 + 512
    assert [one.reason for one in unread] == ["truncated"]


def test_a_zip_archive_with_one_damaged_member_gives_the_others():
    """Each member stands for itself."""
    content = bytearray(zipped(("a", b"1"), ("b", TEXT), ("c", b"3")))
    content[content.index(b"b", 40) + 3000] ^= 255

    found, unread = unpacked(bytes(content))

    assert (found["a"], found["c"]) == (Content(b"1"), Content(b"3"))
    assert found["b"].cut is True
    assert [(one.what, one.reason) for one in unread] == [("b", "truncated")]


def test_a_zip_archive_that_is_cut_is_told():
    """Its list of members stands at its end."""
    found, unread = unpacked(zipped(("a", TEXT))[:-30])

    assert found == {}
    assert [(one.what, one.reason) for one in unread] == [("archive", "truncated")]


@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar", "zip"])
def test_only_so_many_members_are_read(pack, monkeypatch):
    """And the first that is not is told."""
    monkeypatch.setattr(room, "MOST_FILES", 2)

    found, unread = unpacked(pack(*((f"f{number}", b"1") for number in range(5))))

    assert list(found) == ["f0", "f1"]
    assert [(one.what, one.reason) for one in unread] == [("f2", "truncated")]


@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar", "zip"])
def test_only_so_many_bytes_are_read(pack, monkeypatch):
    """All members together."""
    monkeypatch.setattr(archives, "MOST_BYTES", 1500)

    found, unread = unpacked(pack(("a", b"1" * 1000), ("b", b"2" * 1000)))

    assert list(found) == ["a"]
    assert [(one.what, one.reason) for one in unread] == [("b", "truncated")]


def test_links_count_as_members_too(monkeypatch):
    """An archive of nothing but links ends somewhere."""
    monkeypatch.setattr(room, "MOST_FILES", 3)

    _, unread = unpacked(tar(*(special(f"l{number}", tarfile.SYMTYPE, "x") for number in range(9))))

    assert [one.reason for one in unread] == ["unreadable"] * 3 + ["truncated"]


WHOLE = [
    tar(("dir/a", TEXT[:700]), special("l", tarfile.SYMTYPE, "a"), ("b" * 120, b"2")),
    zipped(("dir/a", TEXT[:700]), ("b", b"2")),
    gzip.compress(tar(("a", TEXT[:300]))),
    COMPRESS["zst"](tar(("a", TEXT[:300]))),
    lzma.compress(TEXT[:300]),
    bz2.compress(TEXT[:300]),
]
CHANGES = st.lists(st.tuples(st.integers(0, 1 << 16), st.binary(min_size=0, max_size=4)), min_size=1, max_size=4)


def changed(content: bytes, changes: list[tuple[int, bytes]], length: int) -> bytes:
    """The content with some bytes replaced, and cut."""
    mutated = bytearray(content)
    for place, new in changes:
        at = place % len(mutated)
        mutated[at : at + len(new)] = new
    return bytes(mutated[: max(1, len(mutated) * length // 100)])


@settings(derandomize=True, deadline=None, database=None, max_examples=300)
@given(st.sampled_from(WHOLE), CHANGES, st.sampled_from([100, 100, 90, 50]))
def test_damage_never_stops_a_run(content, changes, length):
    """Whatever is wrong inside: what can be read is read, and the rest is told."""
    limits = Limits([])

    result, _ = decompressed("a", Content(changed(content, changes, length)), Room(limits))
    found = members(result, Room(limits)) if is_archive(result) else {}

    assert all(isinstance(part.data, bytes) for part in found.values())
    assert {one.reason for one in limits.unread} <= {"truncated", "unreadable"}


def test_a_bomb_is_cut_by_its_ratio(monkeypatch):
    """No log is so much smaller packed; the rest is told and not unpacked."""
    monkeypatch.setattr(room, "UNSUSPICIOUS", 1000)
    bomb = gzip.compress(b"\0" * 1_000_000)

    content, _, told = plain(bomb)

    assert (content.size, content.cut) == (200 * len(bomb), True)
    most = 200 * len(bomb)
    assert told == [f"what follows its first {most} bytes was not read: it unpacks to more than {most} bytes"]


def peak(work) -> int:
    """The most bytes of memory that the work takes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_bomb_takes_little_memory(kind, monkeypatch):
    """A few hundred bytes of bzip2 hold a hundred million."""
    monkeypatch.setattr(room, "UNSUSPICIOUS", 70 << 20)
    bomb = COMPRESS[kind](b"\0" * (120 << 20))

    assert peak(lambda: plain(bomb)) < 60 << 20


def test_an_archive_whose_list_or_names_would_fill_the_memory_is_told():
    """The libraries read both as a whole."""
    attributes = tarfile.TarInfo("a")
    attributes.pax_headers = {"comment": "x" * (20 << 20)}
    long_name, long_list = tar(attributes, ("b", b"1")), zipped(*((f"{n:0>2000}", b"") for n in range(5000)))

    for content in (long_name, long_list):
        assert peak(lambda content=content: unpacked(content)) < 12 << 20
        found, unread = unpacked(content)
        assert (found, [(one.what, one.reason) for one in unread]) == ({}, [("archive", "truncated")])


def test_a_zip_member_that_is_packed_in_a_rare_way_is_left_out_and_told():
    """Of such the library unpacks any number of bytes at once."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", TEXT)
        archive.writestr("good", b"1", zipfile.ZIP_DEFLATED)

    found, unread = unpacked(raw.getvalue())

    assert found == {"good": Content(b"1")}
    assert [(one.what, one.reason) for one in unread] == [("a", "unreadable")]


def test_a_tar_archive_with_a_damaged_header_is_told():
    """The library takes it for the end."""
    content = bytearray(tar(("a", b"1"), ("b", b"2"), ("c", b"3")))
    content[1024 + 148] ^= 255

    found, unread = unpacked(bytes(content))

    assert found == {"a": Content(b"1")}
    assert [(one.what, one.reason) for one in unread] == [("archive", "truncated")]


def test_members_of_a_large_tar_archive_are_not_copied(tmp_path):
    """They are read where they lie."""
    path = tmp_path / "a.tar"
    path.write_bytes(tar(*((f"{n}", bytes([n]) * (5 << 20)) for n in range(30))))
    content = Content.of_file(path)

    assert peak(lambda: members(content, Room(Limits([])))) < 4 << 20
    found = members(content, Room(Limits([])))
    assert all(found[f"{n}"].data == bytes([n]) * (5 << 20) for n in (0, 7, 29))
    with found["7"].stream() as stream:
        stream.seek(-3, io.SEEK_END)
        assert (stream.read(), stream.read(1)) == (b"\7\7\7", b"")
