"""How probes are run: what is said first, when they are refused, and that the bundle tells what happened."""

from __future__ import annotations

import json
import os
import sys

import pytest
from probe_support import Ran

from collectors.live.run import Ran as Ended
from collectors.probes import NAMES, PROBES, chosen
from collectors.probes.holders import holders


def a_python(tmp_path, body):
    """A program in the place of the job's Python."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\nasked = json.loads(sys.argv[3])\n{body}\n")
    path.chmod(0o755)
    return str(path)


def processes(tmp_path, **held):
    """A /proc in which processes have files open: by number, name and targets."""
    for number, (name, *targets) in enumerate(held.values(), 100):
        folder = tmp_path / "proc" / str(number) / "fd"
        folder.mkdir(parents=True)
        (folder.parent / "comm").write_text(name + "\n")
        for descriptor, target in enumerate(targets):
            (folder / str(descriptor)).symlink_to(target)
    return str(tmp_path / "proc")


def test_what_may_be_disturbed_is_said_before_anything_starts(tmp_path):
    """The first line of each probe; the second is how it ended."""
    ran = Ran(tmp_path, "shm", "cuinit", python="/nowhere/python")

    assert ran.said == [
        "probe shm: writes up to 16 MiB to /dev/shm and takes them away again",
        "probe shm: could not run: No such file or directory: /nowhere/python",
        f"probe cuinit: {next(probe.disturbs for probe in PROBES if probe.name == 'cuinit')}",
        "probe cuinit: could not run: No such file or directory: /nowhere/python",
    ]


def test_every_probe_says_what_it_disturbs_and_has_its_limits():
    """No row without a warning; what is asked for by one name runs from the harmless on."""
    assert all(probe.disturbs and probe.deadline_s <= 600 and probe.step_s <= 30 for probe in PROBES)
    assert len({probe.name for probe in PROBES}) == len(PROBES)
    assert NAMES == ("shm", "network", "cuinit", "staged", "nccl-init", "allreduce", "p2p")
    assert [probe.name for probe in chosen(["p2p", "allreduce"])] == ["allreduce-p2p-off", "p2p", "allreduce"]


def test_an_unknown_probe_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"expected probes among shm, network, .*; found p2q"):
        chosen(["p2q"])


def test_while_a_process_holds_a_gpu_probes_of_gpus_are_refused(tmp_path):
    """It is named; what uses no GPU runs all the same."""
    proc = processes(tmp_path, one=("python3", "/dev/null", "/dev/nvidia3"), two=("vllm", "/dev/nvidia-uvm"))
    ran = Ran(tmp_path, "cuinit", "shm", proc=proc)
    why = (
        "not started: process 100 (python3) holds /dev/nvidia3 (and 1 more); end it first, or give --probe-anyway"
    )

    assert ran.outcome("cuinit") == {"outcome": "refused", "why": why}
    assert ran.said[-1] == f"probe cuinit: refused: {why}"
    assert [record["event"] for record in ran.journal("cuinit")] == ["outcome"]
    assert (ran.entry("cuinit")["outcome"], ran.entry("cuinit")["error"]) == ("skipped", f"refused: {why}")
    assert ran.outcome("shm") == {"outcome": "completed"}


def test_with_probe_anyway_nobody_is_looked_for(tmp_path):
    proc = processes(tmp_path, one=("python3", "/dev/nvidia0"))
    ran = Ran(tmp_path, "cuinit", proc=proc, anyway=True, python=a_python(tmp_path, "os._exit(3)"))

    assert ran.outcome("cuinit") == {"outcome": "failed", "why": "ended with status 3"}


def test_the_drivers_own_services_are_no_users_of_gpus(tmp_path):
    """Persistence daemon and DCGM keep GPUs open on every server."""
    proc = processes(tmp_path, one=("nvidia-persiste", "/dev/nvidia0"), two=("nv-hostengine", "/dev/nvidia0"))

    assert holders(proc).processes == ()


def test_where_it_cannot_be_seen_who_holds_the_gpus_it_is_refused(tmp_path):
    ran = Ran(tmp_path, "cuinit", proc=str(tmp_path / "gone"))

    assert ran.outcome("cuinit")["outcome"] == "refused"
    assert "who holds the GPUs can't be seen (No such file or directory" in ran.outcome("cuinit")["why"]


def test_what_is_asked_stands_in_the_journal_before_the_child_starts(tmp_path):
    """The child itself finds it there, on the disk."""
    body = "print(open(f'/proc/self/fd/{asked[\"journal\"]}').read(), end=''); os._exit(4)"
    ran = Ran(tmp_path, "shm", python=a_python(tmp_path, body))
    (line,) = (ran.folder / "probes" / "shm.output.txt").read_text().splitlines()

    assert json.loads(line)["event"] == "asked"
    assert ran.outcome("shm") == {"outcome": "failed", "why": "ended with status 4"}


def test_a_child_that_says_nothing_is_ended_after_its_patience(tmp_path):
    """Before the first step too."""
    ran = Ran(tmp_path, "shm", python=a_python(tmp_path, "time.sleep(600)"), start_s=0.2)

    assert ran.outcome("shm")["outcome"] == "hung"


def test_what_is_left_behind_keeps_later_probes_off_the_gpus(tmp_path, monkeypatch):
    """A process that not even SIGKILL ends may hold a GPU for ever."""
    stuck = Ended(interrupted=True, left_behind="process 7, state D in nv_wait")
    monkeypatch.setattr(sys.modules["collectors.probes.conduct"], "run", lambda *_, **__: stuck)
    ran = Ran(tmp_path, "cuinit", "staged")

    assert ran.outcome("cuinit")["left_behind"] == "process 7, state D in nv_wait"
    assert ran.said[1].endswith("left behind: process 7, state D in nv_wait, not even SIGKILL ends it")
    assert ran.outcome("staged") == {
        "outcome": "refused",
        "why": "not started: probe cuinit left process 7, state D in nv_wait, which may still hold a GPU",
    }


def test_where_the_collection_is_ended_no_probe_starts(tmp_path):
    ran = Ran(tmp_path, "shm", stop=lambda: True)

    assert ran.outcome("shm") == {"outcome": "interrupted", "why": "the collection was ended"}
    assert ran.entry("shm")["outcome"] == "interrupted"


def test_a_run_that_is_asked_to_end_ends_the_probe_under_way(tmp_path):
    """And says so; the bundle is whole."""
    asked = iter(range(50))
    python = a_python(tmp_path, "time.sleep(600)")
    ran = Ran(tmp_path, "shm", "network", python=python, stop=lambda: next(asked, None) is None)

    assert ran.outcome("shm") == {"outcome": "interrupted"}
    assert ran.outcome("network") == {"outcome": "interrupted", "why": "the collection was ended"}


def test_a_full_disk_costs_one_probe_and_not_the_bundle(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("collectors.probes.journal.os.fsync", full)
    ran = Ran(tmp_path, "shm")

    assert ran.entry("shm")["outcome"] == "failed"
    assert "No space left on device" in ran.entry("shm")["error"]


def test_the_manifest_has_size_and_sum_of_the_journal(tmp_path):
    ran = Ran(tmp_path, "shm")
    entry = ran.entry("shm")
    content = (ran.folder / "probes" / "shm.jsonl").read_bytes()

    assert (entry["path"], entry["bytes"]) == ("probes/shm.jsonl", len(content))
    assert [path.name for path in (ran.folder / "probes").iterdir()] == ["shm.jsonl"]
    assert (ran.folder / "probes" / "shm.jsonl").stat().st_mode & 0o777 == 0o600


def test_memory_is_taken_so_that_peers_do_not_see_it_unasked(tmp_path, monkeypatch):
    """Expandable segments of torch are mapped into peers at once; and GPUs count as nvidia-smi counts them."""
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    body = "print(os.environ.get('PYTORCH_CUDA_ALLOC_CONF'), os.environ['CUDA_DEVICE_ORDER'])"
    ran = Ran(tmp_path, "shm", python=a_python(tmp_path, body))

    assert (ran.folder / "probes" / "shm.output.txt").read_text() == "None PCI_BUS_ID\n"
