"""Whether device files may be used is asked of the kernel, and no device is opened."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from live_support import entries

from collectors.live import SOURCES, collect
from collectors.live.access import device_access
from collectors.live.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROLLER = Path("/sys/fs/cgroup/devices")


@pytest.fixture(autouse=True)
def nobody_listens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the listing reports to the parent of a step, of which there is none here."""
    notes: list[str] = []
    monkeypatch.setattr("collectors.live.access.report", lambda *, note: notes.append(note))
    return notes


def root_with(tmp_path: Path, *names: str) -> Path:
    """A root whose /dev has these as plain files."""
    (tmp_path / "dev").mkdir()
    for name in names:
        (tmp_path / "dev" / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (0, "= 0"),
        (errno.EPERM, "= -1 EPERM (Operation not permitted)"),
        (errno.EACCES, "= -1 EACCES (Permission denied)"),
    ],
)
def test_what_the_kernel_answers_is_told_as_strace_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_listens: list[str], code: int, says: str
) -> None:
    """A line for each file with the error's name; a folder is none; and whom it holds for is noted."""
    root = root_with(tmp_path, "nvidia0", "nvidiactl")
    (root / "dev" / "nvidia-caps").mkdir()
    asked: list[str] = []
    monkeypatch.setattr("collectors.live.access._asker", lambda: lambda path: asked.append(path) or code)

    assert list(device_access(Tree(str(root)))) == [
        f'access("/dev/nvidia0", R_OK|W_OK)       {says}',
        f'access("/dev/nvidiactl", R_OK|W_OK)     {says}',
    ]
    assert asked == [f"{root}/dev/nvidia0", f"{root}/dev/nvidiactl"]
    assert "asked for this process" in nobody_listens[0]


def test_the_kernel_is_asked_and_nothing_is_opened(tmp_path: Path) -> None:
    """The real call says yes for a file of ours; a pipe without a reader, which hangs whoever opens it, too."""
    root = root_with(tmp_path, "nvidia0")
    os.mkfifo(root / "dev" / "nvidia1")

    assert [line.split("= ")[1] for line in device_access(Tree(str(root)))] == ["0", "0"]


def test_without_device_files_there_is_nothing_to_ask(tmp_path: Path) -> None:
    """The outcome is then `absent`."""
    with pytest.raises(FileNotFoundError):
        list(device_access(Tree(str(tmp_path))))


@pytest.fixture
def denied(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A root with a device that a cgroup refuses, and that cgroup's list of tasks; where the kernel lets us."""
    group, node = CONTROLLER / f"diagnose-test-{os.getpid()}", root_with(tmp_path) / "dev" / "nvidia0"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no devices controller to be used here: {error.strerror}")
    try:
        (group / "devices.deny").write_text("c 195:* rwm")
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(195, 255))
        yield tmp_path, group / "cgroup.procs"
    except PermissionError as error:
        pytest.skip(f"no device file can be made here: {error.strerror}")
    finally:
        group.rmdir()


def test_a_device_cgroup_refuses_with_eperm(denied: tuple[Path, Path]) -> None:
    """What the mode allows the cgroup refuses, and access(2) tells it as opening would."""
    root, tasks = denied
    child = os.fork()
    if child == 0:  # a process cannot leave its cgroup's list before it has ended
        tasks.write_text("0")
        lines = list(device_access(Tree(str(root))))
        os._exit(0 if [line.split("= ")[1] for line in lines] == ["-1 EPERM (Operation not permitted)"] else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_it_speaks_of_our_own_process_alone(tmp_path: Path) -> None:
    """For another root it is not taken: that machine's cgroups are not ours."""
    sources = [source for source in SOURCES if source.name == "device-access"]
    bundle = collect(tmp_path / "bundle", version="1", root=tmp_path, sources=sources)

    assert entries(bundle)["device-access"]["outcome"] == "skipped"
