"""How a CUDA newer than the driver's comes to run."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.compatibility import CudaCompatMode
from kb.facts.driver import KernelModule, LibraryOrigin, NvidiaSmi, ResolvedLibrary
from kb.facts.environment import TorchBuild


def library(version: str, origin: LibraryOrigin = "cuda-compat") -> ResolvedLibrary:
    return ResolvedLibrary(soname="libcuda.so.1", path=f"/x/libcuda.so.{version}", version=version, origin=origin)


@pytest.mark.parametrize(
    ("found", "modes"),
    [
        (library("570.86.15"), ["forward"]),
        (library("525.60.13"), []),
        (library("570.86.15", "driver"), []),
    ],
)
def test_a_newer_library_before_the_drivers_own(found: ResolvedLibrary, modes: list[str]) -> None:
    module = KernelModule(version="535.183.01", reported_by="procfs")
    assert [one.mode for one in combined(CudaCompatMode, module, found)] == modes


@pytest.mark.parametrize(
    ("torch", "modes"), [("12.6", ["minor-version"]), ("12.2", []), ("11.8", []), ("13.0", []), (None, [])]
)
def test_a_newer_runtime_of_the_same_major_release(torch: str | None, modes: list[str]) -> None:
    smi = NvidiaSmi(tool_version="535.183.01", driver_version="535.183.01", cuda_version="12.2")
    assert [one.mode for one in combined(CudaCompatMode, smi, TorchBuild(cuda=torch))] == modes


@pytest.mark.parametrize(
    ("cuda", "torch", "modes"),
    [
        ("12.8", None, ["forward"]),
        ("12.2", None, []),
        ("12.2", TorchBuild(cuda="13.0", cuda_available=True), ["forward"]),
        ("12.2", TorchBuild(cuda="13.0"), []),
        ("12.2", TorchBuild(cuda="13.0", cuda_available=False), []),
        ("12.2", TorchBuild(cuda="12.9", cuda_available=True), ["minor-version"]),
    ],
)
def test_a_cuda_that_the_drivers_own_library_cannot_offer(
    cuda: str, torch: TorchBuild | None, modes: list[str]
) -> None:
    module = KernelModule(version="535.183.01", reported_by="procfs")
    smi = NvidiaSmi(tool_version="535.183.01", driver_version="535.183.01", cuda_version=cuda)
    facts = [module, smi, *([torch] if torch else [])]
    assert [one.mode for one in combined(CudaCompatMode, *facts)] == modes
