"""Packing: what comes out is what went in, and the same folder gives the same bytes."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest
import zstandard

from collectors.pack import bundle_folder, is_archive, pack

CONTENT = {
    "manifest.json": json.dumps({"finished": "2026-03-09T13:02:11.500+01:00"}).encode(),
    "commands/dmesg.txt": bytes(range(256)) * 100,
    "files/proc/cmdline": b"",
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    for name, content in CONTENT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def members(archive: Path) -> list[tarfile.TarInfo]:
    """The members of an archive, in order."""
    return opened(archive).getmembers()


def opened(archive: Path) -> tarfile.TarFile:
    """An archive for reading."""
    content = archive.read_bytes()
    if archive.name.endswith("zst"):
        content = zstandard.ZstdDecompressor().stream_reader(content).read()
    return tarfile.open(fileobj=io.BytesIO(content))


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.gz", ".tar.xz", ".tar", ".tgz"])
def test_an_archive_holds_the_same_bytes(bundle: Path, tmp_path: Path, suffix: str) -> None:
    """Every file comes back, in one folder of the archive's name, the manifest first."""
    out = tmp_path / f"diagnose-a17{suffix}"

    assert out == pack(bundle, out)

    with opened(out) as archive:
        found = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    assert {f"diagnose-a17/{name}": content for name, content in CONTENT.items()} == found
    assert next(iter(found)) == "diagnose-a17/manifest.json"


@pytest.mark.parametrize("suffix", [".tar.zst", ".tar.gz", ".tar.xz", ".tar"])
def test_the_same_folder_gives_the_same_bytes(bundle: Path, tmp_path: Path, suffix: str) -> None:
    """Neither the time of packing nor that of the files enters."""
    first = pack(bundle, tmp_path / f"one/x{suffix}").read_bytes()
    for path in bundle.rglob("*"):
        os.utime(path, (1, 1))

    assert first == pack(bundle, tmp_path / f"two/x{suffix}").read_bytes()


def test_members_carry_the_time_of_the_manifest_and_no_owner(bundle: Path, tmp_path: Path) -> None:
    """2026-03-09T13:02:11+01:00 in seconds; user 0 without a name; readable by the owner alone."""
    found = members(pack(bundle, tmp_path / "x.tar"))

    assert {(1773057731, 0, 0, "", "", 0o600)} == {
        (member.mtime, member.uid, member.gid, member.uname, member.gname, member.mode) for member in found
    }


def test_links_are_left_out(bundle: Path, tmp_path: Path) -> None:
    """A link in the folder leads nowhere: neither it nor what it points to is packed."""
    (bundle / "link").symlink_to("/etc/passwd")

    assert len(CONTENT) == len(members(pack(bundle, tmp_path / "x.tar")))


def test_without_an_archive_suffix_the_folder_itself_is_moved(bundle: Path, tmp_path: Path) -> None:
    """The result is the folder under the asked name; a place that is taken is refused."""
    out = tmp_path / "case-1"

    assert out == pack(bundle, out)
    assert out == pack(out, out)
    assert CONTENT["commands/dmesg.txt"] == (out / "commands/dmesg.txt").read_bytes()
    with pytest.raises(FileExistsError, match="exists already"):
        pack(out, tmp_path)


def test_the_folder_is_removed_only_once_the_archive_is_there(bundle: Path, tmp_path: Path) -> None:
    """Where packing fails, the folder stays and no half archive does."""
    (tmp_path / "x.tar").mkdir()
    (tmp_path / "x.tar/in the way").touch()

    with pytest.raises(OSError, match=r"x\.tar"):
        pack(bundle, tmp_path / "x.tar", remove=True)

    assert bundle.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "x.tar"]
    pack(bundle, tmp_path / "y.tar", remove=True)
    assert not bundle.exists()


def test_an_archive_is_readable_by_its_owner_alone(bundle: Path, tmp_path: Path) -> None:
    """Evidence of a machine is not for everybody on it."""
    assert pack(bundle, tmp_path / "x.tar.gz").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "archive", "folder"),
    [
        ("diagnose-a17.example.org-1.tar.zst", True, "diagnose-a17.example.org-1"),
        ("x.tgz", True, "x"),
        ("case.d", False, "case.d"),
        (".tar", False, ".tar"),
    ],
)
def test_the_name_decides(name: str, archive: bool, folder: str) -> None:
    """A known suffix with a name before it means an archive."""
    assert (is_archive(Path("/a") / name), bundle_folder(Path("/a") / name)) == (archive, Path("/a") / folder)
