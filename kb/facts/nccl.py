"""Facts from NCCL's log."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kb.facts.base import Bdf, Fact, Version

NcclClass: TypeAlias = Literal[
    "config",
    "network",
    "ib",
    "shm",
    "p2p",
    "cuda",
    "memory",
    "version",
    "topology",
    "user_error",
    "internal",
    "consequence",
]

CommunicatorState: TypeAlias = Literal["ranks-missing", "unfinished", "complete", "aborted"]


class NcclVersion(Fact):
    """The NCCL library that processes loaded, all that name the same version together."""

    kind: ClassVar[str] = "nccl_version"

    version: Version
    cuda: Version | None = None
    """CUDA it was built with."""
    processes: int = 1
    said_by: Literal["nccl", "framework"] = "nccl"


class NcclSetting(Fact):
    """A variable as NCCL itself reports it (`X set by environment to Y`): the value that holds."""

    kind: ClassVar[str] = "nccl_setting"

    name: str
    value: str
    processes: int = 1


class NcclBootstrap(Fact):
    """The interface for the out-of-band ring, all processes with the same choice together."""

    kind: ClassVar[str] = "nccl_bootstrap"

    interface: str
    address: str | None = None
    processes: int = 1


class NcclInit(Fact):
    """How far one rank came in setting up one communicator."""

    kind: ClassVar[str] = "nccl_init"

    comm_id: str | None = None
    """commId as printed; the same on all ranks of a communicator."""
    rank: int
    nranks: int
    state: Literal["started", "met", "complete", "aborted"]
    """`met`: the bootstrap ring closed, all ranks arrived."""
    host: str | None = None
    pid: int | None = None
    bdf: Bdf | None = None


class NcclCommunicator(Fact):
    """One communicator over all its ranks, combined from NcclInit."""

    kind: ClassVar[str] = "nccl_communicator"

    comm_id: str | None = None
    nranks: int
    ranks_started: int
    ranks_complete: int
    state: CommunicatorState
    """`ranks-missing`: fewer started than belong to it. `unfinished`: all started, not all complete."""
    missing: str | None = None
    """Ranks that never started, `1, 3`."""
    hosts: int = 1


class NcclTransport(Fact):
    """Transports among ranks, all channels of one kind together."""

    kind: ClassVar[str] = "nccl_transport"

    via: Literal["P2P", "SHM", "NET", "NVLS", "CollNet"]
    detail: str | None = None
    """As printed first: P2P/CUMEM, SHM/direct/direct, NET/IB/0/GDRDMA."""
    channels: int = 1


class NcclWarning(Fact):
    """A WARN line, all lines of the same form together."""

    kind: ClassVar[str] = "nccl_warning"

    text: str
    rank: int | None = None
    class_: NcclClass = Field(alias="class", default="internal")
    count: int = 1
    means: str | None = None
    """What such a warning means, by the catalogue of warnings."""
    file: str | None = None
    """Source file that warned, `transport/nvls.cc`; None where the line was cut."""
