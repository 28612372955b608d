"""The whole collection: a bundle is always written, and its manifest is true."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from live_support import Tools, entries, manifest, plant

from collectors.live import SOURCES, Source, Step, collect, default_name
from collectors.live.listings import boot_time
from collectors.live.source import Command, File, Files, Listing
from collectors.live.steps import Site

if TYPE_CHECKING:
    from pathlib import Path

    from collectors.live.tree import Tree


def row(name: str, line: str, **options: object) -> Source:
    """A row for a command."""
    return replace(Source(name, Command(tuple(line.split()))), **options)  # type: ignore[arg-type]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "bundle"


def take(out: Path, *sources: Source, **options: object) -> Path:
    """The bundle of these sources."""
    return collect(out, version="1.2.3", sources=sources, **options)  # type: ignore[arg-type]


def test_proc_and_sys_come_first_and_nvidia_smi_last() -> None:
    """No command before the last file of /proc or /sys; nothing after the first nvidia-smi but more of it."""
    kinds = [source.how for source in SOURCES]
    commands = [at for at, how in enumerate(kinds) if isinstance(how, Command)]
    kernel = [
        at for at, how in enumerate(kinds) if isinstance(how, File) and how.path.startswith(("/proc/", "/sys/"))
    ]
    smi = [at for at, how in enumerate(kinds) if isinstance(how, Command) and how.argv[0] == "nvidia-smi"]

    assert max(kernel) < min(commands)
    assert list(range(min(smi), len(SOURCES))) == smi
    assert kinds[smi[0]].argv == ("nvidia-smi", "-L")  # type: ignore[union-attr]


def test_every_row_has_its_own_name_and_a_deadline() -> None:
    """Names are the keys of the manifest and of file names; a row refers only to rows before it."""
    names = [source.name for source in SOURCES]

    assert len(set(names)) == len(names)
    assert all(source.deadline_s <= 20.0 and source.cap_bytes <= 32 << 20 for source in SOURCES)
    for at, source in enumerate(SOURCES):
        assert {*source.unless, *(source.after or ())[:1]} <= set(names[:at])


def test_the_manifest_tells_the_truth_about_this_machine(out: Path) -> None:
    """On the real machine every source has an entry, every sum and size is right, and no file is unlisted."""
    assert out == collect(out, version="1.2.3")

    about = manifest(out)
    listed = {entry["path"]: entry for entry in about["artifacts"] if entry["path"]}
    on_disk = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {source.name for source in SOURCES} <= {entry["name"] for entry in about["artifacts"]}
    assert {"manifest.json", *listed} == on_disk
    for path, entry in listed.items():
        content = (out / path).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (entry["bytes"], entry["sha256"])
    assert (about["schema"], about["version"], about["deadline_s"]) == ("diagnose.bundle/1", "1.2.3", 60.0)
    assert datetime.fromisoformat(about["started"]).utcoffset() is not None
    assert entries(out)["uname"]["outcome"] == "ok"


def test_an_entry_holds_what_was_agreed(out: Path, tools: Tools) -> None:
    """Command, exit code, place and error of a command that fails; its error text lies beside it."""
    tools.add("fails", "echo some text; echo some trouble >&2; exit 3")

    take(out, row("failing", "fails now"))

    entry = entries(out)["failing"]
    assert {"started", "seconds"} <= entry.keys()
    assert {
        "name": "failing",
        "path": "commands/failing.txt",
        "file": None,
        "command": ["fails", "now"],
        "outcome": "failed",
        "exit_code": 3,
        "error": "some trouble",
        "bytes": 10,
        "sha256": hashlib.sha256(b"some text\n").hexdigest(),
        "truncated": False,
        "note": None,
    } == {key: value for key, value in entry.items() if key not in {"started", "seconds"}}
    assert (out / "commands/failing.stderr.txt").read_bytes() == b"some trouble\n"
    assert tuple(entries(out)["failing.stderr"][key] for key in ("path", "command")) == (
        "commands/failing.stderr.txt",
        None,
    )


def test_what_is_not_there_is_absent_and_writes_nothing(out: Path, tmp_path: Path) -> None:
    """A file, a pattern, a listing and a command that are not there each have an entry without a path."""
    take(
        out,
        Source("file", File("/none")),
        Source("files", Files(("/none/*.conf", "/none.conf"))),
        Source("listing", Listing(boot_time, "grep btime /proc/stat")),
        row("command", "no-such-tool"),
        root=tmp_path,
        commands=True,
    )

    assert {("absent", None, 0, "")} == {
        (entry["outcome"], entry["path"], entry["bytes"], entry["sha256"]) for entry in entries(out).values()
    }
    assert len(entries(out)) == 4


def test_a_file_that_may_not_be_read_says_so(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EACCES on opening is no-permission, for a file and for each of several."""
    plant(tmp_path, {"/root/secret": "x", "/home/secret": "x", "/home/open": "y"})
    real = os.open

    def guarded(path: str, *rest: int) -> int:
        if str(path) in {f"{tmp_path}/root/secret", f"{tmp_path}/home/secret"}:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *rest)

    monkeypatch.setattr(os, "open", guarded)
    take(out, Source("one", File("/root/secret")), Source("some", Files(("/home/*",))), root=tmp_path)

    found = {(entry["name"], entry["file"]): entry["outcome"] for entry in manifest(out)["artifacts"]}
    assert found == {
        ("one", "/root/secret"): "no-permission",
        ("some", "/home/open"): "ok",
        ("some", "/home/secret"): "no-permission",
    }


def test_host_files_come_from_the_given_root_and_commands_do_not_run(out: Path, tmp_path: Path) -> None:
    """A tree elsewhere is read as if it were the machine; a command would speak of another one."""
    root = plant(tmp_path / "host", {"/proc/cmdline": "iommu=pt\n", "/proc/driver/nvidia/version": "NVRM\n"})

    collect(out, version="1", root=root)

    assert (out / "files/proc/cmdline").read_bytes() == b"iommu=pt\n"
    assert (out / "files/proc/driver/nvidia/version").read_bytes() == b"NVRM\n"
    assert not (out / "commands").exists()
    assert entries(out)["uname"]["outcome"] == "skipped"


def test_output_over_the_cap_is_cut_and_marked(out: Path, tools: Tools, tmp_path: Path) -> None:
    """A command keeps its beginning, a log its last whole lines; a file of just the cap is whole."""
    tools.add("flood", "head -c 1000000 /dev/zero")
    plant(tmp_path, {"/log": "first\nsecond\nthird\n", "/exact": "0123456789", "/long": "0123456789+"})

    take(
        out,
        row("flood", "flood", cap_bytes=1000),
        Source("log", File("/log", "tail"), cap_bytes=10),
        Source("exact", File("/exact", "tail"), cap_bytes=10),
        Source("long", File("/long"), cap_bytes=10),
        root=tmp_path,
        commands=True,
    )

    assert {name: (entry["bytes"], entry["truncated"]) for name, entry in entries(out).items()} == {
        "flood": (1000, True),
        "log": (6, True),
        "exact": (10, False),
        "long": (10, True),
    }
    assert (out / "files/log").read_bytes() == b"third\n"
    assert entries(out)["flood"]["outcome"] == "ok"


def test_a_hanging_nvidia_smi_costs_only_itself(out: Path, tools: Tools) -> None:
    """Everything before it is there; after one hang no other nvidia-smi is started, and it says why."""
    tools.add("nvidia-smi", "sleep 60")
    sources = [
        replace(source, deadline_s=0.2) if "nvidia-smi" in source.name else source
        for source in SOURCES
        if not isinstance(source.how, Command) or source.how.argv[0] in {"uname", "nvidia-smi"}
    ]

    take(out, *sources)

    found = entries(out)
    assert (found["proc-cmdline"]["outcome"], found["uname"]["outcome"]) == ("ok", "ok")
    assert found["nvidia-smi-list"]["outcome"] == "timed-out"
    assert {("skipped", "not started: nvidia-smi did not end in step nvidia-smi-list")} == {
        (entry["outcome"], entry["error"])
        for name, entry in found.items()
        if name.startswith("nvidia-smi") and name != "nvidia-smi-list"
    }


def test_after_one_tool_hung_no_other_takes_all_the_time(out: Path, tools: Tools) -> None:
    """The next gets a share of what is left, so that the one after it has its turn."""
    tools.add("stands", "sleep 60")
    tools.add("stands-too", "sleep 60")

    take(
        out, row("one", "stands", deadline_s=0.4), row("two", "stands-too"), row("three", "uname"), deadline_s=3.0
    )

    found = entries(out)
    assert [found[name]["outcome"] for name in ("one", "two", "three")] == ["timed-out", "timed-out", "ok"]


def test_files_are_read_though_tools_have_spent_their_time(out: Path, tools: Tools) -> None:
    """Of what is kept for the last; a tool gets nothing of that."""
    tools.add("stands", "sleep 60")
    version = Source("version", File("/proc/version"))

    take(out, row("one", "stands"), version, row("two", "uname"), row("three", "uname", last=True), deadline_s=3.0)

    found = entries(out)
    assert [found[name]["outcome"] for name in ("one", "version", "three")] == ["timed-out", "ok", "ok"]
    assert found["two"]["error"].endswith("but for what is kept for the last")


def test_no_step_starts_after_the_deadline_of_the_run(out: Path) -> None:
    """The bundle is written all the same, with an entry for each source."""
    take(out, row("one", "uname"), Source("two", File("/proc/version")), deadline_s=0.0)

    assert {("skipped", "not started: the time of the whole run was spent")} == {
        (entry["outcome"], entry["error"]) for entry in entries(out).values()
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_run_that_is_asked_to_end_writes_what_it_has(out: Path, tools: Tools, number: signal.Signals) -> None:
    """The step under way keeps what it gave, the others are marked, and the handlers are as before."""
    tools.add("asks", f"echo some text; kill -{int(number)} $PPID; sleep 60")
    inherited = signal.signal(number, signal.SIG_DFL)  # a shell's background job ignores SIGINT, and so would we
    try:
        assert out == take(out, row("before", "uname"), row("during", "asks"), row("later", "uname"))
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, inherited)

    found = entries(out)
    assert [found[name]["outcome"] for name in ("before", "during", "later")] == [
        "ok",
        "interrupted",
        "interrupted",
    ]
    assert (out / "commands/during.txt").read_bytes() == b"some text\n"


def test_an_interrupt_raised_within_a_step_writes_what_it_has(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where signals are not ours to handle, KeyboardInterrupt ends the run in the same way."""

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Site, "take", interrupt)
    take(out, row("during", "uname"), row("later", "uname"))

    assert [entry["outcome"] for entry in entries(out).values()] == ["interrupted", "interrupted"]


def test_a_step_that_breaks_costs_no_other(out: Path) -> None:
    """Whatever a step raises becomes its outcome: here two rows that write the same place."""
    take(out, row("same", "uname"), row("same", "uname"), row("later", "uname"))

    found = [(entry["name"], entry["outcome"]) for entry in manifest(out)["artifacts"]]
    assert found == [("same", "ok"), ("same", "failed"), ("later", "ok")]


def test_progress_hears_of_each_step_and_cannot_stop_the_run(out: Path) -> None:
    """A terminal that went away raises on every write; the bundle is complete."""
    heard: list[tuple[int, int, str, str | None]] = []

    def progress(step: Step) -> None:
        heard.append((step.number, step.total, step.name, step.outcome))
        raise OSError(errno.EIO, "Input/output error")

    take(out, row("one", "uname"), row("two", "no-such-tool"), progress=progress)

    assert heard == [(1, 2, "one", None), (1, 2, "one", "ok"), (2, 2, "two", None), (2, 2, "two", "absent")]


def test_a_run_that_is_killed_leaves_a_manifest(out: Path, tmp_path: Path) -> None:
    """After each step the folder in the making has a manifest with what was taken so far."""
    seen: list[list[str]] = []

    def progress(step: Step) -> None:
        if step.outcome is None and step.number > 1:
            folder = next(tmp_path.glob("bundle.partial-*"))
            seen.append([entry["name"] for entry in manifest(folder)["artifacts"]])

    take(out, row("one", "uname"), row("two", "uname"), row("three", "uname"), progress=progress)

    assert seen == [["one"], ["one", "two"]]
    assert list(tmp_path.glob("bundle.partial-*")) == []


def test_the_journal_is_asked_only_where_dmesg_is_not_whole(tools: Tools, tmp_path: Path) -> None:
    """A ring buffer that has lost its beginning, or one that may not be read, is not enough."""
    sources = [source for source in SOURCES if source.name in {"dmesg", "kernel-journal"}]
    tools.add("journalctl", "echo 2026-03-09T12:02:11+0000 a17 kernel: from the journal")
    outcomes = []
    for number, script in enumerate(
        (
            "echo '[    0.000000] Linux version 6.8.0'",
            "echo '[ 9812.000000] NVRM: Xid'",
            "exit 0",
            "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1",
        )
    ):
        tools.add("dmesg", script)
        bundle = take(tmp_path / str(number), *sources)
        outcomes.append(tuple(entries(bundle)[name]["outcome"] for name in ("dmesg", "kernel-journal")))

    assert outcomes == [("ok", "skipped"), ("ok", "ok"), ("ok", "ok"), ("no-permission", "ok")]


def test_a_journal_without_entries_is_not_enough(tools: Tools, tmp_path: Path) -> None:
    """journalctl shows an ordinary user nothing, with success: the log file is taken then."""
    sources = [source for source in SOURCES if source.name in {"kernel-journal", "kernel-log-file"}]
    outcomes = []
    for number, line in enumerate(
        ("-- No entries --", "2026-03-09T12:02:11+0000 a17 kernel: x", "-- Logs begin at Mon")
    ):
        tools.add("journalctl", f"echo '{line}'")
        bundle = take(tmp_path / str(number), *sources, root=tmp_path, commands=True)
        outcomes.append(entries(bundle)["kernel-log-file"]["outcome"])

    assert outcomes == ["absent", "skipped", "skipped"]


def test_samples_are_apart_and_do_not_wait_for_one_that_failed(out: Path) -> None:
    """A source with `after` starts that long after the other began; without the other it starts at once."""
    take(
        out,
        row("first", "uname"),
        row("second", "uname", after=("first", 0.2)),
        row("lost", "no-such-tool"),
        row("third", "uname", after=("lost", 60.0)),
    )

    found = entries(out)
    starts = [datetime.fromisoformat(found[name]["started"]) for name in ("first", "second", "third")]
    assert timedelta(seconds=0.19) < starts[1] - starts[0]
    assert starts[2] - starts[1] < timedelta(seconds=5)


def test_no_secret_of_the_environment_enters(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte of the whole bundle of this machine holds a secret; allowed variables are there."""
    secrets = {
        "HF_TOKEN": "s3cr3t-hf",
        "VLLM_API_KEY": "s3cr3t-vllm",
        "NCCL_PASSWORD": "s3cr3t-nccl",
        "AWS_SECRET_ACCESS_KEY": "s3cr3t-aws",
        "CUDA_PROXY": "http://ada:s3cr3t-url@proxy:3128",
        "MY_OWN": "s3cr3t-unlisted",
    }
    for name, value in {**secrets, "NCCL_P2P_DISABLE": "1"}.items():
        monkeypatch.setenv(name, value)

    collect(out, version="1")

    held = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"s3cr3t" not in held
    assert not any(name.encode() in held for name in secrets)
    assert b"\nNCCL_P2P_DISABLE=1\n" in (out / "listings/environment.txt").read_bytes()


def test_only_the_owner_may_read_the_bundle(out: Path) -> None:
    """Folders have mode 700 and files 600, whatever the umask."""
    old = os.umask(0)
    try:
        take(out, row("one", "uname"), Source("two", File("/proc/version")))
    finally:
        os.umask(old)

    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (out, *out.rglob("*"))}
    assert {(True, 0o700), (False, 0o600)} == modes


def test_a_place_that_is_taken_is_refused_before_anything_runs(out: Path) -> None:
    """An older bundle is never written over."""
    plant(out, {"manifest.json": "{}"})

    with pytest.raises(FileExistsError, match="exists already"):
        take(out, row("one", "uname"))

    assert (out / "manifest.json").read_text() == "{}"


def test_a_place_that_is_taken_meanwhile_does_not_lose_the_evidence(out: Path) -> None:
    """The bundle then stays under the name it was built with, and that is what is returned."""
    found = take(out, row("one", "uname"), progress=lambda _: plant(out, {"other": ""}) and None)

    assert found != out
    assert entries(found)["one"]["outcome"] == "ok"


def test_files_beyond_the_time_of_their_row_are_named(out: Path, tmp_path: Path) -> None:
    """One file that hangs (a pipe nobody writes to) spends its row's time; the others are skipped by name."""
    os.mkfifo(tmp_path / "1")
    plant(tmp_path, {"2": "never read"})

    take(out, Source("some", Files(("/[12]",)), deadline_s=0.2), root=tmp_path)

    assert [(entry["file"], entry["outcome"]) for entry in manifest(out)["artifacts"]] == [
        ("/1", "timed-out"),
        ("/2", "skipped"),
    ]


def test_a_listing_that_hangs_keeps_its_lines(out: Path) -> None:
    """Lines before the hang are in the bundle, under the command line that would show them."""

    def lines(_tree: Tree):  # type: ignore[no-untyped-def]
        yield "first"
        signal.pause()

    take(out, Source("slow", Listing(lines, "show it"), deadline_s=0.5))

    assert (out / "listings/slow.txt").read_bytes() == b"$ show it\nfirst\n"
    assert entries(out)["slow"]["outcome"] == "timed-out"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a17.example.org", "diagnose-a17.example.org-20260309T120211Z.tar.zst"),
        ("../x y", "diagnose-x-y-20260309T120211Z.tar.zst"),
        ("", "diagnose-unknown-20260309T120211Z.tar.zst"),
    ],
)
def test_the_default_name_is_safe_and_in_utc(host: str, expected: str) -> None:
    """A host name cannot lead out of the folder, and the time is that of UTC."""
    when = datetime(2026, 3, 9, 13, 2, 11, tzinfo=timezone(timedelta(hours=1)))

    assert expected == default_name(host, when)


PROMISED = (
    *("/proc/driver/nvidia/version", "/proc/driver/nvidia/gpus/*/information", "/proc/driver/nvidia-nvswitch/"),
    *("/proc/driver/nvidia/capabilities/", "/sys/kernel/iommu_groups/", "/sys/bus/pci/devices/*/config"),
    *("/sys/module/nvidia*/srcversion", "/lib/modules/*/build", "/var/log/apt/history.log", "/var/log/dpkg.log"),
    *(
        "/var/log/dnf.rpm.log",
        "/proc/devices",
        "/dev/nvidia*",
        "/sys/fs/cgroup/devices/devices.list",
        "DeviceAllow",
    ),
    *("bpftool cgroup tree", "/proc/self/limits", "/dev/shm", "/sys/kernel/mm/hugepages/", "numactl --hardware"),
    *("ip addr", "ip route", "/sys/class/infiniband/", "show_gids", "/etc/nccl.conf", "sitecustomize.py"),
    *("usercustomize.py", "/etc/cdi/", "/etc/docker/daemon.json", "/etc/nvidia-container-runtime/config.toml"),
    *("fabricmanager.cfg", "/etc/nvidia-imex/", "nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex"),
    *("/run/reboot-required", "nvidia-smi -q", "py-spy", "/var/log/nvidia-installer.log"),
)


def test_the_table_has_what_is_promised() -> None:
    """Each kind of evidence is named by a row: as a path, a command, or a command that shows the same."""
    rows = " ".join(f"{source.name} {source.how}" for source in SOURCES).replace("', '", " ")

    assert [what for what in PROMISED if what not in rows] == []
