"""Facts on services of systemd and on jobs and nodes of Slurm."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from kb.facts.base import Fact

SlurmClass: TypeAlias = Literal[
    "gres-missing",
    "gres-request",
    "gres-config",
    "step-create",
    "allocation",
    "time-limit",
    "preempted",
    "node-failure",
    "oom",
    "cancelled",
    "communication",
    "mpi-plugin",
    "prolog",
    "launch",
    "other",
]


class Service(Fact):
    """A service as systemctl shows it."""

    kind: ClassVar[str] = "service"

    name: str
    """Without `.service`."""
    active: Literal["active", "inactive", "failed", "activating", "deactivating", "reloading", "unknown"] = (
        "unknown"
    )
    installed: bool | None = None
    """False where systemd knows no such unit."""
    sub: str | None = None
    """running, exited, dead, auto-restart."""
    enabled: str | None = None
    """enabled, disabled, static, masked."""
    exit_code: int | None = None
    """Of its main or control process."""
    result: str | None = None
    """As systemd names it: exit-code, signal, timeout, core-dump, oom-kill."""
    since: str | None = None
    """As printed."""


class SlurmJob(Fact):
    """One job, from scontrol show job or sacct."""

    kind: ClassVar[str] = "slurm_job"

    job: str
    state: str
    """RUNNING, FAILED, OUT_OF_MEMORY, NODE_FAIL, TIMEOUT, PENDING, CANCELLED."""
    reason: str | None = None
    """As printed; None for `None`."""
    exit_code: int | None = None
    signal: int | None = None
    nodes: int | None = None
    tasks: int | None = None
    gpus: int | None = None
    """Of the whole job."""


class SlurmNode(Fact):
    """One node, from scontrol show node or sinfo; nodes alike in sinfo together."""

    kind: ClassVar[str] = "slurm_node"

    name: str
    state: str
    """Base state in capitals: IDLE, ALLOCATED, MIXED, DOWN."""
    drained: bool = False
    invalid: bool = False
    """Registered with less than configured (INVALID_REG, inval)."""
    responding: bool | None = None
    gpus: int | None = None
    """Configured."""
    reason: str | None = None


class SlurmError(Fact):
    """Errors of srun, sbatch, slurmd or slurmstepd, all of one class together."""

    kind: ClassVar[str] = "slurm_error"

    class_: SlurmClass = Field(alias="class", default="other")
    program: str
    """srun, sbatch, salloc, slurmd, slurmstepd, slurmctld."""
    node: str | None = None
    text: str
    count: int = 1


class UnitKilled(Fact):
    """A service of a user's own whose main process a signal ended, as systemd logged it."""

    kind: ClassVar[str] = "unit_killed"

    name: str
    """Without `.service`."""
    signal: Literal["KILL", "SEGV", "BUS", "ABRT", "ILL", "FPE"]
    host: str | None = None
    """As the journal names it."""
    time: str | None = None
    """As printed."""
