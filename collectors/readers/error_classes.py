"""What an exception is about, and whether it says itself that another process failed first.

Judged by its type and the part of its message that has stayed the same over releases of PyTorch (1.8 to
2.14), vLLM, SGLang, Ray and Gloo. An error that only reports the end of another process, or the end of a wait
for one, is a consequence: the cause stands in another rank or another place. No reader.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex

ErrorClass: TypeAlias = Literal[
    "gpu-memory",
    "host-memory",
    "port",
    "nccl",
    "timeout",
    "remote",
    "import",
    "file",
    "config",
    "cuda",
    "other",
]


class Judged(NamedTuple):
    """Class and consequence flag of an error."""

    class_: ErrorClass
    consequence: bool


_SECOND_HAND: tuple[tuple[ErrorClass, str], ...] = (
    ("remote", r"see (?:the )?(?:root cause|stack trace)|root cause(?: issue)? above|EngineDeadError"),
    ("remote", r"died unexpectedly|Engine(?: ?core)? (?:process |initialization )?(?:died|failed)"),
    ("remote", r"ActorDied|ActorUnavailable|WorkerCrashed|ProcessExitedException|NodeDied|owner has died"),
    ("remote", r"returned non-zero exit status|died with <Signals|KeyboardInterrupt"),
    (
        "remote",
        r"connection (?:was )?(?:closed|reset|aborted)(?: by (?:remote )?peer)?|broken pipe|got 0 bytes",
    ),
    (
        "remote",
        r"remote process exited|ncclRemoteError|communicator was aborted|NCCL communicator was aborted",
    ),
    ("remote", r"received sigquit from a child|child process unexpectedly failed|BrokenPipeError|EOFError"),
    ("timeout", r"watchdog|wait timeout after|socket timeout|store.{0,40}timed out|timed out after \d+"),
    ("timeout", r"timed out initializing process group|timeout \d+s? to complete (?:the )?rendezvous"),
    ("timeout", r"timed out waiting|waiting for clients|RPC call to .{1,60} timed out|RayChannelTimeout"),
    ("timeout", r"collective operation timeout|broadcast block found|monitoredBarrier|heartbeat"),
    ("timeout", r"Application timeout caused pair closure"),
    ("timeout", r"ran for \d+ milliseconds|barrier .{0,40}timed? ?out"),
)
_AT_FIRST_HAND: tuple[tuple[ErrorClass, str], ...] = (
    (
        "gpu-memory",
        r"CUDA out of memory|CUDA error: out of memory|OutOfMemoryError|cudaErrorMemoryAllocation",
    ),
    (
        "gpu-memory",
        r"CUDA_ERROR_OUT_OF_MEMORY|cuda failure.{0,12}'out of memory'|failed to cuda (?:m|c)alloc",
    ),
    (
        "gpu-memory",
        r"OOM when allocating tensor with shape.{0,300}GPU|RESOURCE_EXHAUSTED: Out of memory (?:while|allocating)",
    ),
    ("gpu-memory", r"no available memory for the cache|mem-fraction-static|less than desired GPU memory"),
    ("gpu-memory", r"memory capacity is unbalanced|larger than the (?:maximum|available).{0,40}KV cache"),
    (
        "port",
        (
            r"EADDRINUSE|address (?:already )?in use|port \d+ is (?:already )?in use|another process is utilizin"
            r"|ports? .{0,80}(?:is|are) already (?:in use|occupied)|port number \d+ that is used by other"
            r"|Address '[^']{1,200}' is already in use|but is already running at"
        ),
    ),
    (
        "host-memory",
        r"\bMemoryError|cannot allocate memory|can't allocate memory|out of shared memory|bus error",
    ),
    ("import", r"ImportError|ModuleNotFoundError|undefined symbol"),
    (
        "nccl",
        r"NCCL error|DistBackendError|ncclUnhandled|ncclSystem|ncclInternal|ncclInvalid|test nccl failure",
    ),
    ("cuda", r"CUDA (?:error|driver|kernel|unknown|initialization)|CUDART|cuda runtime error|CUDA_ERROR_"),
    (
        "cuda",
        r"cudaGetDeviceCount|Triton Error \[CUDA\]|cuda (?:failure|error)|no kernel image|AcceleratorError",
    ),
    (
        "cuda",
        r"NVIDIA driver on your system|num_gpus INTERNAL ASSERT|cuBLAS|CUBLAS_|CUDNN_|test cuda failure",
    ),
    ("cuda", r"No CUDA GPUs are available|error code system not yet|\bCu failure|cuMem\w+ failed"),
    ("file", r"FileNotFound|SafetensorError|no such file|does not appear to have a file|HeaderTooLarge"),
    ("file", r"PermissionError|IsADirectory|EntryNotFound|RepositoryNotFound|UnpicklingError|No space left"),
    (
        "config",
        r"ValueError|AssertionError|NotImplementedError|ValidationError|ArgumentError|unrecognized arg",
    ),
)
_STORAGE = regex(
    r"\[Errno (?:5|30|107|108|116|121)\] [A-Z][\w ]{3,60}: ?['\"]?(?:/|[bu]['\"]/)"
    r"|\[Errno (?:5|30|116)\] (?:Input/output error|Read-only file system|Stale file handle)"
)
"""What the kernel says of a file, no socket: an evicted client of Lustre, a stale handle of NFS, a lost mount."""
_HUB = regex(
    r"HTTPSConnectionPool|huggingface\.co|ReadTimeout|ConnectTimeout"
    r"|\b(?:wandb|mlflow|comet_ml|botocore|pymongo|google\.api_core|azure\.core)\.|^\w*CommError|ServerSelectionTimeout"
    r"|TimeoutExpired|^Service\w*Timeout|api\.wandb\.ai",
    re.IGNORECASE,
)
"""Services and commands outside the job, for which no rank is to blame."""
_RULES = tuple(
    (regex(pattern, re.IGNORECASE), Judged(class_, consequence=consequence))
    for rules, consequence in ((_SECOND_HAND, True), (_AT_FIRST_HAND, False))
    for class_, pattern in rules
)


def judged(error: str, text: str) -> Judged:
    """The class of an error by type and message; what stands at second hand is looked for first."""
    said = f"{error}: {text[:2000]}"
    if _HUB.search(said):  # a download that fails is no matter between ranks
        return Judged("other", consequence=False)
    if _STORAGE.search(said):
        return Judged("file", consequence=False)
    for pattern, verdict in _RULES:
        if pattern.search(said):
            return verdict
    return Judged("other", consequence=False)
