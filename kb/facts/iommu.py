"""Facts on the IOMMU and on PCIe access control."""

from typing import ClassVar, Literal

from kb.facts.base import Bdf, Fact


class IommuDefault(Fact):
    """The default domain type that the kernel announced at boot."""

    kind: ClassVar[str] = "iommu_default"

    domain: Literal["translated", "passthrough"]
    explicit: bool = False
    """Set on the command line rather than by the build."""


class IommuGroup(Fact):
    """The domain type of the IOMMU group of one device: the ground truth."""

    kind: ClassVar[str] = "iommu_group"

    group: int
    bdf: Bdf | None = None
    domain: Literal["identity", "DMA", "DMA-FQ", "other"]


class IommuFault(Fact):
    """DMA of one device that the IOMMU refused; all its lines of one log together."""

    kind: ClassVar[str] = "iommu_fault"

    bdf: Bdf
    driver: str | None = None
    """Kernel driver bound at that moment, where the line names it."""
    vendor: Literal["amd", "intel", "arm"]
    access: Literal["read", "write"] | None = None
    count: int = 1
    """Lines seen; the kernel limits their rate, so a lower bound."""
    first_s: float | None = None
    """Seconds since boot of the first line, where the log has such stamps."""
    last_s: float | None = None


class GpuDmaFault(Fact):
    """An IommuFault whose device is a GPU itself, not its audio function and not another device."""

    kind: ClassVar[str] = "gpu_dma_fault"

    bdf: Bdf
    count: int
    first_s: float | None = None


class AcsControl(Fact):
    """Active ACS flags of one PCIe bridge (lspci -vvv `ACSCtl`)."""

    kind: ClassVar[str] = "acs_control"

    bdf: Bdf | None = None
    """None where the lines were picked out with grep."""
    request_redirect: bool
    """ReqRedir+: peer requests are sent up to the root complex."""
    completion_redirect: bool = False
