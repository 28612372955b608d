"""Facts from the kernel log on the machine itself: memory, stuck tasks, crashes, hardware errors; and its span."""

from typing import ClassVar, Literal

from kb.facts.base import Fact
from kb.facts.xid import WhichBoot


class KernelLogSpan(Fact):
    """Where the last boot in one kernel log begins and ends, so that events of other logs can be set beside it."""

    kind: ClassVar[str] = "kernel_log_span"

    log: str | None = None
    """Name of the log inside its file, `/var/log/kern.log`; None where it is the whole file."""
    begin_time: str | None = None
    """Wall-clock time of the first line of that boot, as printed; None where that line or its time is missing."""
    ring_end_s: float | None = None
    """Seconds since boot of the last line, of a ring buffer (dmesg): it holds all later events of the boot too."""
    host: str | None = None


class OomKill(Fact):
    """Something was killed for want of host memory; kills of one victim's name and scope together."""

    kind: ClassVar[str] = "oom_kill"

    process: str | None = None
    """The victim, as printed: cut to 15 characters."""
    pid: int | None = None
    """Of the first, on the host."""
    scope: Literal["machine", "cgroup", "cpuset", "memory-policy", "oomd", "unknown"] = "unknown"
    """What ran out: all memory, the limit of a cgroup, the memory of its NUMA nodes; `oomd`: systemd-oomd."""
    anon_rss_mib: int | None = None
    """Private memory of the largest victim."""
    shmem_rss_mib: int | None = None
    """Shared memory of that victim (/dev/shm, pinned host buffers)."""
    limit_mib: int | None = None
    """Limit of the cgroup."""
    cgroup: str | None = None
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class HungTask(Fact):
    """A task in uninterruptible sleep for minutes; repeats of one name and place together."""

    kind: ClassVar[str] = "hung_task"

    process: str
    pid: int
    """Of the first."""
    waits_in: str | None = None
    """First kernel module in its stack: nvidia, nvidia_uvm, nfs, lustre …; None for the kernel itself."""
    seconds: int
    """The longest told."""
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class CpuLockup(Fact):
    """A CPU did not schedule for a while."""

    kind: ClassVar[str] = "cpu_lockup"

    lockup: Literal["soft", "hard", "rcu-stall"]
    process: str | None = None
    seconds: int | None = None
    """The longest told."""
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class ProcessCrash(Fact):
    """The kernel logged that a program crashed; crashes of one program in one library together."""

    kind: ClassVar[str] = "process_crash"

    process: str
    pid: int
    """Of the first, on the host."""
    crash: Literal["segfault", "general-protection", "invalid-opcode", "other-trap"]
    library: str | None = None
    """File in which it happened: a hint at most."""
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None


class MachineCheck(Fact):
    """Errors of CPU or host memory (not of a GPU) that the hardware reported."""

    kind: ClassVar[str] = "machine_check"

    part: Literal["memory", "cpu", "pcie", "other"]
    corrected: bool
    location: str | None = None
    """Controller, DIMM or bank of the first, as printed."""
    reported_by: Literal["edac", "mce", "apei"]
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    first_s: float | None = None
