"""Facts on how frameworks use peer access: their own all-reduce, their test's cache, and its speed."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact
from kb.facts.framework import Framework

CustomAllReduceReason: TypeAlias = Literal[
    "pcie-only",
    "no-peer-access",
    "world-size",
    "several-nodes",
    "compute-capability",
    "library-missing",
    "setup-failed",
    "other",
]


class CustomAllReduce(Fact):
    """A framework's own all-reduce kernel: switched off, failed, or seen at work; all alike together."""

    kind: ClassVar[str] = "custom_all_reduce"

    state: Literal["disabled", "failed", "running"]
    """`disabled`: the framework goes on with NCCL, by design. `running`: a debugger lists its kernel as active,
    or py-spy finds a process in it; that it still is after minutes means that it hangs."""
    reason: CustomAllReduceReason | None = None
    """`pcie-only`: more than two GPUs without NVLink. `no-peer-access`: not offered, or a test of it failed."""
    framework: Framework
    world_size: int | None = None
    error: str | None = None
    """CUDA's words where it failed: `invalid argument`."""
    place: str | None = None
    """Source file and line that failed, or the kernel."""
    ranks: int = 1
    """That say so; processes where the log does not name ranks."""
    count: int = 1


class PeerAccessCache(Fact):
    """vLLM's (or SGLang's) test of peer access, whose result a file keeps also when the machine has changed."""

    kind: ClassVar[str] = "peer_access_cache"

    action: Literal["generating", "reading", "content"]
    """`generating`: the test copies data between processes now. `content`: the file itself."""
    gpus: str | None = None
    """`0,1`, from its name."""
    pairs: int | None = None
    pairs_denied: int | None = None
    path: str | None = None


class PeerBandwidth(Fact):
    """Speed between two GPUs with peer access on and off. Says nothing on the data."""

    kind: ClassVar[str] = "peer_bandwidth"

    src: int
    dst: int
    enabled_gbps: float | None = None
    """One way, thousand million bytes a second."""
    disabled_gbps: float | None = None
    ratio: float | None = None
    """Enabled against disabled; much below 1 where peer traffic takes a detour."""
    slower: bool | None = None
    """Peer access makes it much slower, which no sound path does; pairs without peer access come close to 1."""
    latency_enabled_us: float | None = None
    latency_disabled_us: float | None = None
    measured_by: Literal["p2pBandwidthLatencyTest"] = "p2pBandwidthLatencyTest"


class MemorySharingFailure(Fact):
    """GPU memory that one process could not hand to another, as PyTorch says; all alike together."""

    kind: ClassVar[str] = "memory_sharing_failure"

    call: Literal["export", "import", "descriptor"]
    """`descriptor`: the kernel refused to pass the file descriptor on (pidfd_open, pidfd_getfd)."""
    error: str
    """As printed: `invalid argument`, `Operation not permitted`."""
    expandable_segments: bool = False
    """The message itself names them."""
    rank: str | None = None
    count: int = 1
