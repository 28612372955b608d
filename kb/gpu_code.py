"""Which GPUs a piece of software has machine code for, by compute capability.

`gpu_capabilities.csv`: for each compute capability the first and the last CUDA whose compiler makes code for it
(`ptxas`, what that program lists in each toolkit from 11.7 on; before that Modules/CUDA/architectures.cmake of
`CMake`), driver branches and kernel modules as in gpu_products.csv, and the first NCCL, with the least CUDA that
it must be built with, whose makefile asks for code that such a GPU runs (`nccl_last`: the last that does).
`torch_builds.csv`: the code in the wheels of PyTorch at download.pytorch.org. Sources: `builder`, release branches
of pytorch/builder; `build_cuda` and `RELEASE.md` of pytorch/pytorch, and its `upgrade runbook` for CUDA; `warning
of …`, what that release itself prints. Other builds of PyTorch have other code.

Code for a GPU runs on one of the same major number and the same minor one or a higher; PTX is translated by the
driver for anything newer.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from kb.catalogues import rows
from kb.facts.base import version_key

CodeFit: TypeAlias = Literal["native", "translated", "missing"]


class Capability(NamedTuple):
    """What a GPU of one compute capability asks of the software."""

    capability: str
    """`8.9`."""
    cuda: str | None
    """The first CUDA with a compiler for it; None where any that is met today is new enough."""
    cuda_last: str | None
    """The last one."""
    nccl: str | None
    """The first NCCL with code that it runs; None as above."""
    nccl_cuda: str | None
    """The least CUDA that such an NCCL must be built with."""

    @property
    def arch(self) -> int:
        """As the tools number it: 89."""
        return arch_of(self.capability)


class TorchBuildRow(NamedTuple):
    """The code in one kind of wheel of PyTorch."""

    archs: tuple[int, ...]
    ptx: tuple[int, ...]


def arch_of(capability: str) -> int:
    """8.9 as the tools number architectures: 89."""
    return int(capability.replace(".", ""))


@cache
def _capabilities() -> dict[str, Capability]:
    return {
        row["capability"]: Capability(
            row["capability"], *(row[name] or None for name in ("cuda", "cuda_last", "nccl", "nccl_cuda"))
        )
        for row in rows("gpu_capabilities.csv")
    }


def capability_row(capability: str) -> Capability | None:
    """What a GPU of a compute capability, `8.9`, asks of the software; None for one that is not known."""
    return _capabilities().get(capability)


def first_cuda(capability: str) -> str | None:
    """The first CUDA whose machine code a GPU runs, that for older GPUs of its family too; None where any does."""
    own = capability_row(capability)
    family = [
        one
        for one in _capabilities().values()
        if own and one.arch // 10 == own.arch // 10 and one.arch <= own.arch
    ]
    return min((one.cuda for one in family if one.cuda), key=lambda cuda: version_key(cuda) or 0, default=None)


def code_fit(capability: str, archs: tuple[int, ...], ptx: tuple[int, ...]) -> CodeFit:
    """What a GPU finds in a build with machine code for some architectures and PTX for others."""
    arch = arch_of(capability)
    if any(one // 10 == arch // 10 and one <= arch for one in archs):
        return "native"
    return "translated" if any(one <= arch for one in ptx) else "missing"


@cache
def _torch_builds() -> dict[tuple[str, str], tuple[TorchBuildRow, ...]]:
    builds: dict[tuple[str, str], tuple[TorchBuildRow, ...]] = {}
    for row in rows("torch_builds.csv"):
        build = TorchBuildRow(*(tuple(int(one) for one in row[name].split()) for name in ("archs", "ptx")))
        for torch in row["torch"].split("; "):
            for cuda in row["cuda"].split("; "):
                builds[torch, cuda] = (*builds.get((torch, cuda), ()), build)
    return builds


def torch_builds(torch: str, cuda: str) -> tuple[TorchBuildRow, ...]:
    """The wheels of a PyTorch, `2.7.1`, for a CUDA, `12.8`, one for each kind of machine; none where unknown."""
    return _torch_builds().get((".".join(torch.split(".")[:2]), ".".join(cuda.split(".")[:2])), ())
