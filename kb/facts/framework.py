"""Facts from frameworks and launchers: how far a start came, and what went wrong in which rank."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kb.facts.base import Fact

Framework: TypeAlias = Literal[
    "sglang", "vllm", "torch", "tensorrt-llm", "triton", "deepspeed", "megatron", "accelerate", "transformers",
    "lightning", "ray", "slurm", "mpi", "other",
]  # fmt: skip
Milestone: TypeAlias = Literal[
    "launched",
    "distributed-begin",
    "nccl-named",
    "distributed-end",
    "weights-begin",
    "weights-end",
    "capture-begin",
    "capture-end",
    "compile-begin",
    "compile-end",
    "ready",
    "serving",
    "training",
]
"""`training`: the first step of a training is done."""

Stage: TypeAlias = Literal["communication", "weights", "compile", "capture", "ready"]


class LaunchArgument(Fact):
    """One argument or setting of the launch that the framework prints or a command line shows."""

    kind: ClassVar[str] = "launch_argument"

    framework: Framework
    name: str
    """In the framework's own words with underscores: tp_size, model_path, mem_fraction_static."""
    value: str
    origin: Literal["log", "command", "script", "config"] | None = None
    """Who says so: the program's own print, a command as it was run, a launch script, a configuration file."""


class StartMilestone(Fact):
    """One rank passed one point of its start-up; repeated lines of one rank and point together."""

    kind: ClassVar[str] = "start_milestone"

    framework: Framework
    milestone: Milestone
    rank: str | None = None
    """As tagged: TP3, DP0 TP1, rank 2; None for the main process."""
    time: str | None = None
    """As printed."""


class StartProgress(Fact):
    """Where a start stands over all its ranks, combined from milestones."""

    kind: ClassVar[str] = "start_progress"

    framework: Framework
    stage: Stage
    """The furthest stage that at least one rank began; `ready` when the service is up."""
    state: Literal["unfinished", "complete"]
    ranks_expected: int | None = None
    """From the launch arguments, where they tell."""
    ranks_begun: int
    ranks_ended: int
    all_begun: bool | None = None
    """Every expected rank began this stage; None where the expected number is not known."""
    missing: str | None = None
    """Ranks that were seen before but did not begin this stage."""
    data_path_reached: bool = False
    """A line proves that the rendezvous is over and NCCL itself is being set up."""


ErrorClass: TypeAlias = Literal[
    "gpu-memory", "host-memory", "port", "nccl", "timeout", "remote", "import", "file", "config", "cuda", "other"
]


class ProcessError(Fact):
    """The last error of one rank: the exception that ended it, or its own fatal line."""

    kind: ClassVar[str] = "process_error"

    rank: str | None = None
    error: str
    """Type of the exception or a short name of the fatal line."""
    text: str
    class_: ErrorClass = Field(alias="class", default="other")
    consequence: bool = False
    """The error says itself that another process failed first (remote closed, watchdog, aborted peer)."""
    time: str | None = None
    count: int = 1


class FailedRanks(Fact):
    """The same error over all ranks that report it, where these are known. Combined from ProcessError."""

    kind: ClassVar[str] = "failed_ranks"

    error: str
    class_: ErrorClass = Field(alias="class", default="other")
    consequence: bool = False
    ranks: int
    rank: str | None = None
    """Where it is only one."""
    named: str
    """`rank 0, rank 1, rank 2 and 5 more`."""


class RankCollective(Fact):
    """The collective that one rank was in, as a watchdog or a fingerprint check names it."""

    kind: ClassVar[str] = "rank_collective"

    rank: int
    operation: str
    """As printed: ALLREDUCE, _ALLGATHER_BASE."""
    sequence: int | None = None
    """Number of the collective on this rank; small numbers mean that hardly one has ever finished."""
    elements: int | None = None
    """Elements sent (NumelIn)."""
    shape: str | None = None
    """Of the tensor, `[41, 256]`; printed by the fingerprint check."""
    timeout_ms: int | None = None
    last_completed: int | None = None
    """Last collective that this rank completed."""
    group: str | None = None
    """Process group as the watchdog names it, `3` or `0 (default_pg)`; from torch 2.3 on."""
    reported_by: Literal["watchdog", "fingerprint"] = "watchdog"


class ProcessExit(Fact):
    """A process of the job ended abnormally, as its launcher saw it."""

    kind: ClassVar[str] = "process_exit"

    rank: str | None = None
    exit_code: int | None = None
    """Negative for a signal, as Python prints it."""
    reported_by: str | None = None
    """torchrun, sglang, vllm, deepspeed, srun, mpirun, shell, kubernetes."""
    first_observed: bool = False
    """torchrun names it as the first failure that it saw."""
    time: str | None = None
    """As printed."""


class GpuOom(Fact):
    """An allocation on a GPU failed for want of memory."""

    kind: ClassVar[str] = "gpu_oom"

    rank: str | None = None
    gpu: int | None = None
    """Device number as the process sees it."""
    requested_mib: int | None = None
    free_mib: int | None = None
    total_mib: int | None = None
    own_mib: int | None = None
    """Held by this process."""
    others_mib: int | None = None
    """Held by other processes, where the message says so."""
    siblings_mib: int | None = None
    """Of that, held by processes that were started together with this one, by their numbers: ranks of one job."""
    most_held_by: Literal["own", "others"] | None = None
    """Who holds more of the memory, where both are known."""
    reported_by: Literal["torch", "nccl", "cuda", "framework", "other"] = "torch"


class PortConflict(Fact):
    """A server could not listen because the address is in use."""

    kind: ClassVar[str] = "port_conflict"

    port: int | None = None
    address: str | None = None


class ModelFiles(Fact):
    """Size of a model's files on disk."""

    kind: ClassVar[str] = "model_files"

    path: str | None = None
    size_gib: float
    shards: int | None = None


class ModelFit(Fact):
    """A model's weights against the memory of the GPUs that the launch spreads them over."""

    kind: ClassVar[str] = "model_fit"

    weights_gib: float
    gpus: int
    memory_gib: float
    """Of all those GPUs together."""
    fits: bool
    """Whether the weights alone are smaller; quantisation at load time is not considered."""
