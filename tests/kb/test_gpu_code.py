"""Which GPUs a build has code for, and what asks of the software each one makes."""

from __future__ import annotations

import pytest

from kb.catalogues import product_by_id, rows
from kb.facts.base import version_key
from kb.facts.gpu import Gpu
from kb.gpu_code import capability_row, code_fit, first_cuda, torch_builds


@pytest.mark.parametrize(
    ("capability", "archs", "ptx", "fit"),
    [
        ("8.9", (80, 86), (), "native"),
        ("8.0", (86,), (), "missing"),
        ("12.1", (100, 120), (), "native"),
        ("12.0", (100,), (), "missing"),
        ("10.0", (90,), (90,), "translated"),
        ("7.0", (75, 80), (80,), "missing"),
        ("7.5", (70,), (), "native"),
    ],
)
def test_code_runs_within_its_family_and_ptx_on_all_that_is_newer(capability, archs, ptx, fit):
    assert code_fit(capability, archs, ptx) == fit


@pytest.mark.parametrize(
    ("name", "since", "until", "nccl", "family"),
    [
        ("Tesla V100-SXM2-16GB", "9.0", "12.9", None, 70),
        ("NVIDIA A40", "11.0", None, "2.7.3", 80),
        ("NVIDIA GeForce RTX 4090", "11.0", None, "2.7.3", 80),
        ("NVIDIA H100 PCIe", "11.8", None, "2.15.1", 90),
        ("NVIDIA B300 SXM6 AC", "12.8", None, "2.25.1", 100),
        ("NVIDIA GB10", "12.8", None, "2.25.1", 120),
        ("Matrox G200eR2", None, None, None, None),
    ],
)
def test_what_a_gpu_asks_of_cuda_and_nccl(name, since, until, nccl, family):
    gpu = Gpu(name=name)

    assert (gpu.cuda_since, gpu.cuda_until, gpu.nccl_since, gpu.arch_family) == (since, until, nccl, family)


def test_every_model_has_a_row_for_its_capability():
    assert {row["capability"] for row in rows("gpu_models.csv")} - {
        row["capability"] for row in rows("gpu_capabilities.csv")
    } == set()
    assert capability_row("99.0") is None


def test_capabilities_and_device_ids_agree_on_drivers_and_kernel_modules():
    """Each architecture, in the words of the two tables; Grace Hopper alone differs from its architecture."""
    products = {
        (row["architecture"], row["until"], row["open_module"])
        for row in rows("gpu_products.csv")
        if row["architecture"] != "Fermi"
    } - {("Hopper", "", "required")}

    assert {
        (row["architecture"], row["driver_last"], row["open_module"]) for row in rows("gpu_capabilities.csv")
    } == products


@pytest.mark.parametrize(
    ("capability", "device_id"),
    [
        ("7.0", "1db6"),
        ("7.5", "1eb8"),
        ("8.0", "20b2"),
        ("8.6", "2204"),
        ("8.9", "2684"),
        ("9.0", "2330"),
        ("10.0", "2901"),
        ("10.3", "3182"),
        ("12.0", "2b85"),
        ("12.1", "2e12"),
    ],
)
def test_capabilities_and_device_ids_agree_on_the_first_driver(capability, device_id):
    product = product_by_id(device_id)
    row = next(row for row in rows("gpu_capabilities.csv") if row["capability"] == capability)

    assert product is not None
    assert int(row["driver"]) == product.since


def test_wheels_are_of_toolkits_that_make_their_code():
    """No wheel has code from before a compiler for it, or from after the last."""
    capabilities = {int(row["capability"].replace(".", "")): row for row in rows("gpu_capabilities.csv")}
    found = []
    for row in rows("torch_builds.csv"):
        for cuda in row["cuda"].split("; "):
            key = version_key(cuda) or 0
            for arch in map(int, row["archs"].split()):
                known = capabilities.get(arch)
                early = known and known["cuda"] and key < (version_key(known["cuda"]) or 0)
                late = known and known["cuda_last"] and key > (version_key(known["cuda_last"]) or 0)
                if early or late:
                    found.append((row["torch"], cuda, arch))

    assert found == []


def test_wheels_by_release_and_cuda():
    """The patch release does not matter; one wheel for each kind of machine."""
    assert [build.archs for build in torch_builds("2.8.1", "12.8")] == [(70, 75, 80, 86, 90, 100, 120)]
    assert [build.archs[0] for build in torch_builds("2.11.0", "12.8")] == [75, 80]
    assert torch_builds("2.8.1", "11.8") == ()
    assert first_cuda("5.0") is None
