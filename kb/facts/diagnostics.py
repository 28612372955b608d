"""Facts on NVIDIA's diagnostics and on how the driver was installed and is kept up."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kb.facts.base import Fact, Version

DiagClass: TypeAlias = Literal[
    "memory",
    "remap-pending",
    "remap-failed",
    "nvlink",
    "nvswitch",
    "fabric",
    "imex",
    "pcie",
    "thermal",
    "power",
    "xid",
    "off-bus",
    "reset",
    "p2p",
    "cuda",
    "driver",
    "persistence",
    "permissions",
    "environment",
    "performance",
    "inforom",
    "other",
]


class DiagResult(Fact):
    """One test of a diagnostic for one GPU (or for all), or one thing that a health check found."""

    kind: ClassVar[str] = "diag_result"

    test: str
    """As printed: GPU Memory, PCIe, NVLINK system."""
    status: Literal["pass", "fail", "warn", "skip", "not-run"]
    gpu: int | None = None
    """DCGM's number, which is nvidia-smi's on most machines; None: all, or not told."""
    tool: Literal["diag", "health"] = "diag"
    class_: DiagClass | None = Field(alias="class", default=None)
    """What is wrong, from the error's number or text; None where nothing is."""
    error_code: int | None = None
    severity: Literal["none", "monitor", "isolate", "unknown", "triage", "config", "reset"] | None = None
    text: str | None = None
    count: int = 1
    """GPUs with the same result, where they are told together."""


class GpuSelfTest(Fact):
    """A small program that computes on the GPUs and compares, or a scan of their state, and what it came to."""

    kind: ClassVar[str] = "gpu_self_test"

    test: Literal["cuda-sample", "gpu-burn", "gpud-scan"]
    outcome: Literal["passed", "failed"]
    passed: int = 0
    """Programs, GPUs or checks that passed."""
    failed: int = 0


class PersistenceDaemon(Fact):
    """nvidia-persistenced, which keeps GPUs up between clients, from its own lines in the log."""

    kind: ClassVar[str] = "persistence_daemon"

    state: Literal["running", "failed", "stopped"]
    problem: Literal["devices", "permission", "already-running", "library", "other"] | None = None
    """`devices`: it could not query or open the GPUs."""
    text: str | None = None
    """The line that tells the problem."""
    gpus: int | None = None
    """Registered by this start."""
    persistence_off: int = 0
    """Of those, left without persistence mode (`--no-persistence-mode` or a failure)."""


class PersistenceUnit(Fact):
    """How a unit file of systemd starts nvidia-persistenced. What stands in a drop-in counts before the unit."""

    kind: ClassVar[str] = "persistence_unit"

    mode: Literal["on", "off"]
    """`off`: with --no-persistence-mode, so that the daemon runs and keeps no GPU up."""
    drop_in: bool = False


class DriverParameter(Fact):
    """One parameter of the loaded NVIDIA kernel module, from /proc/driver/nvidia/params."""

    kind: ClassVar[str] = "driver_parameter"

    name: str
    """As procfs names it: NvLinkDisable, DeviceFileMode."""
    value: str
    """Decimal, as printed: DeviceFileMode is 438 for 0666."""


class RunfileInstall(Fact):
    """One run of NVIDIA's own installer (.run), which goes past the package manager."""

    kind: ClassVar[str] = "runfile_install"

    action: Literal["install", "uninstall"]
    outcome: Literal["succeeded", "failed", "unfinished"]
    version: Version | None = None
    problem: Literal["module-build", "module-load", "module-signature", "nouveau", "in-use", "other"] | None = None
    text: str | None = None
    """First line of the error."""
    time: str | None = None
    """As printed."""
    replaced: Version | None = None
    """The driver that it found installed."""
    userspace_only: bool = False
    """Without a kernel module: as in containers."""


class RunfileDriver(Fact):
    """A driver that NVIDIA's own installer put there and did not take away since; combined from its logs."""

    kind: ClassVar[str] = "runfile_driver"

    version: Version
    userspace_only: bool = False
    """Without a kernel module: as in containers."""
    time: str | None = None
    """When it was installed, as printed."""


class DriverTeardown(Fact):
    """A sign that the driver lets GPUs go between clients, and starts them anew for each."""

    kind: ClassVar[str] = "driver_teardown"

    sign: Literal["slow-tool", "settings-not-kept", "start-timed-out"]
    """`slow-tool`: a query took 8 seconds or more; `settings-not-kept`: nvidia-smi itself warns that persistence
    mode is off; `start-timed-out`: a container's hook gave up waiting for the driver."""
    seconds: int | None = None
    text: str
