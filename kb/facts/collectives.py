"""Facts from torch.distributed on collectives that did not end and processes that did not meet."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact, Version

RendezvousStage: TypeAlias = Literal[
    "connect",
    "clients",
    "store-key",
    "barrier",
    "exit-barrier",
    "full-mesh",
    "agent-join",
    "store-lost",
    "overfull",
]
Agreement: TypeAlias = Literal["same", "operations-differ", "shapes-differ", "sequences-differ", "unclear"]


class CollectiveTimeout(Fact):
    """A collective that watchdogs gave up, over all ranks that named the same one. Combined."""

    kind: ClassVar[str] = "collective_timeout"

    operation: str
    """As printed: ALLREDUCE, _ALLGATHER_BASE."""
    sequence: int | None = None
    group: str | None = None
    """Process group as the follow-up lines name it: `0 (default_pg)`, `2`."""
    ranks: int
    """How many named it."""
    ranks_named: str
    """`0, 1, 3`"""
    elements: int | None = None
    """Where all that printed it agree."""
    timeout_ms: int | None = None
    last_completed_least: int | None = None
    last_completed_most: int | None = None
    """Number of the last collective that ranks completed; 0 or -1: none ever did."""


class WatchdogSignal(Fact):
    """What torch's monitoring threads say besides the time-out itself; all alike together."""

    kind: ClassVar[str] = "watchdog_signal"

    signal: Literal["heartbeat-lost", "watchdog-stuck", "dump-signal", "dump-observed"]
    """`heartbeat-lost`, `watchdog-stuck`: a CUDA or NCCL call of this rank does not return. `dump-signal`,
    `dump-observed`: another rank spoke first."""
    origin_rank: int | None = None
    """Of a dump signal: the rank that sent it."""
    ranks: int
    ranks_named: str | None = None


class DesyncRank(Fact):
    """A rank that torch's own comparison of the ranks names (TORCH_NCCL_DESYNC_DEBUG)."""

    kind: ClassVar[str] = "desync_rank"

    rank: int
    problem: Literal["not-joined", "not-finished", "never-began"]
    """`not-finished`: it is in the collective, like those that wait for another."""
    finished: int | None = None
    """Number of the last collective that it finished, counted from 1."""
    awaited: int | None = None
    """Number of the collective that it did not join or finish."""
    operation: str | None = None
    """As the rank that reports names it."""


class RendezvousFailure(Fact):
    """Processes that could not meet, or lost the place where they met; all alike together."""

    kind: ClassVar[str] = "rendezvous_failure"

    stage: RendezvousStage
    """`connect`: no connection to the store. `clients`: the store waited for members. `store-key`: a member waited
    for what another writes. `store-lost`: the process that serves the store is gone. `overfull`: the store has
    counted more members, `joined`, than there are, `expected`."""
    reason: Literal["timed-out", "refused", "no-route", "closed", "name-unresolved", "other"]
    host: str | None = None
    port: int | None = None
    loopback: bool | None = None
    """The address is this machine's own; None where none is printed."""
    joined: int | None = None
    expected: int | None = None
    waited_s: float | None = None
    key: str | None = None
    waits_for_rank: int | None = None
    """Rank that should have written the key, where key or message tell."""
    missing: str | None = None
    """Ranks that did not come, where they are named."""
    count: int = 1
    consequence: bool = False
    """It only shows that another process ended."""


class NameUnresolved(Fact):
    """A host name or address that a program could not resolve; all alike together."""

    kind: ClassVar[str] = "name_unresolved"

    name: str | None = None
    """As printed; None where the line does not name it."""
    role: Literal["store", "client", "own", "other"]
    """`client`: only the reverse look-up of a peer, which slows but breaks nothing. `own`: this machine's name."""
    error: str | None = None
    fell_back_to_loopback: bool = False
    reported_by: Literal["torch", "gloo", "nccl"] = "torch"
    count: int = 1


class GlooMesh(Fact):
    """Whether Gloo connected the ranks of a group with each other."""

    kind: ClassVar[str] = "gloo_mesh"

    rank: int
    connected: int
    expected: int
    complete: bool


class FlightRecord(Fact):
    """Where one rank stands in one process group, from a Flight Recorder dump."""

    kind: ClassVar[str] = "flight_record"

    rank: int | None = None
    """From the name of the dump, which holds it nowhere else."""
    group: str
    """Name of the process group."""
    group_description: str | None = None
    members: str | None = None
    """Ranks of the group, `0, 2`."""
    sequence: int
    """Of the first operation that is not completed, or else of the last one."""
    operation: str
    shape: str | None = None
    """Of the inputs, `[[4096, 5120]]`."""
    state: Literal["scheduled", "started", "completed"]
    pending: int
    """Operations of this group that are not completed."""
    last_sequence: int
    """Of the last collective that was put in."""
    between_two: bool = False
    """A send or receive, whose numbers count apart and concern two ranks only."""
    last_completed: int | None = None


class FlightDump(Fact):
    """A Flight Recorder dump as a whole."""

    kind: ClassVar[str] = "flight_dump"

    rank: int | None = None
    version: Version
    """Of the format."""
    nccl_version: Version | None = None
    entries: int
    groups: int
    pending: int


class CollectiveAgreement(Fact):
    """Whether the ranks of a group stand in the same collective, over all that tell: combined."""

    kind: ClassVar[str] = "collective_agreement"

    agreement: Agreement
    """`unclear`: numbers differ, and the evidence does not say whether it is one process group, or one run; or one
    rank alone tells."""
    reported_by: Literal["watchdog", "fingerprint", "flight-recorder"]
    group: str | None = None
    operation: str | None = None
    """Of most ranks."""
    sequence: int | None = None
    """The number at which most ranks wait; of equally many the higher."""
    ranks_expected: int | None = None
    ranks_waiting: int
    """That say that they wait."""
    behind: str | None = None
    """Ranks that wait at a lower number: the others have passed it, so that these stand still themselves."""
    not_joined: str | None = None
    """Ranks that have not put that collective in, as dumps or torch's comparison show."""
    different: str | None = None
    """Ranks whose operation or shape at this number is not that of most."""
    silent: str | None = None
    """Ranks that belong to the group, or must, since higher ones speak, and did not say that they wait."""
    silent_seen: str | None = None
    """Of the silent ranks those that other evidence shows: they were there, and their own lines tell more."""
    none_completed: bool | None = None
    """No collective of this group was ever completed."""
