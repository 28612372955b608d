"""Memory and load over time: the real binding against a small NVML of our own, and nvidia-smi in its place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_support import Tools, entries

from collectors.combine import combine
from collectors.live import collect
from collectors.live.sources import table
from collectors.open import open_evidence
from collectors.scan import read_all
from kb.evidence import Observed
from kb.facts.gpu import GpuActivity

COMPILER = shutil.which("gcc") or shutil.which("cc")
WORK = """
import sys
from dataclasses import replace
from pathlib import Path
from collectors.live import collect
from collectors.live.sources import table
rows = [replace(row, deadline_s=float(sys.argv[2])) for row in table(sample_s=0.1) if row.name == "gpu-samples"]
collect(Path(sys.argv[1]), version="1", sources=rows)
"""
ROW = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, (.*)")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with our libnvidia-ml.so.1."""
    if COMPILER is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("fake_nvml.c")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", str(target), str(source)], check=True)
    return folder


def sampled(out: Path, library: Path, mode: str, deadline_s: float = 10.0) -> tuple[dict[str, Any], list[str]]:
    """The entry of the samples and their lines, taken by a new process, since the loader reads its path once."""
    environ = {**os.environ, "LD_LIBRARY_PATH": str(library), "FAKE_NVML": mode}
    subprocess.run([sys.executable, "-c", WORK, str(out), str(deadline_s)], env=environ, check=True, timeout=60)
    text = (out / "listings/gpu-samples.txt").read_text(encoding="utf-8")
    return entries(out)["gpu-samples"], text.splitlines()


def test_samples_have_the_form_of_nvidia_smi(tmp_path: Path, library: Path) -> None:
    """A header and a row for each GPU and moment, with memory, load and power as NVML tells them."""
    entry, lines = sampled(tmp_path / "bundle", library, "ok")

    rows = [match[1] for line in lines if (match := ROW.match(line))]
    assert entry["outcome"] == "ok"
    assert lines[0].startswith("$ nvidia-smi --query-gpu=timestamp,index,memory.used")
    assert (
        rows
        == ["0, 1000 MiB, 81559 MiB, 100 %, 0 %, 118.42 W", "1, 2000 MiB, 81559 MiB, 100 %, 0 %, 118.42 W"] * 2
    )


@pytest.mark.parametrize(
    ("mode", "outcome", "error", "kept"),
    [
        (
            "mismatch",
            "failed",
            "NVML: Driver/library version mismatch",
            "Failed to initialize NVML: Driver/library version mismatch",
        ),
        ("lost", "ok", None, "1, [N/A], [N/A], [N/A], [N/A], [N/A]"),
        ("failing", "ok", None, "0, [N/A], [N/A], 100 %, 0 %, 118.42 W"),
        ("hang", "timed-out", "did not end in time", "timestamp, index, memory.used [MiB]"),
    ],
)
def test_an_nvml_in_trouble_costs_only_what_it_does_not_tell(
    tmp_path: Path, library: Path, mode: str, outcome: str, error: str | None, kept: str
) -> None:
    """Versions that differ, a GPU that is lost, a call that fails and one that never returns."""
    entry, lines = sampled(tmp_path / "bundle", library, mode, 3.0 if mode == "hang" else 10.0)

    assert (entry["outcome"], entry["error"]) == (outcome, error)
    assert any(kept in line for line in lines)


def test_nvidia_smi_serves_where_nvml_does_not(
    tmp_path: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the binding nvidia-smi is asked again and again, with one header; what it shows becomes facts."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    tools.add(
        "nvidia-smi",
        "echo 'timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%],"
        " utilization.memory [%], power.draw [W]';"
        "echo '2026/03/09 12:02:11.000, 0, 71020 MiB, 81559 MiB, 100 %, 0 %, 118.42 W'",
    )
    rows = [row for row in table(sample_s=2.0) if row.name.startswith("gpu-samples")]
    monkeypatch.setattr("collectors.live.sampling._moments", lambda _: iter(range(3)))

    bundle = collect(tmp_path / "bundle", version="1", sources=[replace(row, deadline_s=20.0) for row in rows])

    found = entries(bundle)
    assert [found[row.name]["outcome"] for row in rows] == ["absent", "ok"]
    assert len((bundle / "listings/gpu-samples-nvidia-smi.txt").read_text().splitlines()) == 1 + 1 + 3
    _, readings = read_all(open_evidence([str(bundle)]).files)
    facts = [one.fact for one in combine(readings) if isinstance(one, Observed)]
    assert [(one.activity, one.samples) for one in facts if isinstance(one, GpuActivity)] == [("waiting", 3)]
