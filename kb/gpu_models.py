"""What a GPU is, by its product name: for texts that print no PCI device id, which tells more surely.

A name is compared word by word with the models of kb/catalogues/gpu_models.csv, so that a GH200 is no H200 and an
RTX 4000 Ada no GeForce of the 40 series. Of several models that fit, the longest is meant: `Quadro RTX 4000`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, cast

from kb.catalogues import rows

Architecture: TypeAlias = Literal[
    "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"
]
Tier: TypeAlias = Literal["geforce", "professional", "datacenter"]
Board: TypeAlias = Literal["card", "module", "superchip"]
"""`card`: in a PCIe slot. `module`: on a baseboard (SXM) with NVLink. `superchip`: with a Grace CPU."""

_SEPARATORS = re.compile(r"[\s\-_/]+")
_OF_A_CARD = frozenset({"pcie", "nvl"})
_OF_A_MODULE = re.compile(r"sxm\d?|hbm3e?|hgx")


class GpuModel(NamedTuple):
    """A GPU by its name."""

    architecture: Architecture
    tier: Tier
    board: Board | None
    """None for a model that is sold as card and as module, and whose name does not tell."""
    capability: str
    """Compute capability, `8.9`."""


@cache
def gpu_model(name: str) -> GpuModel | None:
    """The GPU of a product name, `NVIDIA A100-SXM4-80GB`, which may be cut; None for one that is not known."""
    words = _words(name)
    found = max(
        (
            (len(model), row)
            for model, row in _models().items()
            if any(words[at : at + len(model)] == model for at in range(len(words)))
        ),
        key=lambda one: one[0],
        default=None,
    )
    if found is None:
        return None
    model = found[1]
    if _OF_A_CARD.intersection(words):
        return model._replace(board="card")
    if model.board is None and any(_OF_A_MODULE.fullmatch(word) for word in words):
        return model._replace(board="module")
    return model


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.rstrip(".…") for word in _SEPARATORS.split(name.lower()) if word.strip(".…"))


@cache
def _models() -> dict[tuple[str, ...], GpuModel]:
    return {
        _words(model): GpuModel(
            cast("Architecture", row["architecture"]),
            cast("Tier", row["tier"]),
            cast("Board", row["board"]) if row["board"] else None,
            row["capability"],
        )
        for row in rows("gpu_models.csv")
        for model in row["models"].split(";")
    }
