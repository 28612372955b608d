"""The probes that need no torch: CUDA's first call, shared memory, the network."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

import pytest
from probe_support import Ran

DRIVER = """
#include <string.h>
#include <unistd.h>
int cuInit(unsigned flags) { %s }
int cuGetErrorName(int code, const char **name) { *name = "CUDA_ERROR_OF_A_TEST"; return 0; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDeviceGetCount(int *count) { *count = 8; return %d; }
"""


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Makes a libcuda.so.1 that answers as it is told."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")

    def make(init, count_code=0):
        (tmp_path / "driver.c").write_text(DRIVER % (init, count_code))
        command = ["cc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", tmp_path / "driver.c"]
        subprocess.run(command, check=True, capture_output=True)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    return make


def test_cuda_that_starts_gives_version_and_number_of_gpus(tmp_path, driver):
    driver("return 0;")
    ran = Ran(tmp_path, "cuinit")

    assert ran.end("cuinit", "load")["library"] == str(tmp_path / "libcuda.so.1")
    assert ran.end("cuinit", "cuInit")["code"] == 0
    assert (ran.end("cuinit", "count")["driver_cuda"], ran.end("cuinit", "count")["devices"]) == ("12.8", 8)
    assert ran.outcome("cuinit") == {"outcome": "completed"}


def test_cuda_that_refuses_gives_code_and_name(tmp_path, driver):
    driver("return 803;", count_code=3)
    ran = Ran(tmp_path, "cuinit")

    assert (ran.end("cuinit", "cuInit")["code"], ran.end("cuinit", "cuInit")["name"]) == (
        803,
        "CUDA_ERROR_OF_A_TEST",
    )
    assert ran.end("cuinit", "count")["devices"] is None


def test_cuda_that_never_answers_is_left_in_time(tmp_path, driver):
    driver("for (;;) pause();")
    ran = Ran(tmp_path, "cuinit", start_s=1.0)

    assert ran.outcome("cuinit")["outcome"] == "hung"
    assert ran.outcome("cuinit")["steps"] == [{"step": "cuInit"}]


def test_without_the_driver_there_is_nothing_to_start(tmp_path, monkeypatch):
    (tmp_path / "libcuda.so.1").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    ran = Ran(tmp_path, "cuinit")

    assert ran.outcome("cuinit")["outcome"] == "cannot"
    assert ran.outcome("cuinit")["why"].startswith("libcuda.so.1 can't be loaded: ")


def test_shared_memory_is_measured_written_and_left_as_it_was(tmp_path):
    folder = tmp_path / "shm"
    folder.mkdir()
    ran = Ran(tmp_path, "shm", folder=str(folder), write_mib=2)

    assert ran.end("shm", "size")["size_mib"] == os.statvfs(folder).f_frsize * os.statvfs(folder).f_blocks // 2**20
    assert ran.end("shm", "write")["written_mib"] == 2
    assert ran.end("shm", "write")["wrong_mib"] == 0
    assert ran.end("shm", "shm_open")["made"] is True
    assert list(folder.iterdir()) == []


def test_shared_memory_that_cannot_be_written_gives_the_reason(tmp_path):
    """A file where the folder should be: the system's own word, and the other steps go on."""
    (tmp_path / "file").write_text("")
    ran = Ran(tmp_path, "shm", folder=str(tmp_path / "file"))

    assert ran.end("shm", "write")["errno"] == "ENOTDIR"
    assert ran.outcome("shm") == {"outcome": "completed"}


def test_no_shared_memory_at_all_is_said(tmp_path):
    ran = Ran(tmp_path, "shm", folder=str(tmp_path / "gone"))

    assert ran.outcome("shm") == {"outcome": "cannot", "why": f"there is no {tmp_path / 'gone'}"}


def test_own_addresses_reach_each_other(tmp_path, monkeypatch):
    """Loopback is there on every machine; nobody listens at a port that was just free."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    ran = Ran(tmp_path, "network")

    assert "lo 127.0.0.1" in ran.end("network", "addresses")["addresses"]
    assert ran.end("network", "connect")["result"] == "ok"
    assert ran.end("network", "own-name")["name"] == socket.gethostname()
    master = ran.end("network", "master")
    assert (master["target"], master["port"], master["result"]) == ("127.0.0.1", port, "refused")


def test_addresses_of_both_families_are_connected_each_with_its_own(tmp_path):
    """IPv6 loopback is reached where the kernel has IPv6, and none is asked to reach the other family."""
    ran = Ran(tmp_path, "network")
    pairs = [(one["source"], one["target"]) for one in ran.ends("network") if one["step"] == "connect"]
    has_ipv6 = "lo ::1" in ran.end("network", "addresses")["addresses"]

    assert ("127.0.0.1", "127.0.0.1") in pairs
    assert (("::1", "::1") in pairs) == has_ipv6
    assert [pair for pair in pairs if (":" in pair[0]) != (":" in pair[1])] == []
    assert {one["result"] for one in ran.ends("network") if one.get("target") == "::1"} <= {"ok"}


def test_a_meeting_point_is_tried_by_each_of_its_addresses(tmp_path, monkeypatch):
    """Nobody listens on the first address of the name and somebody on the second: both are told."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        names = tmp_path / "sitecustomize.py"
        names.write_text(
            "import socket\n_ask = socket.getaddrinfo\n"
            "def ask(name, *more, **named):\n"
            "    found = [a for n in ('127.0.0.2', '127.0.0.1') for a in _ask(n, *more, **named)]\n"
            "    return found if name == 'meeting.example' else _ask(name, *more, **named)\n"
            "socket.getaddrinfo = ask\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setenv("MASTER_ADDR", "meeting.example")
        monkeypatch.setenv("MASTER_PORT", str(port))
        ran = Ran(tmp_path, "network")

    master = ran.end("network", "master")
    assert master["result"] == "ok"
    assert [(one["address"], one["result"]) for one in master["tried"]] == [
        ("127.0.0.2", "refused"),
        ("127.0.0.1", "ok"),
    ]


def test_a_meeting_point_where_somebody_listens_is_reached(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", str(server.getsockname()[1]))
        ran = Ran(tmp_path, "network")

    assert ran.end("network", "master")["result"] == "ok"
