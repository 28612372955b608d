"""Facts on PCI Express as the kernel sees it: errors, lost links, addresses not assigned, narrow links."""

from typing import ClassVar, Literal

from pydantic import computed_field

from kb.facts.base import Bdf, Fact
from kb.facts.xid import WhichBoot


class PcieError(Fact):
    """Errors that one PCIe device reported (AER), of one severity; all lines of one file and boot together."""

    kind: ClassVar[str] = "pcie_error"

    bdf: Bdf
    severity: Literal["corrected", "nonfatal", "fatal"]
    """Corrected ones cost time only; many of them mean a marginal link."""
    bits: str | None = None
    """Names of the error bits as the kernel prints them, sorted: `BadTLP, RxErr, Timeout`."""
    driver: str | None = None
    """Driver bound to the device: pcieport, nvidia, nvme …"""
    vendor_id: str | None = None
    """PCI vendor of the device, four hex digits: 10de is NVIDIA."""
    below: Bdf | None = None
    """A device bound to nvidia that the kernel told of this error next: the GPU below this port."""
    reported_by: Literal["aer", "apei", "dpc"] = "aer"
    count: int = 1
    """The kernel limits their rate, so a lower bound."""
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None
    """Seconds since boot of the first, where the log has such stamps."""
    last_s: float | None = None


class PcieLinkEvent(Fact):
    """A PCIe port lost its link or its device, or shut itself off."""

    kind: ClassVar[str] = "pcie_link_event"

    bdf: Bdf
    """Of the port."""
    event: Literal["link-down", "card-removed", "containment", "power-fault"]
    """`containment`: Downstream Port Containment cut the link after an error."""
    slot: str | None = None
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class PcieBridge(Fact):
    """Which buses lie behind a PCI bridge, as the kernel logs at boot and `lspci -t` draws."""

    kind: ClassVar[str] = "pcie_bridge"

    bdf: Bdf
    secondary: int
    subordinate: int


class BarProblem(Fact):
    """A memory window of a PCI device that got no address and has none at the end of the log."""

    kind: ClassVar[str] = "bar_problem"

    bdf: Bdf
    bar: int
    """0 to 5; 6 is the expansion ROM. Windows of bridges and I/O ports are left out."""
    problem: Literal["no-space", "conflict", "not-claimed"]
    size_mib: int | None = None
    gpu: bool | None = None
    """The log shows that the device is a GPU of NVIDIA; None where it does not show what it is."""
    boot: WhichBoot = "this"


class PcieBandwidth(Fact):
    """The kernel says at boot that a link on the way limits a device. An idle GPU trains slowly: see the width."""

    kind: ClassVar[str] = "pcie_bandwidth"

    bdf: Bdf
    width: int
    """Lanes of the link that limits."""
    speed_gts: float
    limited_at: Bdf | None = None
    capable_width: int | None = None
    """What the device itself could."""
    capable_speed_gts: float | None = None
    boot: WhichBoot = "this"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def narrow(self) -> bool | None:
        """Fewer lanes than the device has; None where those are not known."""
        return None if self.capable_width is None else self.width < self.capable_width


class GpuLinkError(Fact):
    """A PcieError or PcieLinkEvent of a GPU, or of a port that leads to one."""

    kind: ClassVar[str] = "gpu_link_error"

    gpu: Bdf
    bdf: Bdf
    """Who reported it: the GPU itself or the port above it."""
    severity: Literal["corrected", "nonfatal", "fatal", "link-lost"]
    bits: str | None = None
    count: int = 1
    boot: WhichBoot = "this"
    first_s: float | None = None
