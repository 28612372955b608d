"""Archives in folders and in archives: read like any other file, and no nest of them costs more than one does."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from packed import tarred, zipped

from collectors import content as contents_module
from collectors import room
from collectors.open import Opened, open_evidence
from collectors.room import MOST_LEVELS
from kb.errors import InputError
from kb.evidence import Unread


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def opened(tmp_path: Path, files: dict[str, bytes]) -> Opened:
    """A folder of these files, opened."""
    for name, content in files.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(content)
    return open_evidence([str(tmp_path / "folder")])


def texts(result: Opened) -> dict[str, bytes]:
    return {file.path: file.content.data for file in result.files}


TWO = {"var/log/kern.log": b"kernel\n", "uptime": b"up\n"}
PACKED = {
    "host.tar": tarred(TWO),
    "host.tar.gz": gzip.compress(tarred(TWO)),
    "host.tgz": gzip.compress(tarred(TWO)),
    "host.tar.xz": lzma.compress(tarred(TWO)),
    "host.tar.bz2": bz2.compress(tarred(TWO)),
    "host.tar.zst": zstd(tarred(TWO)),
    "host.zip": zipped(TWO),
    "no suffix": gzip.compress(tarred(TWO)),
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("around", ["folder", "tar.gz", "zip"])
def test_an_archive_is_read_wherever_it_lies(tmp_path, name, around):
    """Its members have its path and then their own names; what lies beside it keeps its own."""
    files = {f"ticket/{name}": PACKED[name], "ticket/notes.txt": b"it hangs\n"}
    if around == "folder":
        result = opened(tmp_path, files)
    else:
        path = tmp_path / "outer"
        path.write_bytes(zipped(files) if around == "zip" else gzip.compress(tarred(files)))
        result = open_evidence([str(path)])

    assert texts(result) == {
        f"ticket/{name}/var/log/kern.log": b"kernel\n",
        f"ticket/{name}/uptime": b"up\n",
        "ticket/notes.txt": b"it hangs\n",
    }
    assert result.unread == []


def test_archives_within_archives_within_archives(tmp_path):
    """A ticket with a sosreport in which old logs are compressed; each path leads to its file."""
    report = lzma.compress(tarred({"sos/var/log/kern.log.2.gz": gzip.compress(b"old\n"), "sos/uptime": b"up\n"}))

    result = opened(tmp_path, {"a/ticket.zip": zipped({"node-7/sos.tar.xz": report, "b.log.gz": b"no gzip\n"})})

    assert texts(result) == {
        "a/ticket.zip/node-7/sos.tar.xz/sos/var/log/kern.log.2": b"old\n",
        "a/ticket.zip/node-7/sos.tar.xz/sos/uptime": b"up\n",
        "a/ticket.zip/b.log.gz": b"no gzip\n",
    }


def test_what_is_compressed_twice(tmp_path):
    """A habit of some tools; also around an archive, and where it is all that was handed over."""
    twice = gzip.compress(lzma.compress(b"text"))

    result = opened(tmp_path, {"a.log.xz.gz": twice, "b.tar.gz.gz": gzip.compress(PACKED["host.tar.gz"])})

    assert texts(result) == {
        "a.log": b"text",
        "b.tar.gz.gz/uptime": b"up\n",
        "b.tar.gz.gz/var/log/kern.log": b"kernel\n",
    }
    assert texts(open_evidence([str(tmp_path / "folder/a.log.xz.gz")])) == {"a.log": b"text"}
    assert len(open_evidence([str(tmp_path / "folder/b.tar.gz.gz")]).files) == 2


def test_no_two_files_share_a_path(tmp_path):
    """The same log, rotated and packed in two ways."""
    result = opened(tmp_path, {"k.log.gz": gzip.compress(b"1"), "k.log.xz": lzma.compress(b"2")})

    assert texts(result) == {"k.log": b"1", "k.log.xz": b"2"}


def test_bundles_in_a_folder_are_bundles(tmp_path):
    """Each with its own manifest, as if they had been unpacked there."""
    packed = {}
    for node in ("n1", "n2"):
        listed = {"schema": "diagnose.bundle/1", "host": node, "artifacts": [{"path": "a", "command": [node]}]}
        packed[f"{node}.tar.zst"] = zstd(tarred({"b/manifest.json": json.dumps(listed).encode(), "b/a": b"x"}))

    result = opened(tmp_path, packed)

    assert [(file.path, file.command) for file in result.files] == [
        ("n1.tar.zst/b/a", "n1"),
        ("n2.tar.zst/b/a", "n2"),
    ]
    assert [one.kind for one in result.inputs] == ["bundle"]


def test_a_compressed_piece_of_a_bundle_keeps_its_command(tmp_path):
    """The manifest knows it by the name that it has on disk."""
    listed = {"schema": "diagnose.bundle/1", "host": "n", "artifacts": [{"path": "d.gz", "command": ["dmesg"]}]}

    result = opened(tmp_path, {"manifest.json": json.dumps(listed).encode(), "d.gz": gzip.compress(b"x")})

    assert [(file.path, file.command) for file in result.files] == [("d", "dmesg")]
    assert result.unread == []


def nest(levels: int) -> bytes:
    """A text that is packed so many times."""
    content = b"deep"
    for level in range(levels):
        content = zipped({"x": content}) if level % 2 else gzip.compress(tarred({"x": content}))
    return content


def test_what_is_packed_too_often_is_told(tmp_path):
    """Up to there it is read, and so is what lies beside it."""
    result = opened(tmp_path, {"a": nest(MOST_LEVELS), "b": nest(MOST_LEVELS + 1), "c": b"text"})

    assert texts(result) == {"a/x/x/x/x": b"deep", "c": b"text"}
    assert result.unread == [
        Unread("b/x/x/x/x", "not-collected", f"it was not unpacked: it is packed more than {MOST_LEVELS} times")
    ]


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, zstd], ids=["gz", "bz2", "xz", "zst"]
)
def test_what_is_compressed_too_often_is_told(tmp_path, pack):
    """Also where it is all that was handed over: there are files that unpack to themselves for ever."""
    content = b"deep"
    for _ in range(MOST_LEVELS + 1):
        content = pack(content)

    assert [one.reason for one in opened(tmp_path, {"a": content, "b": b"x"}).unread] == ["not-collected"]
    with pytest.raises(InputError, match="packed more than"):
        open_evidence([str(tmp_path / "folder/a")])


def test_names_and_links_that_lead_outside_are_told_at_any_level(tmp_path):
    """None of them is followed; a link that leads round in a circle does not keep us busy."""
    inner = tarred(
        {"/etc/passwd": b"p", "../../up": b"u", "good": b"g"}, link("round", "."), link("l", "/etc/shadow")
    )

    result = opened(tmp_path, {"t.zip": zipped({"in.tar.gz": gzip.compress(inner)})})

    assert texts(result) == {"t.zip/in.tar.gz/good": b"g"}
    assert [one.what.removeprefix("t.zip/in.tar.gz/") for one in result.unread] == [
        "/etc/passwd",
        "../../up",
        "round",
        "l",
    ]
    assert {one.reason for one in result.unread} == {"unreadable"}


def test_a_folder_that_is_linked_into_itself_is_walked_once(tmp_path):
    """And archives in it are read once."""
    (tmp_path / "folder/in").mkdir(parents=True)
    (tmp_path / "folder/in/again").symlink_to(tmp_path / "folder")

    result = opened(tmp_path, {"in/host.zip": PACKED["host.zip"]})

    assert list(texts(result)) == ["in/host.zip/uptime", "in/host.zip/var/log/kern.log"]


def test_a_damaged_archive_gives_what_is_there_and_is_told_by_its_path(tmp_path):
    """The others are whole."""
    lines = "".join(f"line {number} {number * 7919 % 10007}\n" for number in range(4000)).encode()
    whole = gzip.compress(tarred({"a.log": b"first", "b.log": lines}))

    result = opened(
        tmp_path,
        {
            "cut.tar.gz": whole[:-2000],
            "o.zip": zipped({"in.tar": tarred({"a": b"x" * 600, "b": lines})[:9000], "c": b"c"}),
            "p.zip": zipped(TWO)[:-30],
            "z.log": b"z",
        },
    )

    found = {file.path: (file.truncated, file.content.size) for file in result.files}
    assert texts(result)["cut.tar.gz/a.log"] == b"first"
    assert [path for path, (cut, _) in found.items() if cut] == ["cut.tar.gz/b.log", "o.zip/in.tar/b"]
    assert found["cut.tar.gz/b.log"][1] > len(lines) // 2
    assert found["o.zip/c"] == found["z.log"] == (False, 1)
    assert {one.what for one in result.unread} == {"cut.tar.gz", "o.zip/in.tar", "p.zip"}
    assert {one.reason for one in result.unread} == {"truncated"}


@pytest.mark.parametrize("name", ["model.pt", "x-1.0-py3-none-any.whl", "Report.DOCX", "a.npz"])
def test_what_is_one_thing_to_its_program_stays_one(tmp_path, name):
    """Nobody wants the tensors of a model unpacked; handed over by itself, it is opened."""
    result = opened(tmp_path, {name: zipped({"data.pkl": b"x"}), "a.log": b"text"})

    assert [file.path for file in result.files] == [name, "a.log"] if name < "a.log" else ["a.log", name]
    assert texts(open_evidence([str(tmp_path / "folder" / name)])) == {"data.pkl": b"x"}


@pytest.mark.parametrize(
    ("kind", "magic"),
    {"7z": b"7z\xbc\xaf\x27\x1c\0\4", "rar": b"Rar!\x1a\x07\1\0", "lz4": b"\x04\x22\x4d\x18"}.items(),
)
def test_what_is_packed_in_a_way_that_is_not_known_says_what_to_do(tmp_path, kind, magic):
    """In a folder, and where it is all that was handed over."""
    why = f"{kind} is not unpacked here: unpack it, and give what is in it"

    assert opened(tmp_path, {"a": magic + b"\1" * 50, "b": b"x"}).unread == [Unread("a", "unreadable", why)]
    with pytest.raises(InputError, match=why):
        open_evidence([str(tmp_path / "folder/a")])


def test_the_number_of_files_is_limited_for_all_levels_together(tmp_path, monkeypatch):
    """Files of the folder go first; where it ends is told."""
    monkeypatch.setattr(room, "MOST_FILES", 6)
    inner = tarred(dict.fromkeys("xyz", b"1"))

    result = opened(tmp_path, {"a.tar": tarred({"in.tar": inner, "w": b"2"}), "b": b"3", "c": b"4"})

    assert texts(result) == {"a.tar/in.tar/x": b"1", "a.tar/w": b"2", "b": b"3", "c": b"4"}
    assert [(one.what, one.reason) for one in result.unread] == [("a.tar/in.tar/y", "truncated")]


ZEROS = b"\0" * 1_000_000


def written(monkeypatch) -> list[int]:
    """The sizes of all that is unpacked from now on."""
    sizes: list[int] = []
    write = contents_module.Sink.write

    def noted(self: contents_module.Sink, data: bytes) -> None:
        sizes.append(len(data))
        write(self, data)

    monkeypatch.setattr(contents_module.Sink, "write", noted)
    return sizes


def bomb(levels: int, fan: int) -> bytes:
    """A zip of zips of zips … of zeros."""
    content = zipped({f"{place}.log": ZEROS for place in range(fan)})
    for _ in range(levels - 1):
        content = zipped({f"{place}.zip": content for place in range(fan)})
    return content


def test_a_nest_of_bombs_unpacks_to_no_more_than_one(tmp_path, monkeypatch):
    """Four levels of eight hold four thousand million bytes; what is around the nest is read, and all is told."""
    monkeypatch.setattr(room, "UNSUSPICIOUS", 3_000_000)
    sizes = written(monkeypatch)
    content = bomb(4, 8)

    result = opened(tmp_path, {"a.zip": content, "b.log.gz": gzip.compress(b"text")})

    assert sum(sizes) <= max(3_000_000, 200 * len(content)) + 4
    assert texts(result)["b.log"] == b"text"
    told = {one.consequence for one in result.unread}
    assert "it was not unpacked: what it lies in has already unpacked to more than logs do" in told
    assert len(result.unread) < 50


def test_many_small_bombs_share_what_one_may(tmp_path, monkeypatch):
    """A hundred of them fill no disk; a log that is packed as logs are is read after them."""
    monkeypatch.setattr(room, "UNSUSPICIOUS", 3_000_000)
    sizes = written(monkeypatch)
    bombs = {f"{place:02}.gz": gzip.compress(ZEROS) for place in range(100)}
    log = b"".join(b"a line of a log, and its number %d\n" % number for number in range(50_000))
    fair = 200 * sum(map(len, bombs.values()))

    result = opened(tmp_path, {**bombs, "z.tar.gz": gzip.compress(tarred({"z.log": log}))})

    assert sum(sizes) <= fair + 3_000_000 + 2 * len(log)
    assert texts(result)["z.tar.gz/z.log"] == log
    assert any(file.truncated for file in result.files)


def test_a_bomb_in_a_large_archive_is_measured_by_its_own_size(tmp_path, monkeypatch):
    """The size of what lies around it gives it no right to more."""
    monkeypatch.setattr(room, "UNSUSPICIOUS", 0)
    packed = gzip.compress(ZEROS)

    result = opened(tmp_path, {"a.zip": zipped({"big": os.urandom(100_000), "b.gz": packed})})

    assert {file.path: file.content.size for file in result.files} == {
        "a.zip/big": 100_000,
        "a.zip/b": 200 * len(packed),
    }


def test_refusals_are_counted_where_they_are_many(tmp_path):
    """Twenty are told one by one, and the rest in one line."""
    links = [link(f"l{number}", "x") for number in range(50)]

    result = opened(tmp_path, {"a.tar": tarred({"a": b"1"}, *links)})

    assert len(result.unread) == 21
    assert result.unread[0].what == "a.tar/l0"
    assert result.unread[-1].what == "30 more"


def test_nothing_gets_a_name_on_disk(tmp_path, monkeypatch):
    """What is too large for the memory goes into a file that nobody else can find."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(contents_module, "HELD", 1000)
    monkeypatch.setattr(contents_module, "HELD_TOGETHER", 1500)
    (tmp_path / "tmp").mkdir()
    before = sorted(tmp_path.rglob("*"))
    names = {f"{letter}.log": letter.encode() * size for letter, size in (("a", 900), ("b", 900), ("c", 70_000))}

    (tmp_path / "t.zip").write_bytes(zipped({"in.zip": zipped(names), "d.tar.gz": gzip.compress(tarred(names))}))
    result = open_evidence([str(tmp_path / "t.zip")])

    assert texts(result) == {
        f"{outer}/{name}": content for outer in ("d.tar.gz", "in.zip") for name, content in names.items()
    }
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "t.zip"])


NAMES = st.sampled_from(["a.log", "b c.txt", "dir/kern.log", "x"])
TREES = st.recursive(
    st.binary(max_size=40).map(lambda data: b"t" + data),
    lambda inner: st.tuples(
        st.sampled_from(["tar", "tar.gz", "tar.zst", "zip"]), st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)
PACKERS = {
    "tar": tarred,
    "tar.gz": lambda files: gzip.compress(tarred(files)),
    "tar.zst": lambda files: zstd(tarred(files)),
    "zip": zipped,
}


def packed(tree: bytes | tuple) -> bytes:
    if isinstance(tree, bytes):
        return tree
    return PACKERS[tree[0]]({name: packed(part) for name, part in tree[1].items()})


def leaves(tree: bytes | tuple, path: str, level: int = 0) -> dict[str, bytes]:
    """The texts of a tree by path, as far as they are packed seldom enough."""
    if isinstance(tree, bytes):
        return {path: tree}
    found: dict[str, bytes] = {}
    for name, part in tree[1].items() if level < MOST_LEVELS else ():
        found |= leaves(part, f"{path}/{name}", level + 1)
    return found


@settings(derandomize=True, deadline=None, database=None, max_examples=100)
@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=3))
def test_any_nest_gives_its_files_by_their_paths(tmp_path_factory, trees):
    """Whatever is in whatever, each text is found once, under the path that leads to it."""
    folder = tmp_path_factory.mktemp("trees")

    result = opened(folder, {"always": b"here"} | {name: packed(tree) for name, tree in trees.items()})

    expected = {"always": b"here"}
    for name, tree in trees.items():
        expected |= leaves(tree, name)
    assert texts(result) == expected


@settings(derandomize=True, deadline=None, database=None, max_examples=150)
@given(
    st.sampled_from([packed(("zip", {"a": ("tar.gz", TWO), "b": b"x" * 600})), nest(3), bomb(2, 2)]),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.binary(max_size=6)), max_size=5),
    st.sampled_from([100, 100, 70, 10]),
)
def test_a_damaged_nest_never_stops_a_run(tmp_path_factory, content, changes, length):
    """What can be read is read, and the rest is told."""
    mutated = bytearray(content)
    for place, new in changes:
        at = place % len(mutated)
        mutated[at : at + len(new)] = new

    result = opened(
        tmp_path_factory.mktemp("nest"), {"a": bytes(mutated[: len(mutated) * length // 100]), "b": b"x"}
    )

    assert texts(result)["b"] == b"x"
    assert len({file.path for file in result.files}) == len(result.files)
