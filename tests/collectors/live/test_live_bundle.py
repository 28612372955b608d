"""The bundle on disk: never larger than it may be, and written also where the disk is full."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest
from live_support import Tools, entries, plant

from collectors.live import Source, collect
from collectors.live.source import Command, File, Files

MIB = 1024 * 1024


def held_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_bundle_is_never_larger_than_it_may_be(tmp_path: Path, tools: Tools) -> None:
    """Floods are cut, each to a share of what is left, so that what comes last is whole; entries say so."""
    tools.add("flood", "yes password=y | head -c 400000")
    tools.add("nvidia-smi", "echo all is well")
    flood = [Source(f"flood-{number}", Command(("flood", str(number))), cap_bytes=32 * MIB) for number in range(5)]

    out = collect(
        tmp_path / "out",
        version="1",
        sources=[*flood, Source("last", Command(("nvidia-smi",)))],
        max_bytes=MIB,
    )

    found = entries(out)
    assert held_bytes(out) <= MIB
    assert [found[source.name]["truncated"] for source in flood] == [True] * 5
    assert found["flood-1"]["error"].startswith("cut at ")
    assert (out / "commands/last.txt").read_text() == "all is well\n"
    assert json.loads((out / "manifest.json").read_text())["secrets"]["assignment"] > 1000


def test_where_no_room_is_left_it_says_so(tmp_path: Path) -> None:
    """What is left out has an entry with the reason."""
    large = [f"/large-{number}" for number in range(5)]
    plant(tmp_path, {**dict.fromkeys(large, "x" * 100_000), "/small": "y"})

    out = collect(
        tmp_path / "out",
        version="1",
        root=tmp_path,
        sources=[*(Source(path[1:], File(path)) for path in large), Source("small", File("/small"))],
        max_bytes=70 * 1024,
    )

    assert entries(out)["small"]["outcome"] == "skipped"
    assert entries(out)["small"]["error"] == "not taken: the bundle has reached its greatest size"


def test_a_full_disk_leaves_what_was_taken_and_a_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that met it says so, what came before is there, and the manifest fits in what was kept for it."""
    plant(tmp_path, {"/first": "1\n", "/large": "x" * 500_000, "/later": "2\n"})
    out = tmp_path / "disk" / "out"
    real, disk_bytes = os.write, 900 * 1024

    def write(descriptor: int, chunk: bytes) -> int:
        here = str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith(str(out.parent))
        if here and held_bytes(out.parent) + len(chunk) > disk_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, chunk)

    monkeypatch.setattr(os, "write", write)
    sources = [Source(name, File(f"/{name}")) for name in ("first", "large", "later")]
    collect(out, version="1", root=tmp_path, sources=sources)

    found = entries(out)
    assert {name: found[name]["outcome"] for name in found} == {"first": "ok", "large": "failed", "later": "ok"}
    assert found["large"]["error"] == "OSError: [Errno 28] No space left on device"
    assert (out / "files/later").read_text() == "2\n"


def test_a_packed_log_is_unpacked_and_keeps_its_end(tmp_path: Path) -> None:
    """Nobody could see a secret in it otherwise; over the cap its last whole lines are kept, as of any log."""
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"".join(b"line %d\n" % n for n in range(10_000))))
    (tmp_path / "b.log.gz").write_bytes(b"no gzip")

    out = collect(
        tmp_path / "out",
        version="1",
        root=tmp_path,
        sources=[Source("logs", Files(("/*.log.gz",), "tail"), cap_bytes=25)],
    )

    assert (out / "files/a.log").read_bytes() == b"line 9998\nline 9999\n"
    assert not (out / "files/b.log").exists()
