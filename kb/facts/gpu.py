"""Facts on GPUs and on how much of their memory is used."""

from typing import ClassVar, Literal, TypeAlias, cast

from pydantic import computed_field

from kb.catalogues import product_by_id
from kb.facts.base import Bdf, Fact, Version
from kb.gpu_code import Capability, capability_row, first_cuda
from kb.gpu_models import Architecture, Board, Tier, gpu_model

MemoryPattern: TypeAlias = Literal["all-flat", "all-growing", "some-growing", "shrinking"]


class Gpu(Fact):
    """One GPU as a tool lists it."""

    kind: ClassVar[str] = "gpu"

    index: int | None = None
    """nvidia-smi's number (NVML order)."""
    bdf: Bdf | None = None
    uuid: str | None = None
    name: str | None = None
    """As printed; the table cuts it."""
    memory_total_mib: int | None = None
    memory_used_mib: int | None = None
    utilisation_percent: int | None = None
    driver: str | None = None
    """Kernel driver bound to it (lspci `Kernel driver in use`): nvidia, nouveau, vfio-pci …"""
    device_id: str | None = None
    """PCI device id of NVIDIA's, four hexadecimal digits in lower case: 2330."""
    chip: str | None = None
    """As lspci names it from pci.ids: GP104GL."""
    off_bus: bool = False
    """Its configuration space does not answer: lspci `(rev ff)`, `Unknown header type 7f`."""
    reported_by: Literal[
        "nvidia-smi", "nccl", "nccl-tests", "lspci", "procfs", "sysfs", "dcgm", "p2p-tool", "other"
    ] = "nvidia-smi"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def architecture(self) -> Architecture | None:
        """By its PCI device id, else by its name."""
        product = product_by_id(self.device_id) if self.device_id else None
        if product is not None:
            return cast("Architecture", product.architecture)
        model = gpu_model(self.name) if self.name else None
        return model.architecture if model else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tier(self) -> Tier | None:
        """For which market its model is made, by its name: what peer access and NVLink its driver offers."""
        model = gpu_model(self.name) if self.name else None
        return model.tier if model else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def board(self) -> Board | None:
        """What it is built on, by its name: a card, a module of an SXM baseboard, a superchip with a Grace CPU."""
        model = gpu_model(self.name) if self.name else None
        return model.board if model else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def capability(self) -> Version | None:
        """Compute capability, `8.9`, by its name."""
        model = gpu_model(self.name) if self.name else None
        return model.capability if model else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cuda_since(self) -> Version | None:
        """The first CUDA whose machine code it runs; None where any that is met today is new enough."""
        return first_cuda(self.capability) if self.capability else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cuda_until(self) -> Version | None:
        """The last CUDA that makes code for it; None where none has dropped it."""
        asks = self._asks()
        return asks.cuda_last if asks else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def nccl_since(self) -> Version | None:
        """The first NCCL with code that it runs, where it is built with `nccl_cuda` or newer."""
        asks = self._asks()
        return asks.nccl if asks else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def nccl_cuda(self) -> Version | None:
        """The least CUDA that an NCCL with code for it must be built with."""
        asks = self._asks()
        return asks.nccl_cuda if asks else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def arch_family(self) -> int | None:
        """The oldest architecture whose machine code it can run, as tools number it: 80 of 8.9."""
        return int(self.capability.split(".")[0]) * 10 if self.capability else None

    def _asks(self) -> Capability | None:
        return capability_row(self.capability) if self.capability else None


class GpuMemorySample(Fact):
    """Memory of one GPU at one moment."""

    kind: ClassVar[str] = "gpu_memory_sample"

    index: int
    used_mib: int
    total_mib: int | None = None
    order: int
    """Which query in this artifact, from 0."""
    at_s: float | None = None
    """Seconds since midnight or since the epoch, where the query carries a time."""
    utilisation_percent: int | None = None
    """Share of the time in which some kernel ran."""
    memory_utilisation_percent: int | None = None
    """Share of the time in which its memory was read or written."""
    power_w: float | None = None


class GpuActivity(Fact):
    """What one GPU did over several samples of one artifact."""

    kind: ClassVar[str] = "gpu_activity"

    index: int
    activity: Literal["idle", "waiting", "working"]
    """Idle: no kernel ran. Waiting: kernels ran all the time and touched no memory, as those do that wait for a
    peer. Working: anything else."""
    samples: int
    utilisation_least_percent: int
    utilisation_most_percent: int
    memory_utilisation_most_percent: int | None = None
    power_most_w: float | None = None
    span_s: float | None = None
    """Between first and last sample; None where the samples carry no time."""


class GpuMemoryTrend(Fact):
    """How one GPU's memory moved over several samples of one artifact."""

    kind: ClassVar[str] = "gpu_memory_trend"

    index: int
    samples: int
    first_mib: int
    last_mib: int
    change: Literal["flat", "growing", "shrinking"]
    """Flat: within 64 MiB over all samples."""
    span_s: float | None = None
    """Between first and last sample; None where the samples carry no time."""


class GpuMemoryPattern(Fact):
    """The trends of all GPUs of one artifact together."""

    kind: ClassVar[str] = "gpu_memory_pattern"

    pattern: MemoryPattern
    gpus: int
    samples: int
    largest_used_mib: int
    """Of the last sample."""
    span_s: float | None = None
    used_share_percent: int | None = None
    """Largest used memory against the total of that GPU."""


class GpuProcess(Fact):
    """A process that a tool lists as using a GPU."""

    kind: ClassVar[str] = "gpu_process"

    index: int | None = None
    """nvidia-smi's number of the GPU."""
    pid: int
    name: str | None = None
    used_mib: int | None = None
    bdf: Bdf | None = None
    """The GPU where the listing names it so."""
