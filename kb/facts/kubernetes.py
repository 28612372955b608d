"""Facts from Kubernetes: pods, nodes, events, and what the device plugin says of its GPUs."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field, computed_field

from kb.facts.base import Fact

PodRole: TypeAlias = Literal[
    "driver",
    "driver-manager",
    "toolkit",
    "device-plugin",
    "feature-discovery",
    "validator",
    "mig-manager",
    "dcgm",
    "operator",
    "network-operator",
    "workload",
]
PodProblem: TypeAlias = Literal[
    "oom-killed",
    "crash-loop",
    "error",
    "create-error",
    "image",
    "unschedulable",
    "evicted",
    "admission",
    "pending",
    "terminating",
    "none",
]
EventClass: TypeAlias = Literal[
    "insufficient-gpu",
    "insufficient-other",
    "taint",
    "affinity",
    "runtime-missing",
    "device-allocation",
    "image",
    "mount",
    "probe",
    "evicted",
    "crash",
    "quota",
    "other",
]


class Pod(Fact):
    """A pod that is not well, or that belongs to the GPU operator; healthy others are left out."""

    kind: ClassVar[str] = "pod"

    name: str
    namespace: str | None = None
    role: PodRole = "workload"
    """Judged by its name."""
    status: str
    """As printed: Running, Init:CrashLoopBackOff, OOMKilled."""
    problem: PodProblem = "none"
    restarts: int | None = None
    exit_code: int | None = None
    """Of its last ended container."""
    gpus: int | None = None
    """nvidia.com/gpu in its limits, all containers together."""
    memory_limit: str | None = None
    """As set, `48Gi`."""


class PodEvent(Fact):
    """Warnings of one reason and class together."""

    kind: ClassVar[str] = "pod_event"

    reason: str
    """As printed: FailedScheduling, FailedCreatePodSandBox, BackOff."""
    class_: EventClass = Field(alias="class", default="other")
    object: str | None = None
    """`pod/name` of the first, where the line tells."""
    message: str
    count: int = 1


class KubeNode(Fact):
    """A Kubernetes node and its GPUs."""

    kind: ClassVar[str] = "kube_node"

    name: str
    ready: bool | None = None
    unschedulable: bool | None = None
    """Cordoned."""
    gpu_capacity: int | None = None
    """nvidia.com/gpu that the device plugin registered."""
    gpu_allocatable: int | None = None
    """Of those, the healthy ones."""
    gpu_requested: int | None = None
    pressure: str | None = None
    """Conditions that are true: MemoryPressure, DiskPressure."""
    product: str | None = None
    """Label nvidia.com/gpu.product."""
    mig: str | None = None
    """Label nvidia.com/mig.config.state or mig.strategy, where it is set."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def gpus_withheld(self) -> int | None:
        """How many of its GPUs it does not offer."""
        if self.gpu_capacity is None or self.gpu_allocatable is None:
            return None
        return self.gpu_capacity - self.gpu_allocatable


class DeviceHealth(Fact):
    """What the device plugin says of one GPU's health; the last word counts."""

    kind: ClassVar[str] = "device_health"

    device: str
    """UUID as printed."""
    healthy: bool
    xid: int | None = None
    """Xid that it gives as the reason."""
    restarted: bool = False
    """The plugin was started anew later in the same log."""
    count: int = 1
