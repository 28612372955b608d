"""Facts on how a job was launched: ranks as they announce themselves, container options, conflicts, the end."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact
from kb.facts.framework import Framework


class AnnouncedRanks(Fact):
    """The ranks of one job as its processes announced themselves in one log, over its last run."""

    kind: ClassVar[str] = "announced_ranks"

    framework: Framework
    world_size: int | None = None
    """As the announcements give it; the smallest where they differ."""
    ranks: int
    """Different global ranks."""
    announcements: int
    """More than `ranks` where a rank was announced twice within one run."""
    repeated: str | None = None
    """The ranks that were announced more than once, `1, 2`."""
    missing: str | None = None
    """Ranks below the world size that nobody announced, `4, 5`; a log of one node shows only its own."""
    local_ranks: int | None = None
    """The highest local rank + 1."""
    visible_devices: int | None = None
    """Devices that a process lists as visible; the smallest where they differ."""
    devices: int | None = None
    """Different devices that the processes say they use; fewer than `local_ranks`: some share one."""
    nodes: int | None = None


LaunchProblem: TypeAlias = Literal[
    "repeated-rank",
    "repeated-node-rank",
    "localhost-endpoint",
    "endpoints-differ",
    "more-ranks-than-devices",
    "shared-device",
    "more-gpus-asked-than-present",
    "heads-not-divisible",
    "slurm-tasks-differ",
]


class LaunchConflict(Fact):
    """Two statements on one launch that can't both hold, or a setting that can't work; from all files together."""

    kind: ClassVar[str] = "launch_conflict"

    problem: LaunchProblem
    """`localhost-endpoint`: several nodes, and the meeting point is each one's own loopback.
    `shared-device`: several local ranks name one device; it may be another for each, where the scheduler
    gives each process its own and only that one."""
    name: str
    """The argument or variable it is about: node_rank, rdzv_endpoint, tensor_parallel_size."""
    value: str
    """What was given, `localhost:15213`; several values with commas."""
    expected: int | None = None
    found: int | None = None
    nodes: int | None = None
    """Machines that the launch speaks of."""


Option: TypeAlias = Literal[
    "shm_size", "ipc", "gpus", "runtime", "network", "pid", "user", "privileged", "cap_add", "security_opt",
    "device", "ulimit_memlock", "ulimit_stack", "ulimit_nofile", "memory", "memory_swap", "cgroupns", "userns",
    "shm_volume", "image", "runtime_class", "hostname", "without_gpus",
]  # fmt: skip


class ContainerOption(Fact):
    """One option by which a container is or was started: docker run, a compose file, a Kubernetes manifest."""

    kind: ClassVar[str] = "container_option"

    option: Option
    """`shm_volume`: what is mounted at /dev/shm, with its size limit if it has one. `without_gpus`: a
    whole command gives this image neither GPUs, nor a runtime, nor devices."""
    value: str
    """As given; `true` for a flag. GPUs of Kubernetes as `nvidia.com/gpu=4`."""
    mib: int | None = None
    """A size in MiB, where the option is one."""
    form: Literal["run", "compose", "kubernetes"]
    origin: Literal["command", "script", "config"] = "command"
    container: str | None = None
    """Its name or that of its service, where one is given."""


EndOfRun: TypeAlias = Literal[
    "finished", "stopped", "interrupted", "time-limit", "cancelled", "preempted", "requeued", "node-failure",
]  # fmt: skip
EndSaidBy: TypeAlias = Literal["training", "server", "launcher", "scheduler"]


class RunEnd(Fact):
    """How the last run in a log came to its end, as the program, its launcher or the scheduler says."""

    kind: ClassVar[str] = "run_end"

    end: EndOfRun
    """`stopped`: an orderly shutdown; `finished`: all of its work was done; `interrupted`: by a signal or key.
    `cancelled`: by a person, or for a failed task."""
    said_by: EndSaidBy
    time: str | None = None
    """As printed."""


Outcome: TypeAlias = Literal["running", "finished", "stopped", "failed", "unfinished"]


class RunOutcome(Fact):
    """What became of one run, combined from its milestones, its errors and its end: `ready` alone is no health."""

    kind: ClassVar[str] = "run_outcome"

    framework: Framework
    outcome: Outcome
    """`running`: ready, and nothing bad after it; `unfinished`: neither ready nor failed, the log just ends."""
    ready: bool
    """The service came up, or training made its first steps."""
    failed_after_ready: bool = False
    error: str | None = None
    """The first error at first hand of that run."""
