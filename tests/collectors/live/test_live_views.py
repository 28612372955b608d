"""A host seen from its container, and the container itself: two bundles of one machine."""

from __future__ import annotations

from pathlib import Path

from live_support import plant

from collectors.hosts import by_host
from collectors.live import collect
from collectors.open import open_evidence
from collectors.scan import read_all
from kb.evidence import Observed

BOOT = "7d1c9a52-3f0e-4b7c-9a51-0c5d0f6e2b11\n"
OTHER_BOOT = "00000000-3f0e-4b7c-9a51-0c5d0f6e2b11\n"


def bundle_of(tmp_path: Path, name: str, files: dict[str, str], boot: str = BOOT) -> str:
    """The bundle of a system with these files."""
    always = {
        "/etc/hostname": f"{name}\n",
        "/proc/sys/kernel/random/boot_id": boot,
        "/proc/sys/kernel/osrelease": "6.8.0-60-generic\n",
        "/proc/sys/kernel/version": "#63-Ubuntu SMP PREEMPT_DYNAMIC\n",
    }
    root = plant(tmp_path / f"root-{name}", {**always, **files})
    return str(collect(tmp_path / name, version="1", root=root))


def test_the_bundles_of_a_host_and_of_its_container_are_one_machine_among_several(tmp_path: Path) -> None:
    """What the container holds stands beside what its own host says, and not beside another host's."""
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  565.57.01  Thu Oct 10 12:29:05 UTC 2024\n"
    cgroup = {"/proc/1/cgroup": "0::/docker/4f5a1c0b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a\n"}
    library = {"/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15": "x" * 1000}
    bundles = [
        bundle_of(tmp_path, "a17", {"/proc/driver/nvidia/version": version}),
        bundle_of(tmp_path, "a18", {"/proc/driver/nvidia/version": version}, OTHER_BOOT),
        bundle_of(tmp_path, "3f2a1b0c", {**cgroup, **library}),
    ]

    _, readings = read_all(open_evidence(bundles).files)
    parts = by_host(readings)

    kinds = {
        host: {one.fact.kind for one in part if isinstance(one, Observed)} for host, part in sorted(parts.items())
    }
    assert list(kinds) == ["a17", "a18"]
    assert {"kernel_module", "library_file", "container"} <= kinds["a17"]
    assert not {"library_file", "container"} & kinds["a18"]
