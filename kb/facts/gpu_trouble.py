"""Facts on what is wrong with one GPU, combined from all that speak of it: Xids, kernel lines, tools, the bus.

Each names its GPU in words that are always there (`name`), so that a finding has a subject even where the evidence
gives a number only, or nothing. Events of an earlier boot don't make one.
"""

from typing import ClassVar, Literal

from kb.facts.base import Bdf, Fact


class GpuTroubleFact(Fact):
    """What all of these share."""

    name: str
    """`GPU 0000:41:00.0`, `GPU number 3`, or `a GPU` where the evidence does not tell which one."""
    bdf: Bdf | None = None
    index: int | None = None
    """nvidia-smi's number."""


class LostGpu(GpuTroubleFact):
    """A GPU that no longer answers on the bus, or that tools can't reach."""

    kind: ClassVar[str] = "lost_gpu"

    by_driver: bool = False
    """The kernel module says so: Xid 79 or 167, or the same in words."""
    by_bus: bool = False
    """Its configuration space reads as all ones (lspci `rev ff`)."""
    by_tools: Literal["lost", "no-handle", "diagnostic"] | None = None
    """`lost`: the tool says that it is lost; `no-handle`: `Unknown Error`, which has other causes too."""


class FaultyGpuMemory(GpuTroubleFact):
    """Errors in the memory of a GPU that could not be corrected, and what became of the repair."""

    kind: ClassVar[str] = "faulty_gpu_memory"

    uncorrected: bool = False
    """Such an error was logged in this boot, stands in a counter of this boot, or ended a CUDA call."""
    by_driver: bool = False
    """It was logged as an Xid."""
    xids: str | None = None
    """Numbers, `48, 94`."""
    in_sram: bool = False
    """In on-chip memory, which has no spare rows."""
    uncontained: bool = False
    """Xid 95: all work on the GPU is suspect."""
    repeated: bool = False
    """Again after a boot, or many: no single bad row."""
    repair: Literal["pending", "failed", "exhausted"] | None = None
    """`pending`: waits for a reset; `failed`: could not be done; `exhausted`: a bank has no spare row left."""
    rows: int | None = None
    """Rows remapped, or pages retired, for uncorrectable errors in the life of the board."""


class GspTrouble(GpuTroubleFact):
    """The System Processor of a GPU (GSP) does not answer or has crashed."""

    kind: ClassVar[str] = "gsp_trouble"

    xid: int | None = None
    timeout: bool = False
    """The driver waited in vain for an answer, or for a sign of life."""
    marked_for_reset: bool = False
    caller: str | None = None
    """Process that happened to ask."""
    lost_before: bool = False
    """The GPU had fallen off the bus by then, which silences its GSP too."""
    halted_before: bool = False
    """A micro-controller of the GPU had halted by then (Xid 61, 62), for which the GSP waits."""


class NvlinkTrouble(GpuTroubleFact):
    """NVLink errors of a GPU or of an NVSwitch, or links that are down."""

    kind: ClassVar[str] = "nvlink_trouble"

    fatal: bool = False
    """An NVLink Xid or SXid that calls for a reset, or a CUDA call that ended with it."""
    xids: str | None = None
    links: str | None = None
    """Numbers of the links that errors name or that are down."""
    inspect: str | None = None
    """What NVIDIA's catalogue would have looked into: `link`, `peer`, `software`, `support`."""
    down: bool = False
    """Some, not all, of its links are inactive; or all, of a module whose neighbours have theirs."""
    others_full: bool = False
    """While all links of other GPUs are active."""
    one_bridge: bool = False
    """A GPU whose links are all of one bridge, of which some are up and some are not."""
    counted: int | None = None
    """Errors that its counters hold: CRC, recoveries, packets."""
    peer_lost: bool = False
    """A GPU fell off the bus in this boot: its peers' links go down with it."""


class GpuResetDue(GpuTroubleFact):
    """The driver asks for a reset, drain or reboot for a GPU."""

    kind: ClassVar[str] = "gpu_reset_due"

    action: str
    """`reset`, `drain-and-reset`, `reboot`, `drain-p2p`, `recover-imex`, `bus-reset`."""
    by_tools: bool = False
    by_driver: bool = False
    """In the kernel log."""
    cause_known: bool = False
    """An Xid that explains it, or another trouble of that GPU, is in evidence."""


class ProgramFault(GpuTroubleFact):
    """A program that gave a GPU bad work: Xid 13, 31 and kin, or an illegal access that CUDA reported."""

    kind: ClassVar[str] = "program_fault"

    process: str | None = None
    xids: str | None = None
    """None where only CUDA speaks of it."""
    gpus: int = 1
    """GPUs on which this program had such errors."""
    programs: int = 1
    """Programs that had such errors on the same GPU, in this boot or before."""
    engine: Literal["kernel", "copy", "other"] | None = None
    """Which part of the GPU met the bad address: a compute kernel, a copy engine."""
    cuda: Literal["access", "assert"] | None = None
    """What CUDA reports in the same evidence: an illegal access or instruction; a failed assertion in a kernel."""
    gpu_ill: bool = False
    """The same GPU has trouble of its own: memory, link, firmware, bus."""


class HeldDownGpu(GpuTroubleFact):
    """A GPU whose clocks are held down by heat, by its power limit or by the power supply."""

    kind: ClassVar[str] = "held_down_gpu"

    reason: Literal["heat", "power-brake", "lowered-limit", "slowdown", "power-cable", "capped-below-limit"]
    """`slowdown`: the hardware holds it down and does not say why. `capped-below-limit`: a power cap is active on
    a busy GPU that draws at most 70 % of its own limit, so that somebody else sets the cap."""
    at_limit: bool = False
    """Its temperature is at or over its limit, or it draws all that a lowered limit allows."""
    temperature_c: int | None = None
    far_below: bool = False
    """The limit in force is at most 70 % of the default one."""
    draw_w: int | None = None
    """Where it is capped below its limit."""
    limit_w: int | None = None
    default_limit_w: int | None = None
    idle: bool = False
    """It had nothing to do."""


class DegradedLink(GpuTroubleFact):
    """The PCIe link of a GPU is narrower or slower than it could be, or has errors."""

    kind: ClassVar[str] = "degraded_link"

    lanes: int | None = None
    lanes_max: int | None = None
    very_narrow: bool = False
    """A quarter of its lanes or fewer, or fewer than both ends have."""
    narrow: bool = False
    """Fewer lanes than the GPU has; many a slot has no more."""
    slow_under_load: bool = False
    generation: int | None = None
    generation_max: int | None = None
    errors: int | None = None
    """Corrected errors of the GPU or of the port above it; the kernel limits their rate."""
    many_errors: bool = False
    uncorrected: bool = False
    """It reported errors that could not be corrected."""
    bits: str | None = None
    by_xid: int | None = None
    """80, 176: damaged data, too many corrected errors."""
    lost: bool = False
    """The GPU fell off the bus in this boot."""
