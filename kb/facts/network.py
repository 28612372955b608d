"""Facts on the network of a machine: interfaces, routes, ports, RDMA devices, names, and tests of connections."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact, Version
from kb.facts.xid import WhichBoot

InterfaceRole: TypeAlias = Literal[
    "loopback",
    "docker-bridge",
    "virtual-bridge",
    "veth",
    "tunnel",
    "bond",
    "vlan",
    "infiniband",
    "wireless",
    "physical",
]


class NetworkInterface(Fact):
    """One network interface. Ends of containers' virtual cables are left out where there are many."""

    kind: ClassVar[str] = "network_interface"

    name: str
    state: Literal["up", "down", "no-carrier", "unknown"] = "unknown"
    """`no-carrier`: switched on, no cable or peer."""
    role: InterfaceRole
    """Judged by its name and type."""
    virtual: bool
    """Loopback, bridge, veth or tunnel: not a way to another machine by itself."""
    address: str | None = None
    """First IPv4 address, without its prefix length."""
    prefix: int | None = None
    address6: str | None = None
    """First IPv6 address that is not link-local."""
    mtu: int | None = None
    speed_mbps: int | None = None
    """From ethtool or sysfs."""


class DefaultRoute(Fact):
    """Where packets to other networks go."""

    kind: ClassVar[str] = "default_route"

    interface: str
    gateway: str | None = None
    metric: int | None = None


class ListeningPort(Fact):
    """A TCP port on which a process listens."""

    kind: ClassVar[str] = "listening_port"

    port: int
    address: str
    """As printed: 0.0.0.0, *, 127.0.0.1, [::]."""
    loopback: bool
    """Reachable from this machine only."""
    process: str | None = None
    """Name, where the tool was allowed to tell."""
    pid: int | None = None


class SharedHostName(Fact):
    """A name under which NCCL's processes of more than one machine write."""

    kind: ClassVar[str] = "shared_host_name"

    name: str
    interface: str
    """Which all of them use."""
    addresses: str
    """Of that interface, `10.7.7.23, 10.7.7.30`; at most four."""
    machines: int


class SecurityGroup(Fact):
    """A security group of AWS, and whether all traffic between its own members passes."""

    kind: ClassVar[str] = "security_group"

    id: str
    from_itself: bool
    """A rule lets in all protocols from the group itself."""
    to_itself: bool
    """A rule lets out all protocols to the group itself; rules on addresses don't count for EFA, no IP."""


class MpiBenchmark(Fact):
    """One table of an MPI benchmark."""

    kind: ClassVar[str] = "mpi_benchmark"

    rows: int
    """Sizes that were measured."""
    ended_by_hand: bool = False


class RdmaPort(Fact):
    """One port of an RDMA device."""

    kind: ClassVar[str] = "rdma_port"

    device: str
    port: int = 1
    state: Literal["active", "armed", "initializing", "down", "unknown"] = "unknown"
    physical: str | None = None
    """In lower case as printed: linkup, polling, disabled, sleep."""
    link_layer: Literal["infiniband", "ethernet"] | None = None
    transport: Literal["infiniband", "iwarp", "efa", "usnic", "unspecified"] | None = None
    rate_gbps: int | None = None
    """Whole number, 56.25 as 56."""
    subnet_manager: bool | None = None
    """On InfiniBand: a subnet manager gave it an address (its LID and the SM's are not 0)."""
    netdev: str | None = None
    """Its network interface, where the tool tells."""
    mtu: int | None = None
    """Active MTU."""


class NetworkLinkTrouble(Fact):
    """What the kernel log says of a network link that is down at its end, or of its cable; repeats together."""

    kind: ClassVar[str] = "network_link_trouble"

    device: str
    """Interface, or the address of the adapter where none is named."""
    driver: str
    """mlx5_core, bnxt_en, ice …"""
    trouble: Literal["down", "cable-error", "cable-unplugged"]
    """`down`: and no later line of this device says that it came up again."""
    text: str
    count: int = 1
    """How often it went down."""
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class GidTable(Fact):
    """The global identifiers of one RoCE or InfiniBand port."""

    kind: ClassVar[str] = "gid_table"

    device: str
    port: int = 1
    entries: int
    rocev2_ipv4: str | None = None
    """Indices of RoCE v2 over IPv4, `3`; None where there is none."""
    rocev2_ipv6: str | None = None
    """Indices of RoCE v2 over a routable IPv6 address."""
    rocev1: int = 0
    """Entries of RoCE v1."""


class NameResolution(Fact):
    """What a name resolves to."""

    kind: ClassVar[str] = "name_resolution"

    name: str
    address: str | None = None
    """First one; None where there is none."""
    loopback: bool = False
    own: bool | None = None
    """It is this machine's own name, where the evidence tells."""
    problem: Literal["not-found", "server-failed", "none"] = "none"
    source: Literal["hosts", "getent", "dns", "ping", "program"]
    """`hosts`: a line of /etc/hosts; `getent`: the system's resolver; `program`: a program of the job said so."""


class ConnectionTest(Fact):
    """The outcome of a test of one connection."""

    kind: ClassVar[str] = "connection_test"

    tool: Literal["ping", "nc", "telnet", "curl", "other"]
    target: str
    port: int | None = None
    result: Literal["ok", "refused", "timeout", "unreachable", "no-name", "partial"]
    """`partial`: some packets were lost."""
    loss_percent: int | None = None
    rtt_ms: float | None = None
    """Mean."""
    size: int | None = None
    """Payload of each packet; a large one that is lost tells of an MTU."""


class LibfabricProvider(Fact):
    """Whether libfabric finds a provider, from fi_info."""

    kind: ClassVar[str] = "libfabric_provider"

    provider: str
    """efa, verbs, tcp; `any` where none was asked for."""
    present: bool
    domains: int = 0
    version: Version | None = None
    """Of libfabric or of the provider, as printed."""


class InterfaceSetting(Fact):
    """A variable that names interfaces or RDMA devices, held against those that there are. Combined."""

    kind: ClassVar[str] = "interface_setting"

    name: str
    """NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME, NCCL_IB_HCA …"""
    value: str
    matches: int
    """Interfaces or devices that it chooses."""
    problem: Literal["not-found", "loopback", "virtual", "down", "without-address", "none"] = "none"
    """Of what it chooses; `not-found`: it chooses none."""
    chosen: str | None = None
    """Their names."""


class PeerMemoryClient(Fact):
    """A module that hands addresses of GPU memory to the RDMA drivers (nvidia-peermem), as they see it."""

    kind: ClassVar[str] = "peer_memory_client"

    name: str | None = None
    """nv_mem or nv_mem_nc: two names of the same, of which one is enough. None: of none at all."""
    registered: bool
