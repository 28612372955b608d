"""Facts on what fits what: CUDA and the driver, PyTorch and the GPU."""

from typing import ClassVar, Literal

from pydantic import computed_field

from kb.catalogues import toolkit_of_branch
from kb.facts.base import Fact, Version, branch_of
from kb.gpu_code import CodeFit


class CudaCompatMode(Fact):
    """What the entry point of an NVIDIA container says on driver and CUDA."""

    kind: ClassVar[str] = "cuda_compat_mode"

    mode: Literal["forward", "minor-version", "unavailable", "failed"]
    """`forward`: it uses the image's own libcuda; `minor-version`: the driver's, of the same major release;
    `unavailable`: the driver is too old, and no compatibility can be had; `failed`: CUDA could not be started."""
    driver: Version | None = None
    """Of the kernel module."""
    driver_cuda: Version | None = None
    """Highest CUDA of that driver."""
    container_cuda: Version | None = None
    """CUDA that the image was built with."""
    library: Version | None = None
    """`forward`: release of the libcuda in the image."""
    needs: Version | None = None
    """`unavailable`: the least driver that it asks for."""
    code: int | None = None
    """`failed`: the number of the CUDA error."""
    said_by: Literal["container", "comparison"] = "container"
    """`comparison`: no container says so, versions that stand in the evidence do."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def made_for_driver(self) -> bool | None:
        """`forward`: that libcuda is made for the driver's branch; None where its branches are not known."""
        if self.library is None or self.driver is None:
            return None
        row = toolkit_of_branch(branch_of(self.library) or 0)
        return branch_of(self.driver) in row.forward if row and row.forward else None


class CudaDriverFit(Fact):
    """Whether the loaded driver serves the CUDA that PyTorch was built with, by NVIDIA's table of toolkits."""

    kind: ClassVar[str] = "cuda_driver_fit"

    fit: Literal["too-old", "minor-version", "full"]
    """`minor-version`: older than the toolkit's own driver, and of its compatibility range."""
    cuda: Version
    """Of PyTorch."""
    driver: Version
    """Of the kernel module."""
    needs: Version
    """The oldest driver on which programs of this CUDA start."""


class TorchGpuFit(Fact):
    """Whether a PyTorch has code for one model of GPU, by what it says itself or by the table of wheels."""

    kind: ClassVar[str] = "torch_gpu_fit"

    fit: CodeFit
    """`native`: machine code; `translated`: PTX alone, which the driver translates; `missing`: neither."""
    gpu: str
    """Model, as printed."""
    capability: Version
    torch: str
    """2.7.1+cu128"""
    archs: str
    """What the build has, `sm_80 sm_90`."""
    said_by: Literal["torch", "table"]
