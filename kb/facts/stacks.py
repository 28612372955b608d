"""Facts on where processes stand, and where they crashed: stacks of py-spy, gdb, faulthandler and the kernel."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

StackPlace: TypeAlias = Literal[
    "nccl-wait",
    "nccl-init",
    "rdma-setup",
    "cuda-sync",
    "cuda-init",
    "dataloader",
    "file-io",
    "compile",
    "build-lock",
    "lock",
    "store",
    "network",
    "queue",
    "gil",
    "driver",
    "other",
]


class ProcessStack(Fact):
    """The stack of one thread, or of several that are alike; the main thread where one is known."""

    kind: ClassVar[str] = "process_stack"

    where: StackPlace
    """What it is doing, judged by its innermost frames."""
    tool: Literal["py-spy", "faulthandler", "gdb", "kernel", "traceback"]
    pid: int | None = None
    """Of the first."""
    rank: str | None = None
    thread: str | None = None
    state: str | None = None
    """As printed: active, idle, active+gil; D, R, S from the kernel."""
    frames: str
    """Innermost first, functions only, `wait < get < _try_get_data`."""
    libraries: str | None = None
    """The shared libraries of these frames, innermost first: `libc.so.6, libnccl.so.2`."""
    operation: str | None = None
    """The collective or call that it stands in: all_reduce, broadcast, barrier, cudaStreamSynchronize."""
    count: int = 1
    """Threads alike."""


class CrashTrace(Fact):
    """The stack with which a process met a signal that ended it, as a debugger or a handler printed it."""

    kind: ClassVar[str] = "crash_trace"

    signal: Literal["SIGBUS", "SIGSEGV", "SIGILL", "SIGFPE"]
    tool: Literal["gdb", "coredump", "mpi", "ucx"]
    frames: str
    """Innermost first, functions with a name only, `ncclShmOpen < ncclProxyService`."""
    library: str | None = None
    """The shared library of the innermost frame that tells one, the C library aside: `libnccl-net.so`."""
    count: int = 1
    """Traces alike."""
