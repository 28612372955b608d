"""Whether the driver serves the CUDA of PyTorch, by the table of toolkits."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.base import Fact
from kb.facts.compatibility import CudaCompatMode, CudaDriverFit
from kb.facts.driver import KernelModule, NvidiaSmi, ResolvedLibrary
from kb.facts.environment import PythonPackage, TorchBuild


def module(version: str = "570.86.15", **more: object) -> KernelModule:
    return KernelModule.model_validate({"version": version, "reported_by": "procfs", **more})


@pytest.mark.parametrize(
    ("driver", "cuda", "fit", "needs"),
    [
        ("570.86.15", "13.0", "too-old", "580.65.06"),
        ("580.65.06", "13.0", "full", "580.65.06"),
        ("580.95.05", "13.2", "minor-version", "580.65.06"),
        ("535.183.01", "12.8", "minor-version", "525.60.13"),
        ("610.43.02", "11.8", "full", "450.80.02"),
        ("470.256.02", "12.1", "too-old", "525.60.13"),
    ],
)
def test_a_driver_and_a_toolkit(driver: str, cuda: str, fit: str, needs: str) -> None:
    found = combined(CudaDriverFit, module(driver), TorchBuild(cuda=cuda))

    assert [(one.fit, one.needs, one.driver) for one in found] == [(fit, needs, driver)]


def test_the_package_tells_where_pytorch_says_nothing() -> None:
    wheel = PythonPackage(name="torch", version="2.9.0", build="cu130", cuda="13.0", cuda_major=13)
    smi = NvidiaSmi(tool_version="570.86.15", driver_version="570.86.15")

    assert [one.fit for one in combined(CudaDriverFit, smi, wheel)] == ["too-old"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([module("580.65.06")], id="two drivers"),
        pytest.param(
            [ResolvedLibrary(soname="libcuda.so.1", path="/x/libcuda.so.1", origin="cuda-compat")], id="compat"
        ),
        pytest.param([CudaCompatMode(mode="forward")], id="the container says so"),
        pytest.param([NvidiaSmi(driver_version="581.15", wsl=True)], id="WSL"),
    ],
)
def test_nothing_is_said_where_another_driver_may_serve(more: list[Fact]) -> None:
    assert combined(CudaDriverFit, module(), TorchBuild(cuda="13.0"), *more) == []


def test_nothing_is_said_of_what_works_all_the_same() -> None:
    assert combined(CudaDriverFit, module(), TorchBuild(cuda="13.0", cuda_available=True)) == []


@pytest.mark.parametrize("cuda", ["10.2", "99.0", "12"])
def test_nothing_is_said_of_a_toolkit_that_is_not_known(cuda: str) -> None:
    assert combined(CudaDriverFit, module(), TorchBuild(cuda=cuda)) == []


def test_a_module_that_is_not_loaded_serves_nothing() -> None:
    assert combined(CudaDriverFit, module(loaded=False), TorchBuild(cuda="13.0")) == []
