"""Facts on the state of one GPU as nvidia-smi, DCGM, procfs and sysfs tell it.

Each names its GPU by nvidia-smi's number (`index`), by its PCI address (`bdf`), or by both; by neither where
the evidence was picked out with grep. A counter or mode that the GPU does not have is None.
"""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Bdf, Fact, Version

RecoveryAction: TypeAlias = Literal[
    "none",
    "reset",
    "reboot",
    "drain-p2p",
    "drain-and-reset",
    "recover-imex",
    "bus-reset",
    "other",
]
LinkState: TypeAlias = Literal["full", "narrower", "slower", "slower-idle", "slower-under-load"]


class GpuModes(Fact):
    """The modes that one GPU is in."""

    kind: ClassVar[str] = "gpu_modes"

    index: int | None = None
    bdf: Bdf | None = None
    persistence: bool | None = None
    compute_mode: Literal["default", "exclusive-process", "exclusive-thread", "prohibited"] | None = None
    mig: bool | None = None
    mig_pending: bool | None = None
    """What MIG mode will be after a reset."""
    ecc: bool | None = None
    ecc_pending: bool | None = None
    addressing: Literal["none", "hmm", "ats"] | None = None
    virtualisation: Literal["none", "pass-through", "vgpu", "host-vgpu", "host-vsga"] | None = None
    """`vgpu`: this is a virtual GPU in a guest."""
    licensed: bool | None = None
    """Whether the virtual GPU has a licence for its software."""


class GpuEccCounts(Fact):
    """ECC errors of one GPU that its counters hold; all since the driver loaded, or in the life of the board."""

    kind: ClassVar[str] = "gpu_ecc_counts"

    index: int | None = None
    bdf: Bdf | None = None
    scope: Literal["volatile", "aggregate"]
    """`volatile`: since the driver loaded or the last reset; `aggregate`: in the life of the board."""
    corrected: int | None = None
    """Of all memories together."""
    uncorrected: int | None = None
    sram_corrected: int | None = None
    sram_uncorrected: int | None = None
    dram_corrected: int | None = None
    dram_uncorrected: int | None = None
    sram_threshold_exceeded: bool | None = None


class GpuMemoryRepair(Fact):
    """What one GPU has done about bad memory: rows remapped (Ampere and newer) or pages retired (before)."""

    kind: ClassVar[str] = "gpu_memory_repair"

    index: int | None = None
    bdf: Bdf | None = None
    mechanism: Literal["row-remapping", "page-retirement"]
    corrected: int | None = None
    """Rows remapped for correctable errors, or pages retired for single-bit errors."""
    uncorrected: int | None = None
    """Rows remapped for uncorrectable errors, or pages retired for double-bit errors."""
    pending: bool | None = None
    """One waits for a reset of the GPU."""
    failed: bool | None = None
    """`Remapping Failure Occurred`; None for page retirement."""
    exhausted_banks: int | None = None
    """Memory banks without a spare row."""
    unrepairable: bool | None = None
    """`Unrepairable Memory`, from driver 590."""


class GpuRecovery(Fact):
    """What the driver says that one GPU needs to come back."""

    kind: ClassVar[str] = "gpu_recovery"

    index: int | None = None
    bdf: Bdf | None = None
    action: RecoveryAction | None = None
    """`GPU Recovery Action`, from driver 570."""
    reset_required: bool | None = None
    """`Reset Required` of drivers 525 to 565, or values that read `GPU requires reset`."""
    drain_recommended: bool | None = None
    """`Drain and Reset Recommended` of drivers 525 to 565."""
    repair_pending: bool | None = None
    """A repair of a memory channel or a TPC waits for a reset, from driver 580."""


class GpuThrottle(Fact):
    """What held the clocks of one GPU down at that moment."""

    kind: ClassVar[str] = "gpu_throttle"

    index: int | None = None
    bdf: Bdf | None = None
    idle: bool | None = None
    sw_power_cap: bool | None = None
    """At the power limit; normal under full load where the limit is the default (see `gpu_power`)."""
    sw_thermal: bool | None = None
    hw_slowdown: bool | None = None
    """Either of the next two."""
    hw_thermal: bool | None = None
    hw_power_brake: bool | None = None
    """The power supply or the baseboard asked for less."""
    performance_state: int | None = None
    """P0 is fastest, P8 idle."""
    utilisation_percent: int | None = None


class GpuTemperature(Fact):
    """Temperatures of one GPU and where its limits are."""

    kind: ClassVar[str] = "gpu_temperature"

    index: int | None = None
    bdf: Bdf | None = None
    state: Literal["below-limit", "at-limit", "at-slowdown", "at-shutdown"] | None = None
    """`at-limit`: at or over the highest operating temperature; None where no limit is shown."""
    temperature_c: int | None = None
    memory_c: int | None = None
    limit_c: int | None = None
    """Highest operating temperature."""
    slowdown_c: int | None = None
    shutdown_c: int | None = None
    margin_c: int | None = None
    """Degrees left to the limit, where the limits are given that way (`T.Limit`)."""


class GpuPower(Fact):
    """Power of one GPU, in whole watts."""

    kind: ClassVar[str] = "gpu_power"

    index: int | None = None
    bdf: Bdf | None = None
    limit: Literal["default", "lowered", "raised"] | None = None
    """The limit in force against the default one."""
    at_limit: bool | None = None
    """Drawn power is at least 95 % of the limit in force."""
    draw_w: int | None = None
    limit_w: int | None = None
    """In force."""
    default_limit_w: int | None = None
    highest_limit_w: int | None = None


class GpuPcieLink(Fact):
    """The PCIe link of one GPU at that moment."""

    kind: ClassVar[str] = "gpu_pcie_link"

    index: int | None = None
    bdf: Bdf | None = None
    state: LinkState | None = None
    """An idle GPU lowers the generation, which is no fault; `slower`: it is not known whether it was idle.

    `narrower`: fewer lanes than `lanes_max`; by nvidia-smi these are the GPU's own, and many a slot has fewer.
    """
    generation: int | None = None
    generation_max: int | None = None
    """Highest that both ends can."""
    limited_by: Literal["device", "host"] | None = None
    """The end that can less than the other."""
    lanes: int | None = None
    lanes_max: int | None = None
    replays: int | None = None
    """Since the last reset."""
    reported_by: Literal["nvidia-smi", "sysfs", "lspci"] = "nvidia-smi"


class GpuBar(Fact):
    """The window of one GPU through which the CPU and other devices reach its memory (BAR1)."""

    kind: ClassVar[str] = "gpu_bar"

    index: int | None = None
    bdf: Bdf | None = None
    assigned: bool = True
    """False where the firmware gave it no address."""
    size_mib: int | None = None
    """256 without resizable BAR."""
    covers_memory: bool | None = None
    """It is at least as large as the memory."""
    reported_by: Literal["nvidia-smi", "sysfs", "lspci"] = "nvidia-smi"


class GpuFabric(Fact):
    """Where one GPU stands with the NVLink fabric of an NVSwitch machine."""

    kind: ClassVar[str] = "gpu_fabric"

    index: int | None = None
    bdf: Bdf | None = None
    state: Literal["not-supported", "not-started", "in-progress", "completed"]
    """`not-supported` (N/A): no NVSwitch fabric. CUDA fails with 802 until it is `completed`."""
    status: Literal["success", "failure"] | None = None
    """How the registration ended; None while it has not."""
    status_text: str | None = None
    """As printed."""
    clique: int | None = None
    cluster: str | None = None
    """UUID of the fabric; all zeroes within one machine."""
    health: Literal["healthy", "unhealthy", "limited-capacity", "other"] | None = None
    problems: str | None = None
    """What of `Health` is not well: `bandwidth degraded, route unhealthy`."""


class GpuFirmware(Fact):
    """Architecture and firmware of one GPU."""

    kind: ClassVar[str] = "gpu_firmware"

    index: int | None = None
    bdf: Bdf | None = None
    architecture: str | None = None
    """As nvidia-smi prints it: Ampere, Hopper, Blackwell."""
    vbios: str | None = None
    gsp: Literal["running", "not-running"] | None = None
    """`not-running`: switched off, not there, or the GPU has not come up."""
    gsp_version: Version | None = None
    """Must be that of the kernel module."""
    excluded: bool | None = None
    """Kept from use by a module parameter."""
    reported_by: Literal["nvidia-smi", "procfs"] = "nvidia-smi"


class MigDevices(Fact):
    """The MIG devices into which one GPU is split."""

    kind: ClassVar[str] = "mig_devices"

    index: int | None = None
    bdf: Bdf | None = None
    devices: int
    """GPU instances or MIG devices, as the listing has them; 0: MIG is on, and none was made."""
    profiles: str | None = None
    """`2 of 1g.10gb, 1 of 3g.40gb`."""


class MigTrouble(Fact):
    """What nvidia-smi or a program says when MIG mode is in the way; the same of one GPU once."""

    kind: ClassVar[str] = "mig_trouble"

    problem: Literal["mode-pending", "in-use", "no-instances", "uuid-not-understood"]
    """`mode-pending`: the mode changes only with a reset; `in-use`: processes have the GPU, so that it could
    not be changed; `no-instances`: MIG is on, and no instance was made; `uuid-not-understood`: a program took the
    name of a MIG device for a number."""
    bdf: Bdf | None = None
    text: str
