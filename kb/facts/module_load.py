"""Facts on how the NVIDIA kernel modules load and run, from the kernel log, modprobe, DKMS and the installer."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Bdf, Fact, Version
from kb.facts.xid import WhichBoot

LoadProblem: TypeAlias = Literal[
    "nouveau-bound", "other-driver-bound", "probe-not-called", "probe-failed", "no-gpu-found", "legacy-gpu",
    "not-supported-by-release", "needs-open-module", "needs-proprietary-module", "no-gsp-firmware",
    "gsp-init-failed", "bar-invalid", "bar-resize-failed", "request-mem-region", "no-interrupt", "rm-init-failed",
    "power-cables", "fell-off-bus", "signature-rejected", "lockdown", "unknown-symbol", "version-magic",
    "invalid-format", "module-not-found", "insert-no-device", "insert-not-permitted", "insert-failed",
    "build-failed", "not-built", "headers-missing", "uvm-hmm-init", "peermem-no-client", "module-in-use",
]  # fmt: skip
Trouble: TypeAlias = Literal[
    "fell-off-bus", "gpu-lost", "gsp-timeout", "gsp-heartbeat", "gsp-unresponsive", "marked-for-reset",
    "reset-required", "needs-reset", "out-of-memory", "dma-buf-topology", "peermem-invalid-context",
    "peermem-get-pages", "bar1-exhausted", "msi-fallback", "suspend-without-procfs", "confidential-computing",
    "confidential-mode-off",
    "device-removed-in-use", "uvm-fatal",
]  # fmt: skip


class ModuleLoadProblem(Fact):
    """Why an NVIDIA kernel module did not load, or did not take a GPU; equal complaints together."""

    kind: ClassVar[str] = "module_load_problem"

    problem: LoadProblem
    """`probe-failed`, `no-gpu-found` and `insert-no-device` say only that others came before."""
    module: str | None = "nvidia"
    """nvidia, nvidia_uvm, nvidia_peermem …; None where the message names no module (some refusals, DKMS)."""
    bdf: Bdf | None = None
    driver: str | None = None
    """The other driver that holds the GPU: nouveau, vfio-pci, NovaCore."""
    device_id: str | None = None
    """PCI identity of the GPU, `10de:2b85`."""
    code: str | None = None
    """What the message gives as reason: `0x24:0x72:1568`, `No such device`, a symbol, an error number."""
    branch: int | None = None
    """`legacy-gpu`: the branch that still drives it. `not-supported-by-release`: the branch that does not."""
    gpus: int | None = None
    """Number of devices, where the line counts them."""
    kernel: str | None = None
    """Kernel release of a build that failed."""
    reported_by: Literal["kernel", "modprobe", "dkms", "installer"] = "kernel"
    count: int = 1
    boot: WhichBoot = "this"
    first_s: float | None = None


class DriverTrouble(Fact):
    """What the running NVIDIA modules complain of without a number (for Xids see XidEvent); repeats together."""

    kind: ClassVar[str] = "driver_trouble"

    problem: Trouble
    """`needs-reset`: the driver says that the GPU likely needs it; `uvm-fatal`: nvidia-uvm refuses all work
    until it is loaded again; `confidential-mode-off`: this is a confidential virtual machine, and the GPU is
    not in the mode for one; `peermem-invalid-context`: harmless at the end of a process; `msi-fallback`: slower
    interrupts, no fault."""
    bdf: Bdf | None = None
    gpu: int | None = None
    """The driver's own number, where the line has no address."""
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None
    last_s: float | None = None


class FlavourTrial(Fact):
    """Both flavours of the module were tried at one release, and one of them started the GPUs; from two logs."""

    kind: ClassVar[str] = "flavour_trial"

    version: Version
    fails: Literal["open", "proprietary"]
    works: Literal["open", "proprietary"]


class SecureBoot(Fact):
    """Whether the firmware checks signatures at boot, and how far the kernel locks itself down for it."""

    kind: ClassVar[str] = "secure_boot"

    enabled: bool | None = None
    """None where only the lockdown is told."""
    lockdown: Literal["none", "integrity", "confidentiality"] | None = None
    """From `integrity` on the kernel takes only signed modules."""
    reported_by: Literal["mokutil", "kernel", "sysfs", "bootctl", "installer"]


class ModuleOption(Fact):
    """An option that somebody gives to an NVIDIA module, in modprobe.d or in a command that writes or uses it."""

    kind: ClassVar[str] = "module_option"

    module: str
    name: str
    """As the module names it: uvm_disable_hmm, NVreg_DeviceFileMode."""
    value: str


class ModuleRule(Fact):
    """A rule of modprobe.d (or of the kernel command line) that keeps a GPU's module from being loaded."""

    kind: ClassVar[str] = "module_rule"

    module: str
    """nvidia, nouveau, nova_core … with underscores."""
    rule: Literal["blacklist", "install", "alias"]
    """`blacklist` stops only automatic loading; `install` (to a program that does nothing) and `alias` (to off)
    stop every loading by name."""
    file: str | None = None
    """Where it stands, as far as the evidence tells."""
