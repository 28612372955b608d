"""What a GPU is by its product name: whole words count, and parts of words tell nothing."""

from __future__ import annotations

import pytest

from kb.gpu_models import gpu_model

NAMES = {
    "NVIDIA H200": ("Hopper", "datacenter", "module"),
    "NVIDIA H200 NVL": ("Hopper", "datacenter", "card"),
    "NVIDIA GH200 480GB": ("Hopper", "datacenter", "superchip"),
    "NVIDIA H20": ("Hopper", "datacenter", "module"),
    "NVIDIA H100 80GB HBM3": ("Hopper", "datacenter", "module"),
    "NVIDIA H100 PCIe": ("Hopper", "datacenter", "card"),
    "NVIDIA H800": ("Hopper", "datacenter", None),
    "NVIDIA A100-SXM4-80GB": ("Ampere", "datacenter", "module"),
    "NVIDIA A100-SXM...": ("Ampere", "datacenter", "module"),
    "A100-PCIE-40GB": ("Ampere", "datacenter", "card"),
    "NVIDIA A10": ("Ampere", "datacenter", "card"),
    "Tesla V100-SXM2-16GB": ("Volta", "datacenter", "module"),
    "NVIDIA B200": ("Blackwell", "datacenter", "module"),
    "NVIDIA GB200": ("Blackwell", "datacenter", "superchip"),
    "NVIDIA GB10": ("Blackwell", "professional", "card"),
    "NVIDIA GeForce RTX 4090": ("Ada Lovelace", "geforce", "card"),
    "NVIDIA GeForce RTX 3080 Ti": ("Ampere", "geforce", "card"),
    "NVIDIA RTX 4000 SFF Ada Generation": ("Ada Lovelace", "professional", "card"),
    "NVIDIA RTX 4000 Ada Generation": ("Ada Lovelace", "professional", "card"),
    "Quadro RTX 4000": ("Turing", "professional", "card"),
    "NVIDIA RTX A6000": ("Ampere", "professional", "card"),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": ("Blackwell", "professional", "card"),
    "NVIDIA L40S": ("Ada Lovelace", "datacenter", "card"),
    "Tesla T4": ("Turing", "datacenter", "card"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_tells_architecture_market_and_board(name: str):
    assert gpu_model(name) == NAMES[name]


@pytest.mark.parametrize("name", ["", "NVIDIA Graphics Device", "Matrox G200eR2", "NVIDIA H2000", "AH100", "..."])
def test_a_name_that_is_no_known_model_tells_nothing(name: str):
    assert gpu_model(name) is None
