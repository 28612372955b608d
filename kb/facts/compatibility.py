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
