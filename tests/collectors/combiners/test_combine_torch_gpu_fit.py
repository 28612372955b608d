"""Whether a PyTorch has code for the GPUs that are there."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.compatibility import TorchGpuFit
from kb.facts.environment import PythonPackage, TorchBuild
from kb.facts.gpu import Gpu


@pytest.mark.parametrize(
    ("gpu", "version", "fit"),
    [
        ("NVIDIA GeForce RTX 5090", "2.6.0+cu124", "missing"),
        ("NVIDIA GeForce RTX 5090", "2.7.1+cu128", "native"),
        ("Tesla V100-SXM2-16GB", "2.7.1+cu128", "missing"),
        ("Tesla V100-SXM2-16GB", "2.8.0+cu128", "native"),
        ("Tesla P100-PCIE-16GB", "2.8.0+cu128", "missing"),
        ("Tesla P100-PCIE-16GB", "2.8.0+cu126", "native"),
        ("NVIDIA GB10", "2.9.0+cu130", "native"),
        ("NVIDIA H100 PCIe", "2.0.1+cu117", "missing"),
        ("NVIDIA L4", "2.0.1+cu117", "native"),
    ],
)
def test_a_published_wheel_and_a_gpu(gpu: str, version: str, fit: str) -> None:
    cuda = f"{version[-3:-1]}.{version[-1]}"
    found = combined(TorchGpuFit, Gpu(name=gpu), TorchBuild(version=version, cuda=cuda))

    assert [(one.fit, one.gpu, one.torch, one.said_by) for one in found] == [(fit, gpu, version, "table")]


def test_what_pytorch_says_itself_comes_before_the_table() -> None:
    build = TorchBuild(version="2.7.1+cu128", cuda="12.8", archs="sm_80 sm_90a compute_90")
    found = combined(TorchGpuFit, Gpu(name="NVIDIA B200"), build)

    assert [(one.fit, one.archs, one.said_by) for one in found] == [
        ("translated", "sm_80 sm_90 compute_90", "torch")
    ]


def test_the_package_tells_where_pytorch_says_nothing() -> None:
    wheel = PythonPackage(name="torch", version="2.9.0", build="cu130", cuda="13.0", cuda_major=13)

    assert [one.fit for one in combined(TorchGpuFit, Gpu(name="Tesla P40"), wheel)] == ["missing"]


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(TorchBuild(version="2.6.0a0+ecf3bae40a.nv25.01", cuda="12.8"), id="a build of NVIDIA's"),
        pytest.param(TorchBuild(version="2.7.1", cuda="12.8"), id="a build of unknown origin"),
        pytest.param(TorchBuild(version="1.4.0+cu101", cuda="10.1"), id="a release that is not listed"),
        pytest.param(TorchBuild(version="2.7.1+cpu", cpu_only=True), id="for CPUs"),
        pytest.param(
            PythonPackage(name="torch", version="2.1.0", build="py3.10_cuda12.1", cuda="12.1", manager="conda"),
            id="of conda",
        ),
    ],
)
def test_nothing_is_said_of_other_builds(build: TorchBuild | PythonPackage) -> None:
    assert combined(TorchGpuFit, Gpu(name="Tesla P40"), build) == []


def test_nothing_is_said_of_unknown_gpus() -> None:
    build = TorchBuild(version="2.7.1+cu128", cuda="12.8")

    assert combined(TorchGpuFit, Gpu(name="NVIDIA Graphics Device"), build) == []
