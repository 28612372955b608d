"""Facts on what frameworks complain of by name: model files, the hub, their limits; and what only looks bad."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kb.facts.base import Fact, Version

FileProblem: TypeAlias = Literal[
    "lfs-pointer", "missing-shard", "missing-file", "empty", "partial", "unreadable-header", "not-an-archive",
    "checksum", "unfinished-download", "wrong-format", "no-weights",
]  # fmt: skip
HubTrouble: TypeAlias = Literal[
    "timeout", "unreachable", "name-resolution", "offline-and-not-cached", "rate-limited", "unauthorized",
    "not-found", "certificate", "proxy", "lock-wait", "retrying", "interrupted-download",
]  # fmt: skip


class ModelFileProblem(Fact):
    """Files of one model that are not what they should be; alike files of one place together."""

    kind: ClassVar[str] = "model_file_problem"

    problem: FileProblem
    """`partial`: shorter than it should be; `unreadable-header`: the safetensors header can't be parsed."""
    file: str | None = None
    """The first of them."""
    model: str | None = None
    """Folder or repository."""
    detail: str | None = None
    """The library's own word: HeaderTooLarge, InvalidHeaderDeserialization, MetadataIncompleteBuffer."""
    count: int = 1
    expected: int | None = None
    """Shards that the names or the index promise, or bytes of a file."""
    found: int | None = None
    said_by: Literal["framework", "listing", "content", "checksum"]


class HubProblem(Fact):
    """A wait for, or a refusal by, a hub of models or a service on the network; repeats together."""

    kind: ClassVar[str] = "hub_problem"

    problem: HubTrouble
    host: str | None = None
    what: str | None = None
    """Repository, file or URL, without its query."""
    fatal: bool = False
    """It ended the process, as an exception; else a warning."""
    rank: str | None = None
    count: int = 1
    time: str | None = None
    """Of the last one, as printed."""


FrameworkErrorClass: TypeAlias = Literal[
    "memory-unbalanced", "kv-cache-too-small", "no-memory-for-cache", "gpu-memory-occupied", "host-memory-kill",
    "weights-do-not-fit",
    "cuda-after-fork", "spawn-without-main", "invalid-device-ordinal", "no-visible-gpu", "too-few-gpus",
    "placement-group-waits",
    "world-size-not-divisible", "heads-not-divisible", "size-not-divisible", "batch-sizes-disagree",
    "engine-world-size", "collectives-differ", "launcher-not-used", "launch-option", "launcher-tool-missing",
    "launcher-login", "srun-not-used", "slurm-tasks-differ",
    "speculative-option", "unsupported-quantization", "unsupported-model",
    "remote-code-refused", "gpu-too-old-for-dtype", "dataloader-killed", "dataloader-shm", "dataloader-timeout",
    "too-many-open-files", "process-limit", "shm-too-small", "custom-op-missing", "undefined-symbol",
    "torch-cpu-build", "nccl-unavailable", "no-kernel-image", "kernel-image-invalid", "triton-failure",
    "ptxas-failure", "compiler-missing", "attention-unsupported", "cuda-interposer", "mps-failure",
    "scheduler-watchdog", "worker-silent", "health-check-failed", "engine-dead", "model-load-failed",
    "custom-all-reduce-off", "p2p-refused-for-gpu-model", "packages-disagree",
]  # fmt: skip


class FrameworkError(Fact):
    """A complaint that frameworks print in fixed words, by its meaning; repeats of one rank together."""

    kind: ClassVar[str] = "framework_error"

    class_: FrameworkErrorClass = Field(alias="class")
    """`worker-silent`, `scheduler-watchdog`, `engine-dead` and `health-check-failed` are symptoms, no causes.
    `custom-all-reduce-off` is a choice that the framework made, no error."""
    text: str
    rank: str | None = None
    fatal: bool = False
    """An exception or an error record; else a warning."""
    wanted: int | None = None
    """The number that was asked for: attention heads, GPUs, tokens, bytes."""
    available: int | None = None
    """The number that it did not fit: parallel size, GPUs, tokens, bytes."""
    count: int = 1
    time: str | None = None
    """Of the first one, as printed."""


class HarmlessLine(Fact):
    """Lines that look bad and are not, by the catalogue of such lines; all of one entry together."""

    kind: ClassVar[str] = "harmless_line"

    id: str
    count: int
    unless: str | None = None
    """When such a line is not harmless after all, as the catalogue has it."""


class DefectLine(Fact):
    """A line by which a known defect of a framework shows itself (kb/catalogues/framework_defects.yaml)."""

    kind: ClassVar[str] = "defect_line"

    id: str
    text: str
    count: int = 1


class FrameworkVersion(Fact):
    """The release of a framework as its own log names it; what pip lists is PythonPackage."""

    kind: ClassVar[str] = "framework_version"

    package: str
    """As pip names it."""
    version: Version


class FrameworkDefect(Fact):
    """A known defect that the log shows, in a release that has it; combined with what is known of the release."""

    kind: ClassVar[str] = "framework_defect"

    id: str
    package: str
    version: Version | None = None
    """None where nothing tells the release."""
    fixed: Version | None = None
    """The first release without it; None where none was known."""
    what: str
    workaround: str
    text: str
