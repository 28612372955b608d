"""Facts on GPUs as devices of the PCI bus, and on how many of them each listing shows."""

from typing import ClassVar, Literal

from kb.catalogues import OpenModule
from kb.facts.base import Bdf, Fact


class GpuOnBus(Fact):
    """One NVIDIA GPU as sysfs shows it on the PCI bus, whether or not a driver has it."""

    kind: ClassVar[str] = "gpu_on_bus"

    bdf: Bdf
    device_id: str | None = None
    """Four hexadecimal digits in lower case: 2330."""
    driver: str | None = None
    """Kernel driver bound to it; `none` where none is."""
    numa_node: int | None = None
    """None where the firmware names none (-1)."""
    enabled: bool | None = None
    """Its memory and I/O are switched on."""
    power_state: str | None = None
    """D0, D3hot, D3cold."""
    parent: Bdf | None = None
    """The bridge directly above it."""
    reset_methods: str | None = None
    """How the kernel may reset it, in the order in which it tries: `flr bus`; `none` where it can't."""


class GpuLocalCpus(Fact):
    """The processors that are nearest to a GPU, as nvidia-smi topo -m prints them."""

    kind: ClassVar[str] = "gpu_local_cpus"

    index: int
    """nvidia-smi's number of the GPU."""
    list: str
    """`0-47,96-143`; empty: none of those that the asking process may use is near."""
    numa_node: int | None = None


class GpuPlacement(Fact):
    """Where a process that uses GPUs may run, set against the processors nearest to them. Combined."""

    kind: ClassVar[str] = "gpu_placement"

    pid: int
    gpus: str
    """nvidia-smi's numbers, or addresses where only these are told: `0`, `2,3`."""
    list: str
    """The processors it may use: `0-15,64-79`."""
    local: str
    """Those nearest to its GPUs."""
    near: Literal["all", "some", "none"]
    """Which of those it may use are among the nearest; `none` is a binding to other nodes."""


class GpuProduct(Fact):
    """What kind of GPU one is, by the catalogue of PCI device ids. Combined; never from product names."""

    kind: ClassVar[str] = "gpu_product"

    bdf: Bdf
    device_id: str | None = None
    """Four hexadecimal digits in lower case: 2330; None where only the chip is known."""
    architecture: str
    """Kepler, Maxwell, Pascal, Volta, Turing, Ampere, Ada Lovelace, Hopper, Blackwell."""
    gsp: bool
    """It has a GPU System Processor, which the open kernel module needs."""
    open_module: OpenModule
    """Whether it takes the open kernel module: `required` is also said of Grace Hopper."""
    first_branch: int | None = None
    """The first driver branch that knows it; None where any driver of today does."""
    last_branch: int | None = None
    """The last driver branch that drives it; None where none has dropped it."""


class PcieErrorCounts(Fact):
    """Errors that PCIe's advanced error reporting (AER) has counted for one device since boot."""

    kind: ClassVar[str] = "pcie_error_counts"

    bdf: Bdf
    device: Literal["gpu", "bridge", "other"]
    correctable: int | None = None
    nonfatal: int | None = None
    fatal: int | None = None


class GpuCount(Fact):
    """How many NVIDIA GPUs one listing shows: those on the bus against those that the driver offers."""

    kind: ClassVar[str] = "gpu_count"

    seen_by: Literal["pci", "module", "driver"]
    """`pci`: on the bus, any driver or none; `module`: taken by the kernel module; `driver`: offered by NVML."""
    count: int
    reported_by: Literal["nvidia-smi", "lspci", "sysfs", "procfs", "dcgm"]
    with_other_driver: int | None = None
    """Of those on the bus: bound to another driver than nvidia (vfio-pci, nouveau)."""
    off_bus: int | None = None
    """Of those on the bus: not answering."""


class GpusMissing(Fact):
    """GPUs on the PCI bus set against those that the driver offers; combined from the listings of both kinds.

    Where listings of one kind disagree, the smaller number on the bus and the larger one of the driver count.
    """

    kind: ClassVar[str] = "gpus_missing"

    missing: int
    """0: the driver offers all that are on the bus."""
    on_bus: int
    in_driver: int
    with_other_driver: int | None = None
    """Of those on the bus: bound to another driver than nvidia (vfio-pci, nouveau)."""
    off_bus: int | None = None
    """Of those on the bus: not answering."""
