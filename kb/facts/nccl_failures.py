"""Facts on what failed under NCCL: completions, connections, CUDA calls, shared memory, and who said so first."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kb.facts.base import Bdf, Fact, Version

CompletionClass: TypeAlias = Literal[
    "retry-exceeded",
    "rnr-retry-exceeded",
    "flushed",
    "local-protection",
    "local-length",
    "local-operation",
    "local-access",
    "remote-access",
    "remote-operation",
    "remote-invalid-request",
    "other",
]
ConnectionReason: TypeAlias = Literal[
    "refused", "no-route", "unreachable", "timed-out", "reset", "closed", "not-permitted", "other"
]
ErrnoClass: TypeAlias = Literal[
    "no-space",
    "no-permission",
    "not-permitted",
    "not-found",
    "exists",
    "no-memory",
    "invalid-argument",
    "bad-address",
    "timed-out",
    "no-device",
    "not-supported",
    "too-many-files",
    "read-only",
    "unreachable",
    "no-data",
    "other",
]
CudaClass: TypeAlias = Literal[
    "no-kernel-image",
    "symbol-not-found",
    "invalid-device-function",
    "out-of-memory",
    "peer-access-unsupported",
    "too-many-peers",
    "invalid-device",
    "invalid-argument",
    "not-supported",
    "not-permitted",
    "not-initialized",
    "insufficient-driver",
    "stub-library",
    "compat-unsupported",
    "driver-mismatch",
    "mapping-failed",
    "invalid-handle",
    "illegal-access",
    "launch-failure",
    "uncorrectable-ecc",
    "hardware-stack",
    "nvlink-uncorrectable",
    "device-unavailable",
    "no-device",
    "unknown",
    "graph-capture",
    "fabric",
    "other",
]


class IbCompletionError(Fact):
    """An InfiniBand or RoCE transfer that ended in error; all alike together."""

    kind: ClassVar[str] = "ib_completion_error"

    class_: CompletionClass = Field(alias="class")
    """By the status. `flushed` is a consequence: another transfer of the queue pair failed first."""
    status: int
    vendor_error: int | None = None
    opcode: int | None = None
    """As printed; without meaning where the status is an error, and then often garbage."""
    peer: str | None = None
    """Address of the first peer named."""
    peers: int = 1
    device: str | None = None
    """Local adapter, where the release names it."""
    gids: Literal["ipv4", "ipv6", "link-local", "mixed"] | None = None
    """Kind of both identifiers, which NCCL prints on Ethernet (RoCE) only; `mixed`: not the same on both sides."""
    old_form: bool = False
    """Printed as `with error 12`, as NCCL does up to 2.19."""
    consequence: bool = False
    count: int = 1


class IbCallFailure(Fact):
    """A verbs call that failed: registering memory, moving a queue pair, opening a device."""

    kind: ClassVar[str] = "ib_call_failure"

    call: str
    """ibv_reg_mr, ibv_modify_qp."""
    reason: ErrnoClass
    device: str | None = None
    gid_index: int | None = None
    """Local GID index of a queue pair that could not be moved."""
    state: str | None = None
    """To which state it should have come: RTR, RTS."""
    size_bytes: int | None = None
    count: int = 1


class IbAsyncEvent(Fact):
    """An event that the adapter reported to NCCL unasked."""

    kind: ClassVar[str] = "ib_async_event"

    event: Literal[
        "port-down", "port-up", "gid-change", "lid-change", "device-fatal", "qp-fatal", "cq-error", "other"
    ]
    text: str
    device: str | None = None
    """mlx5_0:1"""
    fatal: bool = False
    count: int = 1


class ConnectionFailure(Fact):
    """A socket connection between processes of a job that could not be made, or broke; all alike together."""

    kind: ClassVar[str] = "connection_failure"

    reason: ConnectionReason
    peer: str | None = None
    """Address without port; None where the line names none."""
    port: int | None = None
    peer_loopback: bool = False
    """The peer's address is this machine's own loopback."""
    peer_bridge: bool | None = None
    """True where the peer's address lies in a network that the same log gives to a bridge, a veth or a
    tunnel."""
    interface: str | None = None
    """As a scoped address names it, `fe80::1%eth1`."""
    step: Literal["connect", "transfer", "accept"] = "connect"
    reported_by: Literal["nccl", "gloo", "torch"] = "nccl"
    retried: bool = False
    """A warning of a program that tries again: the peer may only not be there yet."""
    consequence: bool = False
    """The other side had a connection and went away: it failed first."""
    count: int = 1


class InterfaceMissing(Fact):
    """A network interface or adapter that settings name, or that must be there, was not found."""

    kind: ClassVar[str] = "interface_missing"

    wanted: str | None = None
    """As set: `eth9`, `^lo,docker`."""
    variable: str | None = None
    """NCCL_SOCKET_IFNAME, NCCL_OOB_NET_IFNAME, NCCL_IB_HCA, GLOO_SOCKET_IFNAME."""
    reported_by: Literal["nccl", "gloo"] = "nccl"
    count: int = 1


class NcclCudaFailure(Fact):
    """A CUDA call of NCCL's that failed, by what CUDA said; all alike together."""

    kind: ClassVar[str] = "nccl_cuda_failure"

    class_: CudaClass = Field(alias="class")
    text: str
    """CUDA's own words."""
    code: int | None = None
    file: str | None = None
    """Source file of NCCL where it failed: `transport/nvls.cc`."""
    rank: int | None = None
    """Where one rank alone says so."""
    processes: int = 1
    consequence: bool = False
    """An error that an earlier kernel or the device raised, and that NCCL was only the next to meet."""
    count: int = 1


class NcclNvmlFailure(Fact):
    """A call to NVML that NCCL needs and that failed; all alike together."""

    kind: ClassVar[str] = "nccl_nvml_failure"

    call: str | None = None
    """nvmlDeviceGetHandleByPciBusId; None where the library itself could not be opened."""
    reason: Literal[
        "not-found", "not-supported", "driver-not-loaded", "version-mismatch", "no-permission", "gpu-lost",
        "library-not-found", "unknown", "other",
    ]  # fmt: skip
    """`not-found`: a GPU that another rank of this host uses is not visible here."""
    processes: int = 1
    count: int = 1


class NcclShmFailure(Fact):
    """A segment of shared memory that could not be made, grown or attached."""

    kind: ClassVar[str] = "nccl_shm_failure"

    problem: Literal["create", "attach", "extend", "map"]
    reason: ErrnoClass | None = None
    """None where the release does not print it (before 2.22)."""
    size_bytes: int | None = None
    folder: str | None = None
    """Where it should be."""
    retried: bool = False
    """NCCL says that it tries again: not yet a failure."""
    processes: int = 1
    count: int = 1


class NcclDuplicateGpu(Fact):
    """Ranks that share one GPU, as NCCL found."""

    kind: ClassVar[str] = "nccl_duplicate_gpu"

    ranks: str | None = None
    """`0, 1`; None where the release does not name them (from 2.30.7)."""
    bdf: Bdf | None = None
    count: int = 1


class NcclVersionMismatch(Fact):
    """Two processes of one job speak different NCCL releases."""

    kind: ClassVar[str] = "nccl_version_mismatch"

    reported_by: Literal["init", "bootstrap", "ras"]
    """`bootstrap`: only the size of a message differs, as it does between releases."""
    rank: int | None = None
    version: Version | None = None
    other_rank: int | None = None
    other_version: Version | None = None
    count: int = 1


NcclResult: TypeAlias = Literal[
    "cuda", "system", "internal", "invalid-argument", "invalid-usage", "remote", "in-progress", "timeout", "other",
]  # fmt: skip


class NcclReportedError(Fact):
    """A call of NCCL that failed, as the program that called says it; the same one of one rank together.

    The words name what kind of call failed, not why: why stands in NCCL's own warning.
    """

    kind: ClassVar[str] = "nccl_reported_error"

    code: NcclResult
    """`remote`: another process went away first."""
    reported_by: Literal["torch", "pynccl", "nccl-tests", "xla", "tensorrt-llm", "other"]
    """`pynccl`: the binding of vLLM and SGLang."""
    rank: str | None = None
    version: Version | None = None
    """Of the NCCL in use, where the message names it."""
    last_warning: str | None = None
    """NCCL's last warning, where the program repeats it."""
    text: str
    count: int = 1


class NcclErrorReturn(Fact):
    """An error on its way up through NCCL (`init.cc:58 -> 3`). Always a consequence of what stands before it."""

    kind: ClassVar[str] = "nccl_error_return"

    code: NcclResult
    innermost: str
    """Source file where the first such line stands."""
    processes: int = 1
    count: int = 1
