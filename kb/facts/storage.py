"""Facts on memory outside the GPUs: /dev/shm, file systems, limits, host memory, NUMA nodes and processors."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

Place: TypeAlias = Literal["shm", "tmp", "checkpoint", "cache", "root", "home", "log", "other"]


class SharedMemory(Fact):
    """A /dev/shm and its size."""

    kind: ClassVar[str] = "shared_memory"

    size_mib: int | None = None
    """None where the mount carries no size: half of the machine's memory."""
    free_mib: int | None = None
    """None where only the mount was listed."""
    default_of_containers: bool = False
    """It is the 64 MiB that a container gets where nothing else is asked for."""
    writable: bool | None = None
    reported_by: Literal["df", "mount", "probe"] = "df"


class FileSystem(Fact):
    """A mounted file system that holds files of users: no tmpfs of the system, no overlay of another container."""

    kind: ClassVar[str] = "file_system"

    mount: str
    place: Place
    """What it serves for, judged by its mount point."""
    type: str | None = None
    network: bool | None = None
    """NFS, Lustre, Ceph and the like; None where the type is not told."""
    size_mib: int | None = None
    free_mib: int | None = None
    used_percent: int | None = None
    inodes_used_percent: int | None = None
    problem: Literal["full", "nearly-full", "no-inodes", "none"] = "none"
    """`full`: nothing left for users; `nearly-full`: 98 % or more."""


class NoSpace(Fact):
    """A program could not write for want of space; the same place and reason together."""

    kind: ClassVar[str] = "no_space"

    place: Place
    """Judged by the path in the message; `other` where it names none."""
    reason: Literal["space", "quota", "write-failed"] = "space"
    """`write-failed`: a checkpoint could not be written, most often for want of space."""
    path: str | None = None
    rank: str | None = None
    text: str
    count: int = 1


class ResourceLimit(Fact):
    """One limit of a shell or process (ulimit -a, /proc/PID/limits)."""

    kind: ClassVar[str] = "resource_limit"

    name: Literal["memlock", "nofile", "nproc", "stack", "core", "as", "data", "fsize", "cpu"]
    unlimited: bool
    """The soft limit."""
    soft: int | None = None
    """KiB for memlock, stack, as and data; a number for nofile and nproc. None where unlimited."""
    hard: int | None = None
    """None where unlimited or not told."""
    process: str | None = None
    """pid, `self`, or the unit or file that sets it; None for a shell."""


class HostMemory(Fact):
    """Memory of the machine, from free or /proc/meminfo."""

    kind: ClassVar[str] = "host_memory"

    total_mib: int
    available_mib: int | None = None
    swap_total_mib: int | None = None
    swap_free_mib: int | None = None
    shared_mib: int | None = None
    """Shmem: /dev/shm and other tmpfs, pinned shared memory."""
    hugepages_mib: int | None = None
    """Set aside for huge pages, not usable otherwise."""
    available_percent: int | None = None


class CgroupMemory(Fact):
    """Memory limit of a control group and how often it was reached."""

    kind: ClassVar[str] = "cgroup_memory"

    unlimited: bool | None = None
    """None where the limit was not read."""
    limit_mib: int | None = None
    current_mib: int | None = None
    peak_mib: int | None = None
    oom_kills: int | None = None
    """Processes killed in it (memory.events oom_kill)."""
    at_limit: int | None = None
    """Times that it ran into the limit (`max` of memory.events, memory.failcnt)."""


class NumaNode(Fact):
    """One NUMA node, from numactl -H or lscpu."""

    kind: ClassVar[str] = "numa_node"

    node: int
    cpus: int | None = None
    """Processors on it."""
    list: str | None = None
    """Which: `0-15,64-79`."""
    memory_mib: int | None = None
    free_mib: int | None = None
    problem: Literal["no-memory", "none"] = "none"
    """`no-memory`: processors, and no memory. A node without processors is a device's and no fault."""


class NumaLayout(Fact):
    """All NUMA nodes together."""

    kind: ClassVar[str] = "numa_layout"

    nodes: int | None = None
    """With processors or memory; None where only the processors of processes were told."""
    without_memory: int | None = None
    """Nodes that have processors and no memory; None where sizes were not told (lscpu)."""
    balancing: bool | None = None
    """kernel.numa_balancing."""


class LoaderWorkers(Fact):
    """PyTorch's warning that its data loader begins more workers than its process has processors."""

    kind: ClassVar[str] = "loader_workers"

    wanted: int
    processors: int
    """Those that the process may use, by its affinity."""


class NumaBindingRefused(Fact):
    """A program was to be bound to NUMA nodes, and the kernel or libnuma refused."""

    kind: ClassVar[str] = "numa_binding_refused"

    text: str
    node: int | None = None
    permitted: bool = True
    """Not: for want of a permission, as in a container without CAP_SYS_NICE; the program may go on unbound."""


class CpuAffinity(Fact):
    """The processors that a process may use."""

    kind: ClassVar[str] = "cpu_affinity"

    cpus: int
    """How many."""
    list: str
    """`0-15,64-79`, however it was printed."""
    process: str | None = None
    """pid, or None for the shell."""
    memory_nodes: str | None = None
    """NUMA nodes it may take memory from."""
