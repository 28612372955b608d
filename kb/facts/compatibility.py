"""Facts on how a newer CUDA runs on an older driver: what NVIDIA's containers say of it when they start."""

from typing import ClassVar, Literal

from kb.facts.base import Fact, Version


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
