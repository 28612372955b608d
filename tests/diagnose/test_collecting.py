"""Where the bundle goes, and what a user may ask for."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

from collectors import taking
from collectors.live.source import Command, Source
from collectors.taking import RequestError, Wanted, seconds_of
from diagnose.collecting import collect_bundle
from kb.errors import InputError


@pytest.fixture(autouse=True)
def _one_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One quick source, in a folder of its own."""
    monkeypatch.setattr(taking, "table", lambda **_: (Source("one", Command(("uname",))),))
    monkeypatch.chdir(tmp_path)


def test_where_nothing_can_be_written_the_bundle_goes_to_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A working directory on a read-only file system: it is said where the bundle went instead."""

    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))

    found = collect_bundle(None, 60.0, Wanted())

    assert found.parent == tmp_path / "tmp"
    assert found.is_file()
    assert "nothing can be written here (read-only file system); the bundle goes to" in capsys.readouterr().err


def test_a_place_that_was_named_and_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """One line: what, why, and what to do."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(InputError, match=r"could not write the bundle .*; name another place with -o"):
        collect_bundle(tmp_path / "file" / "b.tar.gz", 60.0, Wanted())


def test_an_archive_that_does_not_fit_leaves_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk is full when the archive is made: the folder holds the same, and is named."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(taking, "pack", refuse)

    found = collect_bundle(tmp_path / "b.tar.gz", 60.0, Wanted())

    assert (found / "manifest.json").is_file()
    assert "no space left on device" in capsys.readouterr().err


def test_two_bundles_of_one_second_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second takes the next number; neither is written over."""
    monkeypatch.setattr(taking, "default_name", lambda *_: "diagnose-a17-20260309T120211Z.tar.gz")

    found = [collect_bundle(None, 60.0, Wanted()) for _ in range(2)]

    assert [one.name for one in found] == [
        "diagnose-a17-20260309T120211Z.tar.gz",
        "diagnose-a17-20260309T120211Z-2.tar.gz",
    ]
    assert all((tmp_path / one).stat().st_size > 0 for one in found)


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """Nothing is collected of a place that is not there."""
    with pytest.raises(InputError, match="expected the root of a system, found no folder"):
        collect_bundle(None, 60.0, Wanted(root=tmp_path / "host"))


@pytest.mark.parametrize(("text", "expected"), [("20s", 20.0), ("20", 20.0), ("1.5s", 1.5), ("2m", 120.0)])
def test_a_time_is_given_in_seconds_or_minutes(text: str, expected: float) -> None:
    """With or without the unit of seconds."""
    assert seconds_of(text) == expected


@pytest.mark.parametrize("text", ["", "abc", "0s", "-5", "11m", "20 s", "1e3"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """In one line."""
    with pytest.raises(RequestError, match="expected a time of at most ten minutes"):
        seconds_of(text)
