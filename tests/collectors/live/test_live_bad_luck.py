"""Bad luck of every kind: each has its outcome in the manifest, and none costs the bundle."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from live_support import Tools, entries, manifest, plant
from processes import gone

from collectors.live import SOURCES, collect
from collectors.live import bundle as bundle_module
from collectors.live import run as run_module
from collectors.live.source import Command, File, Files, Source
from collectors.live.sources import table
from collectors.open import open_evidence
from collectors.scan import read_all
from kb.evidence import Observed

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
MISCHIEF = {
    "hangs": "sleep 60",
    "ignores-sigterm": "trap '' TERM; while :; do sleep 60; done",
    "forks": "sleep 60 & echo $!; exit 0",
    "floods": "exec yes",
    "binary": "printf '\\000\\001\\377\\033[2J\\n'",
    "lies": "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'",
}


def row(name: str, line: str, **options: Any) -> Source:
    """A row for a command."""
    return replace(Source(name, Command(tuple(line.split()))), **options)


def taken(out: Path, *sources: Source, **options: Any) -> Path:
    """The bundle of these sources."""
    return collect(out, version="1", sources=sources, **options)


@pytest.mark.parametrize(
    ("mischief", "expected"),
    [
        ("hangs", ("timed-out", None, "did not end in time")),
        ("ignores-sigterm", ("timed-out", None, "did not end in time")),
        ("forks", ("ok", 0, None)),
        ("floods", ("failed", None, "ended, for it wrote without end")),
        ("binary", ("ok", 0, None)),
        ("lies", ("ok", 0, None)),
    ],
)
def test_a_tool_that_misbehaves_has_a_true_outcome(
    tmp_path: Path, tools: Tools, mischief: str, expected: tuple[str, int | None, str | None]
) -> None:
    """Hanging, deaf to SIGTERM, forking, flooding, printing bytes, and calling an error a success."""
    tools.add("tool", MISCHIEF[mischief])

    bundle = taken(
        tmp_path / "bundle", row("tool", "tool", deadline_s=0.4 if expected[0] == "timed-out" else 20.0)
    )

    entry = entries(bundle)["tool"]
    assert (entry["outcome"], entry["exit_code"], entry["error"]) == expected
    assert entry["truncated"] is (mischief == "floods")
    assert (entry["bytes"] == MIB) is (mischief == "floods")
    if mischief == "forks":
        assert gone(int((bundle / "commands/tool.txt").read_text()))
    read_all(open_evidence([str(bundle)]).files if entry["path"] else [])


def test_when_every_tool_misbehaves_the_bundle_is_still_made(tmp_path: Path, tools: Tools) -> None:
    """All programs of the table hang, flood or lie in turn: the run ends by its deadline, and nvidia-smi has its
    share of the time; what is read from files is there."""
    programs = sorted({source.how.argv[0] for source in SOURCES if isinstance(source.how, Command)} | {"py-spy"})
    for number, program in enumerate(programs):
        tools.add(program, list(MISCHIEF.values())[number % len(MISCHIEF)])
    tools.add("nvidia-smi", MISCHIEF["ignores-sigterm"])
    sources = [
        replace(source, deadline_s=min(source.deadline_s, 0.5)) for source in table() if source.name != "python"
    ]

    bundle = collect(tmp_path / "bundle", version="1", sources=sources, deadline_s=6.0)

    found, about = entries(bundle), manifest(bundle)
    assert {source.name for source in sources} <= found.keys()
    assert about["seconds"] < 6.0 + 3.0
    assert found["proc-version"]["outcome"] == "ok"
    assert found["nvidia-smi-list"]["outcome"] == "timed-out"
    assert "kept for the last" in found["lspci-verbose"]["error"]
    # What the tools would have told is read from files all the same.
    assert {found[name]["outcome"] for name in ("interfaces", "listening-ports")} == {"ok"}


def test_a_process_that_is_left_behind_is_told_with_where_it_sleeps(
    tmp_path: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even SIGKILL ends it: a table of its tasks lies beside the artifact."""
    tools.add("tool", "echo $$; exec sleep 60")
    monkeypatch.setattr(run_module._Child, "send", lambda *_: None)

    bundle = taken(tmp_path / "bundle", row("tool", "tool", deadline_s=1.0))

    pid = int((bundle / "commands/tool.txt").read_text())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    entry, lines = entries(bundle)["tool"], (bundle / "commands/tool.stuck.txt").read_text().splitlines()
    assert entry["outcome"] == "timed-out"
    assert f"left behind: process {pid}, state S" in entry["error"]
    assert lines[0] == "$ ps -Lo pid,tid,stat,wchan:32,comm"
    assert lines[2].split()[:3] == [str(pid), str(pid), "S"]
    assert lines[2].endswith(" sleep")


def test_what_a_killed_tool_leaves_in_its_group_is_told_too(
    tmp_path: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell around a tool dies, the tool itself does not."""
    tools.add("tool", "sleep 60 & echo $!; wait")
    monkeypatch.setattr(run_module._Child, "send", lambda self, number: os.kill(self.pid, number))

    bundle = taken(tmp_path / "bundle", row("tool", "tool", deadline_s=1.0))

    pid = int((bundle / "commands/tool.txt").read_text())
    os.kill(pid, signal.SIGKILL)
    assert f"left behind: process {pid}, state S" in entries(bundle)["tool"]["error"]


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[Path]:
    """A file system on which every write sleeps in the kernel and takes no signal, until it is thawed."""
    image, folder = tmp_path / "image", tmp_path / "frozen"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(20 * MIB)
    steps = (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, folder], ["fsfreeze", "-f", folder])
    try:
        for step in steps:
            subprocess.run(step, capture_output=True, check=True)
        yield folder
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root may freeze a file system, where there are loop devices")
    finally:
        subprocess.run(["fsfreeze", "-u", folder], capture_output=True, check=False)
        subprocess.run(["umount", "-l", folder], capture_output=True, check=False)


def test_a_tool_in_the_d_state_is_abandoned_and_its_kernel_stack_kept(
    tmp_path: Path, tools: Tools, frozen: Path
) -> None:
    """A real one, which not even SIGKILL ends: the run goes on without it and starts that tool no more."""
    tools.add("nvidia-smi", f"exec touch {frozen}/file")
    sources = [
        replace(source, deadline_s=1.0) for source in SOURCES if source.name in {"nvidia-smi-list", "nvidia-smi"}
    ]

    bundle = taken(tmp_path / "bundle", *sources)

    found = entries(bundle)
    pid = found["nvidia-smi-list"]["error"].partition("process ")[2].partition(",")[0]
    facts = [one.fact for one in readings_of(bundle) if one.fact.kind == "process_stack"]
    assert f"left behind: process {pid}, state D" in found["nvidia-smi-list"]["error"]
    assert found["nvidia-smi"]["outcome"] == "skipped"
    assert {(one.pid, one.tool) for one in facts} == {(int(pid), "kernel")}
    assert "D" in {one.state for one in facts}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_full_disk_the_manifest_says_what_did_not_fit(small_disk: Path, tools: Tools) -> None:
    """What fits is kept; room for the manifest was set aside."""
    tools.add("large", "head -c 3000000 /dev/zero")

    bundle = taken(
        small_disk / "bundle", row("one", "uname"), row("large", "large", cap_bytes=4 * MIB), row("two", "uname")
    )

    found = entries(bundle)
    assert bundle == small_disk / "bundle"
    assert found["one"]["outcome"] == "ok"
    assert (found["large"]["outcome"], "No space left" in found["large"]["error"]) == ("failed", True)
    assert not (bundle / ".room-for-the-manifest").exists()


def test_a_disk_that_fills_up_costs_neither_the_run_nor_the_last_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where not even the manifest can be written any more, that of an earlier step stays."""
    real, saved = bundle_module.Bundle._replace_manifest, []

    def full(self: Any, content: bytes) -> None:
        if len(saved) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        saved.append(content)
        real(self, content)

    monkeypatch.setattr(bundle_module.Bundle, "_replace_manifest", full)

    bundle = taken(tmp_path / "bundle", *(row(name, "uname") for name in ("one", "two", "three")))

    assert list(entries(bundle)) == ["one", "two"]
    assert (bundle / "commands/three.txt").exists()


def test_two_collectors_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Both want one name: one gets it, the other's bundle stays whole under the name it was built with."""
    made: list[Path] = []
    together = threading.Barrier(2)

    def progress(_: object) -> None:
        if len(made) == 0 and not together.broken:
            try:
                together.wait(5)
            except threading.BrokenBarrierError:
                return

    def one() -> None:
        made.append(taken(tmp_path / "bundle", row("one", "uname"), progress=progress))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(set(made)) == 2
    assert tmp_path / "bundle" in made
    assert [entries(bundle)["one"]["outcome"] for bundle in made] == ["ok", "ok"]


def test_a_clock_that_is_set_back_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Durations come from a clock that only goes forward; the manifest says how far the other was set."""
    times = iter(datetime(2026, 3, 9, 12, tzinfo=timezone.utc) - timedelta(hours=n) for n in range(50))
    monkeypatch.setattr(bundle_module, "now", lambda: next(times))

    bundle = taken(tmp_path / "bundle", row("one", "uname"))

    about = manifest(bundle)
    assert about["clock_step_s"] < -3000
    assert 0 <= about["artifacts"][0]["seconds"] <= about["seconds"]


def test_a_clock_that_is_not_set_makes_no_step(tmp_path: Path) -> None:
    """The clocks differ by less than a second."""
    assert manifest(taken(tmp_path / "bundle", row("one", "uname")))["clock_step_s"] == 0.0


def test_a_kernel_log_of_ten_gigabytes_gives_its_end(tmp_path: Path) -> None:
    """Its last whole lines, without reading the rest."""
    path = plant(tmp_path / "root", {"/var/log/kern.log": ""}) / "var/log/kern.log"
    with path.open("r+b") as file:
        file.seek(10 << 30)
        file.write(b"\nMar  9 12:00:00 a17 kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n")

    bundle = taken(
        tmp_path / "bundle", Source("log", File("/var/log/kern.log", "tail"), cap_bytes=90), root=tmp_path / "root"
    )

    entry = entries(bundle)["log"]
    assert (entry["outcome"], entry["truncated"]) == ("ok", True)
    assert (bundle / "files/var/log/kern.log").read_bytes().startswith(b"Mar  9 12:00:00 a17 kernel: NVRM: Xid")


def test_a_job_log_of_ten_gigabytes_gives_its_parts(tmp_path: Path) -> None:
    """Holes are not searched; the error in the midst and the end are there."""
    path = tmp_path / "train.log"
    with path.open("wb") as file:
        file.write(b"first\n")
        file.seek(5 << 30)
        file.write(b"\nRuntimeError: CUDA error: an illegal memory access was encountered\n")
        file.seek(10 << 30)
        file.write(b"\nlast\n")

    bundle = taken(tmp_path / "bundle", Source("log", Files((str(path),), "parts"), 60.0, cap_bytes=100_000))

    kept = (bundle / f"files{path}").read_bytes()
    assert kept.startswith(b"first\n")
    assert b"RuntimeError: CUDA error" in kept
    assert kept.endswith(b"last\n")


def test_another_root_is_named_and_nothing_of_ours_is_taken_for_it(tmp_path: Path) -> None:
    """Its name comes from its own files; our limits, mounts, environment and commands stay out."""
    root = plant(
        tmp_path / "host",
        {
            "/etc/hostname": "a17\n",
            "/proc/sys/kernel/osrelease": "6.8.0-60-generic\n",
            "/proc/sys/kernel/version": "#63-Ubuntu SMP\n",
            "/proc/self/limits": "Max locked memory 65536 65536 bytes\n",
            "/proc/self/cgroup": "0::/docker/4f5a1c0b9d8e7f6a5b4c3d2e1f0a9b8c\n",
        },
    )

    bundle = collect(tmp_path / "bundle", version="1", root=root)

    about, found = manifest(bundle), entries(bundle)
    assert (about["host"], about["view"]) == ("a17", f"another root at {root}")
    assert (
        (bundle / "listings/system-name.txt").read_text().startswith("$ uname -a\nLinux a17 6.8.0-60-generic #63")
    )
    ours = ("proc-self-limits", "proc-self-cgroup", "environment", "python", "uname", "nvidia-smi")
    assert {found[name]["outcome"] for name in ours} == {"skipped"}
    assert {one.fact.host for one in readings_of(bundle) if one.fact.kind == "boot"} == {"a17"}
    assert not any(one.fact.kind == "container" for one in readings_of(bundle))


def readings_of(bundle: Path) -> list[Any]:
    """What is read from a bundle."""
    return [one for one in read_all(open_evidence([str(bundle)]).files)[1] if isinstance(one, Observed)]


def test_a_run_without_standard_streams_works(tmp_path: Path) -> None:
    """Under a supervisor all three may be closed."""
    code = (
        "import os\nfor number in (0, 1, 2): os.close(number)\n"
        "from pathlib import Path\nfrom collectors.live import collect\n"
        "from collectors.live.source import Command, Source\n"
        f"collect(Path({str(tmp_path / 'bundle')!r}), version='1', sources=[Source('one', Command(('uname',)))])\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)

    assert (tmp_path / "bundle/commands/one.txt").read_text() == "Linux\n"
