"""A folder of evidence, in place: contents, paths and the manifest agree, and nothing is left of the names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from collectors.live import Source, collect
from collectors.live.source import File, Files
from collectors.redact import Redaction, in_words, redact_folder
from collectors.redact.folder import is_text

KEY = b"a key of tests"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, content in {
        "etc/hostname": b"zeus21\n",
        "etc/hosts": b"127.0.0.1 localhost\n10.3.0.6 zeus22\n",
        "home/lovelace/.nccl.conf": b"NCCL_SOCKET_IFNAME=eth0\n",
        "var/log/kern.log": b"Mar  9 12:02:11 zeus21 kernel: NVRM: Xid (PCI:0000:41:00): 79\nsee zeus22\n",
        "var/log/dump": b"\x80\x04\x95zeus21\x00\x01\x02",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return collect(
        tmp_path / "out",
        version="1",
        root=root,
        sources=[
            Source("all", Files(("/etc/host*", "/home/*/.nccl.conf", "/var/log/*"))),
            Source("no", File("/no")),
        ],
    )


def everything(folder: Path) -> bytes:
    return b"".join(
        str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    )


def test_nothing_is_left_of_the_names(bundle: Path) -> None:
    """Neither in a file, nor in a path, nor in the manifest, nor as a file that is no text."""
    redaction = redact_folder(bundle, KEY)

    held = everything(bundle)
    assert [name for name in (b"zeus", b"lovelace", b"10.3.0.6") if name in held] == []
    assert redaction.left_out == ("files/var/log/dump",)
    assert redaction.counts["host"] >= 4


def test_the_manifest_is_true_of_the_copy(bundle: Path) -> None:
    """Paths, sizes and sums are those of the files as they are; what was left out says why; counts are told."""
    redact_folder(bundle, KEY)

    about = json.loads((bundle / "manifest.json").read_bytes())
    listed = {entry["path"]: entry for entry in about["artifacts"] if entry["path"]}
    on_disk = {str(path.relative_to(bundle)) for path in bundle.rglob("*") if path.is_file()}
    assert {"manifest.json", *listed} == on_disk
    for path, entry in listed.items():
        content = (bundle / path).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
    left_out = next(entry for entry in about["artifacts"] if entry["file"] == "/var/log/dump")
    assert (left_out["path"], left_out["outcome"]) == (None, "skipped")
    assert about["redacted"]["replaced"]["host"] >= 4
    assert about["redacted"]["left_out"] == ["files/var/log/dump"]
    assert about["host"].startswith("host")


def test_only_the_owner_may_read_the_copy(bundle: Path) -> None:
    """As with the bundle itself."""
    redact_folder(bundle, KEY)

    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (bundle, *bundle.rglob("*"))}
    assert {(True, 0o700), (False, 0o600)} == modes


def test_a_host_with_a_name_like_a_word_is_replaced_in_the_manifest(tmp_path: Path) -> None:
    """Where the name of the host stands is known there."""
    (tmp_path / "manifest.json").write_text('{"schema": "diagnose.bundle/1", "host": "gpu", "artifacts": []}')

    redact_folder(tmp_path, KEY)

    assert json.loads((tmp_path / "manifest.json").read_bytes())["host"].startswith("host")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", True),
        (b"plain\n", True),
        ("gerät\n".encode(), True),
        ("gerät\n".encode("latin-1"), True),
        ("text\n".encode("utf-16"), True),
        (b"\x1b[31mred\x1b[0m\n" * 9, True),
        (b"a=1\0b=2\0" * 9, True),
        (b"\x1f\x8b\x08\0\0\0\0\0\x02\x03", False),
        (b"\x80\x04\x95\x0f\0\0\0\0\0\0\0", False),
        (b"\x28\xb5\x2f\xfd\x04\x58\x91\x00\x00\x01\x02", False),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0", False),
    ],
)
def test_what_is_text_can_be_looked_through(tmp_path: Path, content: bytes, expected: bool) -> None:
    """Anything else is left out."""
    path = tmp_path / "file"
    path.write_bytes(content)

    assert is_text(path) is expected


def test_what_was_done_is_said_in_a_line_or_two() -> None:
    """Counts and what was left out, the first few of it."""
    assert in_words(Redaction({"host": 2, "uuid": 1})) == ["replaced: host 2, uuid 1"]
    assert in_words(Redaction({}, ("a", "b", "c", "d"))) == [
        "replaced: nothing",
        "left out, because names in what is no text can't be replaced: a, b, c and 1 more",
    ]
