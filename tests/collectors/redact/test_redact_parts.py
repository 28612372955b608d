"""Many processes at large files give what one gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.redact import parts, redact_folder

KEY = b"a key of tests"


def plant(folder: Path) -> Path:
    """Two files; the host's name is learnt at the end of the larger one alone."""
    lines = [f"step {number} on zeus21, address 10.1.{number % 200}.7\n" for number in range(3000)]
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "job.log").write_text("".join(lines) + "Mar  9 12:02:11 zeus21 kernel: the end")
    (folder / "small.txt").write_text("zeus21\n")
    (folder / "wide.txt").write_bytes("zeus21 \u20ac\n".encode("utf-16"))
    (folder / "empty.txt").write_text("")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_three_processes_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents, names of files, and counts; what one process learns the others replace; no part is left over."""
    one = redact_folder(plant(tmp_path / "one"), KEY)
    monkeypatch.setattr(parts, "_WORTH_A_CHILD", 0)
    monkeypatch.setattr(parts, "_PART_BYTES", 20_000)
    monkeypatch.setattr(parts, "cores", lambda: 3)
    three = redact_folder(plant(tmp_path / "three"), KEY)

    assert three == one
    assert one.counts == {"host": 3003, "ip-address": 3000}
    assert contents(tmp_path / "three") == contents(tmp_path / "one")
    assert sorted(contents(tmp_path / "one")) == ["empty.txt", "logs/job.log", "small.txt", "wide.txt"]
    assert b"zeus" not in b"".join(contents(tmp_path / "one").values())


def test_parts_end_with_lines_and_leave_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins where the one before it ends."""
    monkeypatch.setattr(parts, "_PART_BYTES", 20_000)
    path = plant(tmp_path / "one") / "logs" / "job.log"
    found = parts.parts_of([path])
    content = path.read_bytes()

    assert len(found) > 3
    assert [part.begin for part in found] == [0, *(part.end for part in found[:-1])]
    assert found[-1].end == len(content)
    assert {content[part.end - 1 : part.end] for part in found[:-1]} == {b"\n"}


def test_a_disk_that_takes_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever process meets it."""
    monkeypatch.setattr(parts, "_WORTH_A_CHILD", 0)
    monkeypatch.setattr(parts, "cores", lambda: 3)
    folder = plant(tmp_path / "one")
    monkeypatch.setattr(parts.Part, "written", property(lambda part: part.path / "no folder"))

    with pytest.raises(NotADirectoryError):
        redact_folder(folder, KEY)
