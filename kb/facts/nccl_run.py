"""Facts from NCCL's log on what it chose and found: network, plugins, hosts, peer access, features, checks."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact, Version

PluginPart: TypeAlias = Literal["net", "collnet", "tuner", "profiler", "gin", "rma", "env"]
PluginState: TypeAlias = Literal["absent", "loaded", "failed"]
PluginProblem: TypeAlias = Literal[
    "missing-library",
    "undefined-symbol",
    "wrong-version",
    "unusable-file",
    "no-provider",
    "provider-call-failed",
    "init-failed",
    "crashed",
    "other",
]
NcclFeatureName: TypeAlias = Literal[
    "nvls", "mnnvl", "cumem", "cumem-host", "dma-buf", "gdrcopy", "symmetric-memory"
]
FeatureState: TypeAlias = Literal["available", "unavailable", "fallback", "degraded", "failed"]
DiagnosticVerdict: TypeAlias = Literal["passed", "failed", "mismatch", "unavailable", "reported"]


class NcclNetwork(Fact):
    """The network that NCCL moves data over between hosts; all processes with the same choice together."""

    kind: ClassVar[str] = "nccl_network"

    network: str
    """As printed: IB, Socket, AWS Libfabric."""
    transport: Literal["ib", "socket", "ofi", "other"]
    devices: int | None = None
    """Network devices in use; None where the log does not list them."""
    device_names: str | None = None
    """`mlx5_0:1, mlx5_1:1`, or interfaces; at most eight."""
    link_layer: Literal["IB", "RoCE", "mixed"] | None = None
    interface: str | None = None
    """Interface of the out-of-band connections (IB) or the first data interface (Socket)."""
    rdma_found: bool | None = None
    """Whether NCCL found an RDMA device; None where it does not say."""
    chosen: bool = True
    """False where the log lists devices but does not say (any more) which network was taken."""
    processes: int = 1


class NcclPlugin(Fact):
    """What became of one of NCCL's plugins. That none is there is normal and is no fault."""

    kind: ClassVar[str] = "nccl_plugin"

    part: PluginPart
    state: PluginState
    problem: PluginProblem | None = None
    """Why it failed; None unless `failed`. `crashed`: a process met a signal in it."""
    name: str | None = None
    """Of the plugin where it was loaded, else of the library that was looked for."""
    version: str | None = None
    """Of the plugin's interface, `v8`, or of aws-ofi-nccl, `1.14.0`."""
    requested: bool = False
    """Asked for by name (NCCL_NET_PLUGIN and kin), so that its absence is no default."""
    text: str | None = None
    """The line that tells the failure."""
    processes: int = 1


class NcclGdr(Fact):
    """Whether NCCL uses GPUDirect RDMA with its network devices, all alike together."""

    kind: ClassVar[str] = "nccl_gdr"

    enabled: bool
    network: str | None = None
    """IB, Socket (never has it), AWS Libfabric; None where the line names a pair of GPU and device."""
    reason: Literal["not-supported", "distance"] | None = None
    """`not-supported`: by driver, module or device. `distance`: GPU and device are too far apart."""
    device: str | None = None
    """The first device named."""
    count: int = 1
    """Lines that say so."""


class NcclNodes(Fact):
    """How many hosts NCCL takes the ranks of one communicator to be on."""

    kind: ClassVar[str] = "nccl_nodes"

    nranks: int
    nodes: int
    """As NCCL counts them: by host name and boot id, or NCCL_HOSTID."""
    local_ranks: int
    """Ranks of one node; the largest where they differ."""
    ranks_seen: int
    hosts: int | None = None
    """Host names among the ranks seen; fewer than `nodes` is no contradiction (containers of one image)."""
    mnnvl: bool | None = None


class NcclCudaDriver(Fact):
    """The CUDA level of the driver's libcuda, as NCCL asked it; all processes that agree together."""

    kind: ClassVar[str] = "nccl_cuda_driver"

    version: Version
    """12.8"""
    processes: int = 1


class NcclPeerSupport(Fact):
    """Whether NCCL may use peer access between all its local ranks."""

    kind: ClassVar[str] = "nccl_peer_support"

    all_direct: bool
    """Usable for all pairs after NCCL's own distance rules."""
    all_cuda: bool | None = None
    """The driver offers it for all pairs; true beside `all_direct` false is policy, no fault of the hardware."""
    processes: int = 1


class NcclFeature(Fact):
    """One optional feature of NCCL and what became of it."""

    kind: ClassVar[str] = "nccl_feature"

    feature: NcclFeatureName
    state: FeatureState
    """`fallback`: NCCL goes on another way. `failed`: it stops there. `unavailable` is normal on most machines."""
    reason: str | None = None
    """`cuda 1 invalid argument`, `imex`, `container`, `fabric-state 2`."""
    processes: int = 1


class NcclDiagnostic(Fact):
    """The result of one of NCCL's own checks (NCCL_RUN_DIAGNOSTICS, from 2.31)."""

    kind: ClassVar[str] = "nccl_diagnostic"

    check: Literal[
        "p2p",
        "net-bandwidth",
        "cuda-driver-version",
        "ecc",
        "gpu-inventory",
        "nvlink",
        "nccl-environment",
        "iommu-mode",
        "iommu-groups",
        "ats-state",
        "xid",
        "paths",
        "rdma-topo",
    ]
    verdict: DiagnosticVerdict
    """`reported`: the line states what is, and calls it neither right nor wrong."""
    text: str
    peers_verified: int | None = None
    """Peer accesses whose data were right (p2p)."""
    peers_total: int | None = None
    count: int = 1


class NcclPairFailure(Fact):
    """A peer access that NCCL's own check could not set up, so that its data were never compared."""

    kind: ClassVar[str] = "nccl_pair_failure"

    src: int
    """GPU, as NVML counts."""
    dst: int
    step: Literal["import", "launch", "setup", "buffer", "topology"]
    reason: str | None = None


class OneRankLine(Fact):
    """A line on NCCL's version that one rank prints, while others that do not are at work."""

    kind: ClassVar[str] = "one_rank_line"

    by: str
    """Who prints it."""
    others: str
    """Who is there all the same, in words."""
    ranks: int | None = None
