"""Facts on NVLink and its services: links, fabric manager, subnet manager, IMEX, confidential computing."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Bdf, Fact, Version

FabricProblem: TypeAlias = Literal[
    "version-mismatch",
    "no-nvswitch",
    "topology-mismatch",
    "nvswitch-fatal",
    "nvswitch-nonfatal",
    "multicast",
    "training",
    "routing",
    "management-path",
    "start-script",
    "other",
]


class NvswitchOnBus(Fact):
    """One NVSwitch that this system sees as a PCI function; those of NVLink 5 are none."""

    kind: ClassVar[str] = "nvswitch_on_bus"

    bdf: Bdf
    device_id: str | None = None
    """Four hexadecimal digits in lower case: 22a3; None where only its driver names it."""
    driver: str | None = None
    """Kernel driver bound to it, nvidia-nvswitch or vfio-pci; `none` where none is."""
    reported_by: Literal["sysfs", "lspci", "procfs"]
    """`procfs`: the NVIDIA driver has it."""


class NvlinkLinks(Fact):
    """The NVLinks of one GPU: how many of them are up."""

    kind: ClassVar[str] = "nvlink_links"

    index: int | None = None
    uuid: str | None = None
    state: Literal["all-active", "some-inactive", "all-inactive"]
    links: int
    """0 where the tool says only that all are inactive."""
    active: int
    inactive: str | None = None
    """Numbers of the links that are down, `3, 7`."""
    slowest_mb_s: int | None = None
    """Speed of the slowest active link."""


class NvlinkErrors(Fact):
    """Errors counted on the NVLinks of one GPU, all links together."""

    kind: ClassVar[str] = "nvlink_errors"

    index: int | None = None
    uuid: str | None = None
    replays: int | None = None
    """Retransmissions; a few over days are harmless."""
    recoveries: int | None = None
    """Retrainings; on NVLink 5 those that failed."""
    crc: int | None = None
    packets: int | None = None
    """NVLink 5: malformed, dropped or failed packets, link integrity and symbol errors."""
    total: int
    links_with_errors: str | None = None
    """Numbers of those links, `0, 5`."""


class FabricManagerProblem(Fact):
    """Something that fabric manager could not do or found wrong; all lines of one kind together."""

    kind: ClassVar[str] = "fabric_manager_problem"

    problem: FabricProblem
    """`no-nvswitch` (NV_WARN_NOTHING_TO_DO): nothing to manage, which is a fault only where NVSwitches are."""
    text: str
    code: int | None = None
    """SXid of an NVSwitch error."""
    bdf: Bdf | None = None
    """Of the NVSwitch."""
    fabric_manager_version: Version | None = None
    driver_version: Version | None = None
    count: int = 1
    first: str | None = None
    """Time of the first line, as printed."""
    last: str | None = None


class FabricManagerRun(Fact):
    """How far fabric manager came, from its own log or its unit's."""

    kind: ClassVar[str] = "fabric_manager_run"

    state: Literal["configured", "started", "stopped", "failed"]
    """The last one. `configured`: it has set up all NVSwitches."""
    nothing_to_do: bool | None = None
    """True where it says that it found no NVSwitch, and ended for that."""
    starts: int = 1
    """More than one: restarted, which GPUs in use do not survive."""
    stops: int = 0
    failures: int = 0
    system: Literal["pre-nvlink5", "nvlink5"] | None = None
    """What its start script took the machine for."""
    version: Version | None = None
    last: str | None = None
    """Time of the last line that counts, as printed."""


class FabricManagerConfig(Fact):
    """What fabric manager's configuration file tells it to do."""

    kind: ClassVar[str] = "fabric_manager_config"

    mode: Literal["all-gpus", "shared", "vgpu"] | None = None
    """`all-gpus`: it sets up all GPUs; `shared` and `vgpu`: those whose partition somebody activates."""
    stays_on_failure: bool | None = None
    """It goes on running where it could set up nothing, so that `active` proves nothing."""


class SubnetManagerRun(Fact):
    """The NVLink subnet manager (NVLSM), which programs the switches of NVLink 5."""

    kind: ClassVar[str] = "subnet_manager_run"

    state: Literal["running", "port-down", "failed", "stopped"]
    errors: int = 0
    text: str | None = None
    """The last error line."""


class ImexDomain(Fact):
    """An IMEX domain as nvidia-imex-ctl shows it."""

    kind: ClassVar[str] = "imex_domain"

    state: Literal["up", "degraded", "down", "other"] | None = None
    nodes: int
    ready: int
    not_ready: str | None = None
    """Numbers and states of the other nodes, `3 UNAVAILABLE`."""
    versions: int | None = None
    """How many different versions the nodes run."""
    mismatch: Literal["version", "node-map"] | None = None
    """Nodes refuse each other for it (`!V!`, `!M!`)."""
    broken_pairs: int = 0
    """Ordered pairs of nodes that are not connected."""


class ImexNodes(Fact):
    """The list of nodes of an IMEX domain, as the daemon of this machine is given it."""

    kind: ClassVar[str] = "imex_nodes"

    nodes: int
    """0: the list is empty, and the daemon has nobody to meet."""
    twice: str | None = None
    """A node that stands in it more than once."""
    addresses: str | None = None
    """The nodes, `192.0.2.1 192.0.2.2`, as far as they are addresses, not names."""


class ImexMembership(Fact):
    """Whether an address of this machine stands in its own list of IMEX nodes. Combined."""

    kind: ClassVar[str] = "imex_membership"

    member: bool
    nodes: int


class ImexProblem(Fact):
    """Something that the IMEX daemon reports as wrong; all lines of one kind together."""

    kind: ClassVar[str] = "imex_problem"

    problem: Literal["version-mismatch", "connection", "configuration", "other"]
    text: str
    version: Version | None = None
    """Of the daemon, where the log says it."""
    count: int = 1
    first: str | None = None
    last: str | None = None


class ConfidentialComputing(Fact):
    """Confidential computing of the GPUs; each answer may come alone."""

    kind: ClassVar[str] = "confidential_computing"

    state: Literal["on", "off", "devtools"] | None = None
    environment: str | None = None
    """PRODUCTION or SIMULATION."""
    ready: bool | None = None
    """Whether work is accepted; means something only where `state` is `on`."""
    multi_gpu: Literal["none", "protected-pcie", "other"] | None = None
