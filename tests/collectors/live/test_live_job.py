"""The job: its processes from outside, their Python, and logs of any size."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from live_support import Tools, entries, manifest, plant

from collectors.live import collect
from collectors.live.excerpt import copy_parts
from collectors.live.processes import interpreter, process_lines, search_paths, without_secrets
from collectors.live.source import Files, Processes, Pythons, PythonStacks, Source
from collectors.live.tree import Tree
from collectors.open import open_evidence
from collectors.scan import read_all
from kb.evidence import Observed

if TYPE_CHECKING:
    from collections.abc import Iterator

RANK = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(120)
"""


@pytest.fixture
def rank() -> Iterator[tuple[int, int]]:
    """A Python that listens on a port: its number, and the port."""
    environ = {**os.environ, "NCCL_DEBUG": "INFO", "HF_TOKEN": "s3cr3t", "RANK": "3"}
    command = [sys.executable, "-c", RANK, "--api-key", "s3cr3t", "--tp=8"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
        process.kill()


def taken(out: Path, *sources: Source, **options: Any) -> Path:
    """The bundle of these sources."""
    return collect(out, version="1", sources=sources, **options)


def facts_of(bundle: Path) -> list[Any]:
    """What is read from a bundle."""
    _, readings = read_all(open_evidence([str(bundle)]).files)
    return [one.fact for one in readings if isinstance(one, Observed)]


def test_a_process_shows_where_it_lives_and_what_it_was_given(tmp_path: Path, rank: tuple[int, int]) -> None:
    """Command line, allowed variables, program, namespaces and the port on which it listens; no secret."""
    pid, port = rank
    bundle = taken(tmp_path / "bundle", Source("job", Processes((pid,)), 10.0))

    text = (bundle / f"processes/{pid}.txt").read_text(encoding="utf-8")
    facts = facts_of(bundle)
    assert entries(bundle)["job"]["outcome"] == "ok"
    assert "s3cr3t" not in text
    assert "--api-key '(hidden)' --tp=8" in text
    assert {(one.name, one.value, one.origin) for one in facts if one.kind == "setting"} >= {
        ("NCCL_DEBUG", "INFO", "process"),
        ("RANK", "3", "process"),
    }
    assert (port, pid) in {(one.port, one.pid) for one in facts if one.kind == "listening_port"}
    assert str(Path(f"/proc/{pid}/exe").readlink()) in {one.program for one in facts if one.kind == "job_process"}


def test_processes_that_hold_a_gpu_are_found(tmp_path: Path) -> None:
    """Of all processes those that hold a device of NVIDIA's; what vanished meanwhile is passed over."""
    plant(
        tmp_path,
        {
            "/proc/7/fd/3": "-> /dev/nvidia0",
            "/proc/7/stat": "7 (python3) S 1",
            "/proc/8/fd/3": "-> /dev/null",
            "/proc/9/comm": "gone",
        },
    )

    bundle = taken(tmp_path / "bundle", Source("job", Processes(), 10.0), root=tmp_path)

    assert [(one["note"], one["outcome"]) for one in manifest(bundle)["artifacts"]] == [("process 7", "ok")]


def test_without_a_job_that_is_what_the_manifest_says(tmp_path: Path) -> None:
    """Nobody holds a GPU: one entry each, absent, with the reason."""
    plant(tmp_path, {"/proc/8/fd/3": "-> /dev/null"})

    bundle = taken(tmp_path / "bundle", Source("job", Processes(), 10.0), root=tmp_path)

    assert [(one["outcome"], one["error"]) for one in manifest(bundle)["artifacts"]] == [
        ("absent", "no process holds a device of NVIDIA's")
    ]


def test_a_process_that_is_gone_is_absent(tmp_path: Path) -> None:
    """A number that nobody has any more."""
    bundle = taken(tmp_path / "bundle", Source("job", Processes((7,)), 10.0), root=tmp_path)

    assert entries(bundle)["job"]["outcome"] == "absent"


def test_parts_of_a_process_that_vanish_or_are_refused_leave_the_others(tmp_path: Path) -> None:
    """Only what is there is told; for the rest stands what a shell would say."""
    plant(
        tmp_path,
        {
            "/proc/7/stat": "7 (python3) S 1",
            "/proc/7/task/7/stat": "7 (python3) S 1",
            "/proc/7/cmdline": "python3\0train.py\0",
        },
    )

    lines = list(process_lines(Tree(str(tmp_path)), 7))

    assert "      7       7 S    -                                python3" in lines
    assert "python3 train.py" in lines
    assert lines.count("cat: /proc/7: No such file or directory") >= 3


def test_libraries_are_told_once_with_whether_they_were_deleted(tmp_path: Path) -> None:
    """Of each library of interest its first mapping; others stay out."""
    row = "7f2a6d000000-7f2a6d200000 r-xp 00000000 103:02 2883"
    plant(
        tmp_path,
        {
            "/proc/7/stat": "7 (python3) S 1",
            "/proc/7/maps": (
                f"{row} /usr/lib/libcuda.so.550.54.15 (deleted)\n{row} /usr/lib/libcuda.so.550.54.15 (deleted)\n"
                f"{row} /opt/ofi/libnccl-net.so\n{row} /usr/lib/libc.so.6\n{row} [heap]\n"
            ),
        },
    )

    lines = list(process_lines(Tree(str(tmp_path)), 7))

    assert lines[-2:] == [f"{row} /usr/lib/libcuda.so.550.54.15 (deleted)", f"{row} /opt/ofi/libnccl-net.so"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("serve --hf-token abc --max-tokens 5", "serve --hf-token (hidden) --max-tokens 5"),
        ("serve --api-key=abc --tokenizer x", "serve --api-key=(hidden) --tokenizer x"),
        ("serve --secret --tp 8", "serve --secret --tp 8"),
        ("serve --PASSWORD abc", "serve --PASSWORD (hidden)"),
    ],
)
def test_secrets_of_command_lines_are_hidden(words: str, expected: str) -> None:
    """The value of an option that sounds like a secret, and nothing else."""
    assert " ".join(without_secrets(words.split())) == expected


def test_the_interpreter_of_a_process_is_the_one_it_was_called_by(tmp_path: Path) -> None:
    """A virtual environment shows in how it was called, in its variables, and else the program itself counts."""
    plant(
        tmp_path,
        {
            **{f"/proc/{pid}/exe": "-> /usr/bin/python3.11" for pid in (1, 2, 3, 4)},
            "/proc/1/cmdline": "/venv/bin/python\0train.py\0",
            "/proc/2/cmdline": "python\0train.py\0",
            "/proc/2/environ": "VIRTUAL_ENV=/v2\0LD_LIBRARY_PATH=/x\0HF_TOKEN=s\0",
            "/proc/3/cmdline": "bin/python\0",
            "/proc/3/cwd": "-> /w",
            "/proc/4/cmdline": "python\0",
            "/proc/4/environ": "A=b\0",
            "/proc/5/exe": "-> /usr/bin/bash",
        },
    )
    tree = Tree(str(tmp_path))

    assert [interpreter(tree, pid) for pid in (1, 2, 3, 4, 5)] == [
        "/venv/bin/python",
        "/v2/bin/python",
        "/w/bin/python",
        "/usr/bin/python3.11",
        None,
    ]
    assert search_paths(tree, 2) == {"VIRTUAL_ENV": "/v2", "LD_LIBRARY_PATH": "/x"}


def test_a_python_tells_its_pytorch_without_starting_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies on disk comes first and stays where importing PyTorch then fails; its hook is copied."""
    packages = plant(
        tmp_path / "packages",
        {
            "/torch/version.py": "__version__ = '2.3.0+cu121'\ncuda: Optional[str] = '12.1'\nhip = None\n",
            "/torch/__init__.py": "raise ImportError('libcudart.so.12: cannot open shared object file')\n",
            "/torch-2.3.0+cu121.dist-info/METADATA": "",
            "/nvidia_nccl_cu12-2.20.5.dist-info/METADATA": "",
            "/usercustomize.py": "import os\nos.environ.setdefault('NCCL_P2P_DISABLE', '1')\n",
        },
    )
    monkeypatch.setenv("PYTHONPATH", str(packages))

    bundle = taken(tmp_path / "bundle", Source("python", Pythons((sys.executable,)), 30.0))

    facts = facts_of(bundle)
    assert {(one.version, one.cuda) for one in facts if one.kind == "torch_build"} == {("2.3.0+cu121", "12.1")}
    found = {(one.name, one.version) for one in facts if one.kind == "python_package"}
    assert {("torch", "2.3.0"), ("nvidia-nccl-cu12", "2.20.5")} <= found
    assert ("NCCL_P2P_DISABLE", "sitecustomize") in {
        (one.name, one.origin) for one in facts if one.kind == "setting"
    }
    assert "imported_torch: ImportError: libcudart.so.12" in (bundle / "pythons/1.stderr.txt").read_text()


def test_an_imported_pytorch_tells_its_architectures_and_its_nccl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No GPU is in sight of it meanwhile."""
    packages = plant(
        tmp_path / "packages",
        {
            "/torch/__init__.py": (
                "import os\nfrom types import SimpleNamespace as N\n__version__ = '2.9.0+cu128'\n"
                "version = N(cuda='12.8', hip=None)\nassert os.environ['CUDA_VISIBLE_DEVICES'] == ''\n"
                "_C = N(_cuda_getArchFlags=lambda: 'sm_90 sm_120', _nccl_version=lambda: 2 << 32 | 27 << 16 | 5)\n"
            )
        },
    )
    monkeypatch.setenv("PYTHONPATH", str(packages))

    bundle = taken(tmp_path / "bundle", Source("python", Pythons((sys.executable,)), 30.0))

    builds = [
        one for one in facts_of(bundle) if one.kind == "torch_build" and one.archs
    ]  # beside what is installed
    assert [(one.archs, one.nccl) for one in builds] == [("sm_90 sm_120", "2.27.5")]


def test_a_python_that_hangs_keeps_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system of PyTorch hangs: what was printed before is in the bundle."""
    packages = plant(tmp_path / "packages", {"/torch/__init__.py": "import time\ntime.sleep(120)\n"})
    monkeypatch.setenv("PYTHONPATH", str(packages))

    bundle = taken(tmp_path / "bundle", Source("python", Pythons((sys.executable,)), 4.0))

    assert entries(bundle)["python"]["outcome"] == "timed-out"
    assert "$ pip freeze" in (bundle / "pythons/1.txt").read_text()


def test_stacks_of_python_come_from_py_spy_where_it_is(
    tmp_path: Path, tools: Tools, rank: tuple[int, int]
) -> None:
    """It is asked not to stop the process; without it one entry says so."""
    without = taken(tmp_path / "without", Source("py-spy", PythonStacks((rank[0], rank[0])), 10.0))
    tools.add("py-spy", 'echo "Process 7: $*"; echo "Python v3.11.7"; echo "Thread 7 (idle): \\"MainThread\\""')

    bundle = taken(tmp_path / "bundle", Source("py-spy", PythonStacks((rank[0],)), 10.0))

    assert [one["outcome"] for one in manifest(without)["artifacts"]] == ["absent"]
    entry = entries(bundle)["py-spy"]
    assert (entry["outcome"], entry["command"]) == (
        "ok",
        ["py-spy", "dump", "--nonblocking", "--pid", str(rank[0])],
    )


def test_a_process_that_hangs_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told of it before is kept."""

    def hang(_tree: Tree, pid: int) -> Iterator[str]:
        yield f"$ cat /proc/{pid}/status"
        if pid == 1:
            signal.pause()

    monkeypatch.setattr("collectors.live.job.process_lines", hang)
    monkeypatch.setattr("collectors.live.job._EACH_S", 0.8)

    bundle = taken(tmp_path / "bundle", Source("job", Processes((1, 2)), 10.0))

    assert [one["outcome"] for one in manifest(bundle)["artifacts"]] == ["timed-out", "ok"]
    assert (bundle / "processes/1.txt").read_text() == "$ cat /proc/1/status\n"


def log_of(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(content)
    return path


def test_a_log_that_fits_is_whole(tmp_path: Path) -> None:
    """Nothing is marked where nothing is left out; a pattern finds several."""
    path = log_of(tmp_path, b"one\ntwo\n")
    (tmp_path / "other.log").write_bytes(b"three\n")

    bundle = taken(tmp_path / "bundle", Source("log", Files((f"{tmp_path}/*.log",), "parts"), cap_bytes=100))

    assert (bundle / f"files{path}").read_bytes() == b"one\ntwo\n"
    assert [(one["truncated"], one["note"]) for one in manifest(bundle)["artifacts"]] == [(False, None)] * 2


def test_of_a_huge_log_head_tail_and_what_is_of_interest_are_kept(tmp_path: Path) -> None:
    """The traceback in the middle stays with what follows it; how much is left out stands where it was."""
    dull = b"".join(b"step %07d loss 0.1\n" % number for number in range(20_000))
    trace = b"Traceback (most recent call last):\n  File 'x.py', line 1\nRuntimeError: boom\n"
    path = log_of(tmp_path, b"first line\n" + dull + trace + dull + b"last line\n")

    bundle = taken(tmp_path / "bundle", Source("log", Files((str(path),), "parts"), cap_bytes=60_000))

    kept = (bundle / f"files{path}").read_bytes()
    entry = entries(bundle)["log"]
    assert kept.startswith(b"first line\n")
    assert kept.endswith(b"last line\n")
    assert trace in kept
    assert kept.count(b" bytes are left out here ...]\n") == 2
    assert (entry["outcome"], entry["truncated"]) == ("ok", True)
    assert entry["note"].startswith(f"of {path.stat().st_size} bytes the last ")
    assert "1 stretches of interest" in entry["note"]
    assert len(kept) <= 60_000


def test_a_storm_of_errors_does_not_outgrow_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones count; what was not searched is told."""
    told: list[dict[str, Any]] = []
    monkeypatch.setattr("collectors.live.excerpt.report", lambda **said: told.append(said))
    path = log_of(tmp_path, b"ERROR again and again\n" * 100_000)
    kept = bytearray()

    descriptor = os.open(path, os.O_RDONLY)
    copy_parts(descriptor, path.stat().st_size, 50_000, kept.extend)
    os.close(descriptor)

    assert len(kept) <= 50_000
    assert "were not searched" in told[0]["note"]


def test_a_log_is_read_once_though_two_rows_want_it(tmp_path: Path) -> None:
    """The second says that it is there already."""
    path = log_of(tmp_path, b"one\n")
    rows = [Source(name, Files((str(path),), "parts")) for name in ("log", "other")]

    bundle = taken(tmp_path / "bundle", *rows)

    assert [(one["outcome"], one["error"]) for one in manifest(bundle)["artifacts"]] == [
        ("ok", None),
        ("skipped", "not needed: it is in the bundle already"),
    ]
