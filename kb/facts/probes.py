"""Facts from the probes of this program: how each ended, and what checked sums over all GPUs came to."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

ProbeOutcome: TypeAlias = Literal[
    "completed",
    "hung",
    "crashed",
    "failed",
    "out-of-time",
    "interrupted",
    "unfinished",
    "cannot",
    "refused",
]


class ProbeRun(Fact):
    """One run of a probe, and where it stopped if it did not get to its end."""

    kind: ClassVar[str] = "probe_run"

    probe: str
    """p2p, staged, allreduce, allreduce-p2p-off, nccl-init, cuinit, shm, network."""
    outcome: ProbeOutcome
    """`hung`: a step did not end in its time. `unfinished`: its journal just ends, as where the machine stopped or
    the collector was killed. `cannot`: the machine or its Python lacks what it needs. `refused`: others held the
    GPUs."""
    step: str | None = None
    """The step that was under way: copy, kernel, ipc-read, init, allreduce, cuInit …"""
    src: int | None = None
    """Of the pair of GPUs that the step was about."""
    dst: int | None = None
    rank: int | None = None
    size_bytes: int | None = None
    why: str | None = None
    """In its own words: an error, or in which function of the kernel it waited."""


class CollectiveCheck(Fact):
    """All-reduces of the probe over all GPUs of one machine, whose sums were checked exactly."""

    kind: ClassVar[str] = "collective_check"

    direct: bool
    """NCCL was free to copy between peers; else NCCL_P2P_DISABLE=1 was set."""
    data: Literal["right", "wrong", "hung", "failed"]
    """`failed`: a rank ended before its time, or reported an error."""
    ranks: int
    wrong: int | None = None
    """Most wrong elements of one rank."""
    first_wrong: int | None = None
    """Offset in elements."""
    busbw_gbps: float | None = None
    """Of the largest size, as the slowest rank measured it. Not judged."""
