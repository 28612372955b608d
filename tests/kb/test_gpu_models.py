"""What a GPU is by its product name: whole words count, and parts of words tell nothing."""

from __future__ import annotations

import pytest

from kb.gpu_models import gpu_model

NAMES = {
    "NVIDIA H200": ("Hopper", "datacenter", "module", "9.0"),
    "NVIDIA H200 NVL": ("Hopper", "datacenter", "card", "9.0"),
    "NVIDIA GH200 480GB": ("Hopper", "datacenter", "superchip", "9.0"),
    "NVIDIA H20": ("Hopper", "datacenter", "module", "9.0"),
    "NVIDIA H100 80GB HBM3": ("Hopper", "datacenter", "module", "9.0"),
    "NVIDIA H100 PCIe": ("Hopper", "datacenter", "card", "9.0"),
    "NVIDIA H800": ("Hopper", "datacenter", None, "9.0"),
    "NVIDIA A100-SXM4-80GB": ("Ampere", "datacenter", "module", "8.0"),
    "NVIDIA A100-SXM...": ("Ampere", "datacenter", "module", "8.0"),
    "A100-PCIE-40GB": ("Ampere", "datacenter", "card", "8.0"),
    "NVIDIA A10": ("Ampere", "datacenter", "card", "8.6"),
    "Tesla V100-SXM2-16GB": ("Volta", "datacenter", "module", "7.0"),
    "NVIDIA B200": ("Blackwell", "datacenter", "module", "10.0"),
    "NVIDIA GB200": ("Blackwell", "datacenter", "superchip", "10.0"),
    "NVIDIA GB10": ("Blackwell", "professional", "card", "12.1"),
    "NVIDIA GeForce RTX 4090": ("Ada Lovelace", "geforce", "card", "8.9"),
    "NVIDIA GeForce RTX 3080 Ti": ("Ampere", "geforce", "card", "8.6"),
    "NVIDIA RTX 4000 SFF Ada Generation": ("Ada Lovelace", "professional", "card", "8.9"),
    "NVIDIA RTX 4000 Ada Generation": ("Ada Lovelace", "professional", "card", "8.9"),
    "Quadro RTX 4000": ("Turing", "professional", "card", "7.5"),
    "NVIDIA RTX A6000": ("Ampere", "professional", "card", "8.6"),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": ("Blackwell", "professional", "card", "12.0"),
    "NVIDIA L40S": ("Ada Lovelace", "datacenter", "card", "8.9"),
    "NVIDIA B300 SXM6 AC": ("Blackwell", "datacenter", "module", "10.3"),
    "NVIDIA A30": ("Ampere", "datacenter", "card", "8.0"),
    "Tesla P100-PCIE-16GB": ("Pascal", "datacenter", "card", "6.0"),
    "Tesla K80": ("Kepler", "datacenter", "card", "3.7"),
    "Tesla T4": ("Turing", "datacenter", "card", "7.5"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_tells_architecture_market_board_and_capability(name: str):
    assert gpu_model(name) == NAMES[name]


@pytest.mark.parametrize("name", ["", "NVIDIA Graphics Device", "Matrox G200eR2", "NVIDIA H2000", "AH100", "..."])
def test_a_name_that_is_no_known_model_tells_nothing(name: str):
    assert gpu_model(name) is None
