"""What kind of GPU each one is."""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import pairwise

import pytest
from combining import combined

from kb.catalogues import product_by_chip
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuOnBus, GpuProduct
from kb.facts.module_load import ModuleLoadProblem


@pytest.mark.parametrize(
    ("device_id", "architecture", "open_module", "last_branch"),
    [
        ("102d", "Kepler", "unsupported", 470),
        ("1b06", "Pascal", "unsupported", 580),
        ("1db6", "Volta", "unsupported", 580),
        ("1eb8", "Turing", "supported", None),
        ("20b2", "Ampere", "supported", None),
        ("2330", "Hopper", "supported", None),
        ("2342", "Hopper", "required", None),
        ("2684", "Ada Lovelace", "supported", None),
        ("2901", "Blackwell", "required", None),
        ("2b85", "Blackwell", "required", None),
        ("31c2", "Blackwell", "required", None),
    ],
)
def test_a_device_id_tells(device_id: str, architecture: str, open_module: str, last_branch: int | None) -> None:
    products = combined(GpuProduct, GpuOnBus(bdf="41:00.0", device_id=device_id))
    assert [(one.architecture, one.open_module, one.last_branch) for one in products] == [
        (architecture, open_module, last_branch)
    ]


def test_an_unknown_device_id_tells_nothing() -> None:
    assert combined(GpuProduct, GpuOnBus(bdf="41:00.0", device_id="ffff")) == []


def test_the_driver_names_it_too() -> None:
    problem = ModuleLoadProblem(problem="needs-open-module", bdf="01:00.0", device_id="10de:2b85")
    assert [one.device_id for one in combined(GpuProduct, problem)] == ["2b85"]


def test_a_chip_tells_where_no_id_does() -> None:
    gpu = Gpu(bdf="01:00.0", chip="GP107M", name="GeForce GTX 1050 Mobile", reported_by="lspci")
    assert [(one.architecture, one.device_id) for one in combined(GpuProduct, gpu)] == [("Pascal", None)]


def test_a_product_name_tells_nothing() -> None:
    assert combined(GpuProduct, Gpu(bdf="01:00.0", name="NVIDIA RTX PRO 6000 Blackwell")) == []


def test_no_id_is_in_two_rows() -> None:
    with files("kb.catalogues").joinpath("gpu_products.csv").open(encoding="utf-8") as table:
        spans = sorted((int(row["first"], 16), int(row["last"], 16)) for row in csv.DictReader(table))
    assert all(first <= last for first, last in spans)
    assert all(last < following for (_, last), (following, _) in pairwise(spans))


def test_a_chip_of_no_gpu_tells_nothing() -> None:
    assert product_by_chip("NV41") is None
