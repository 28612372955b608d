"""Facts on errors of GPUs and NVSwitches that the driver numbers, Xid and SXid, and on which GPU is which."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import computed_field

from kb.catalogues import XidAction, XidGroup, XidLayer, XidRole, sxid_row, xid_row
from kb.facts.base import Bdf, Fact

WhichBoot: TypeAlias = Literal["this", "earlier"]
"""Whether a kernel event belongs to the last boot that its evidence shows, or to one before it."""

XidDetail: TypeAlias = Literal[
    "address",
    "instruction",
    "copy-engine",
    "graphics-engine",
    "other-engine",
    "reset-to-remap",
    "reload-to-retire",
    "not-recorded",
    "no-reset",
    "reset",
    "drain-and-reset",
    "drain-p2p",
    "reboot",
    "recover-imex",
    "none",
    "fatal",
    "nonfatal",
]


class LoggedXid(Fact):
    """Xids of one number and GPU in one file, this boot's and earlier ones' apart; XidEvent is made of these."""

    kind: ClassVar[str] = "logged_xid"

    code: int
    bdf: Bdf
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    """Wall-clock time of the first, as printed."""
    last_time: str | None = None
    first_s: float | None = None
    """Seconds since boot of the first, where the log has such stamps."""
    last_s: float | None = None
    process: str | None = None
    pid: int | None = None
    processes: str | None = None
    """Names of all its owners, where there are several."""
    detail: XidDetail | None = None
    caused_by: int | None = None
    gpu_instance: int | None = None
    host: str | None = None


class XidEvent(Fact):
    """Xids of one number and GPU, however many logs hold them, this boot's and earlier ones' apart."""

    kind: ClassVar[str] = "xid_event"

    code: int
    bdf: Bdf
    count: int = 1
    """Lines; one event may print several (13, 45: one a channel)."""
    boot: WhichBoot = "this"
    time: str | None = None
    """Wall-clock time of the first, as printed."""
    first_s: float | None = None
    """Seconds since boot of the first, where a log has such stamps."""
    last_s: float | None = None
    process: str | None = None
    """Owner of the channel or caller, as printed: who was running, not who is guilty."""
    processes: str | None = None
    """Names of all its owners, where there are several: errors that stay on one GPU over several programs."""
    pid: int | None = None
    """On the host."""
    detail: XidDetail | None = None
    """13: `address`, `instruction`; 31: the engine that faulted; 63 and 64: what the repair waits for or that it
    could not be recorded; 94 and 95: what the line asks for; 154: the last recovery action (`none`: it is over);
    144 to 150: severity."""
    caused_by: int | None = None
    """45: the Xid that the line names as its cause."""
    gpu_instance: int | None = None
    """MIG GPU instance, where the address carries one."""
    host: str | None = None
    branch: int | None = None
    """Driver branch, where it is known: numbers were given new meanings."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def name(self) -> str | None:
        """The driver's symbol for the number, in the branch if known."""
        row = xid_row(self.code, self.branch)
        return row.name if row else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def role(self) -> XidRole | None:
        """Whether such an Xid explains others, follows others, or informs; None for a number not known."""
        row = xid_row(self.code, self.branch)
        if row and self.detail in {"nonfatal", "none"}:
            return "information"
        return row.role if row else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def layer(self) -> XidLayer | None:
        """What part it is about."""
        row = xid_row(self.code, self.branch)
        return row.layer if row else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def group(self) -> XidGroup | None:
        """What kind of trouble it is; None for a mere consequence and for what is no error."""
        row = xid_row(self.code, self.branch)
        return None if row is None or self.detail in {"nonfatal", "none"} else row.group

    @computed_field  # type: ignore[prop-decorator]
    @property
    def action(self) -> XidAction | None:
        """NVIDIA's documented first remedy."""
        row = xid_row(self.code, self.branch)
        return row.action if row else None


class NvlinkFault(Fact):
    """An NVLink error of a GPU with its decode (Xid 74 and 144 to 150); equal ones together."""

    kind: ClassVar[str] = "nvlink_fault"

    bdf: Bdf
    code: int
    """The Xid."""
    link: int | None = None
    unit: str | None = None
    """As printed: NETIR_LINK_EVT, RLW_SRC_TRACK; None up to NVLink 4."""
    severity: Literal["fatal", "nonfatal"]
    """As the line says; a 74 counts as fatal."""
    action: Literal["ignore", "reset-gpu", "see-xid-154"] | None = None
    """NVIDIA's catalogue on this unit and status; None where it holds no such row."""
    inspect: Literal["link", "peer", "software", "support", "nothing"] | None = None
    """What the catalogue would have looked into."""
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class SxidEvent(Fact):
    """SXids of one number and link of one NVSwitch, this boot's and earlier ones' apart."""

    kind: ClassVar[str] = "sxid_event"

    code: int
    bdf: Bdf
    """Of the switch."""
    link: int | None = None
    fatal: bool
    """The word in the line."""
    count: int = 1
    """Bursts print detail lines under the same number; those are not counted."""
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None
    host: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def name(self) -> str | None:
        """The driver's symbol for the number."""
        row = sxid_row(self.code)
        return row.name if row else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def documented(self) -> str | None:
        """The Fabric Manager guide's word: non-fatal, fatal-to-port, always-fatal, notable; None: not in it."""
        row = sxid_row(self.code)
        return row.documented if row else None


class GpuIdentity(Fact):
    """Which UUID the GPU at an address has, as the driver prints before a GPU's first error."""

    kind: ClassVar[str] = "gpu_identity"

    bdf: Bdf
    uuid: str
