"""Facts on work that takes its time: what shows that it goes on, and locks of builds that do not."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

Activity: TypeAlias = Literal[
    "load", "download", "compile", "capture", "preprocess", "train", "save", "extension-build", "lock-wait",
    "other",
]  # fmt: skip


class Progress(Fact):
    """One activity of one rank, from its bars or lines; every bar of one name together, of the last run."""

    kind: ClassVar[str] = "progress"

    activity: Activity
    """`preprocess`: of data; `compile`: of kernels, autotuning too; `save`: of a checkpoint; `other`: a bar that
    names nothing known."""
    what: str
    """The bar's own words, or the thing that is built: `Loading checkpoint shards`, `cpu_adam`."""
    rank: str | None = None
    """As tagged; None for bars, which one process draws for all."""
    first_percent: int | None = None
    last_percent: int | None = None
    done: str | None = None
    """Count and total as last printed, `11/30`."""
    rate: str | None = None
    """As last printed, `41.59 examples/s`."""
    elapsed_s: int | None = None
    remaining_s: int | None = None
    """As the bar itself last estimated."""
    state: Literal["begun", "advancing", "finished"]
    """`begun`: nothing of it was done yet when last seen, or no line tells whether it moves."""


class BuildLock(Fact):
    """A lock file beside a compiled extension or kernel, as a listing shows it."""

    kind: ClassVar[str] = "build_lock"

    path: str
    module: str
    """What is built there, `cpu_adam`."""
    modified: str | None = None
    """As listed."""


class BuildProcesses(Fact):
    """How many compiler processes run, as a listing of processes that asks for them shows."""

    kind: ClassVar[str] = "build_processes"

    count: int


class StaleLock(Fact):
    """A build lock that no running build holds: it is older than the run, or no compiler runs."""

    kind: ClassVar[str] = "stale_lock"

    path: str
    module: str
    older_by_s: int | None = None
    """How much older than the first stamp of the run that waits."""
    compilers_running: int | None = None
    """None where nobody looked."""


class LongWork(Fact):
    """Visible work that took longer than others may wait, or was still going on when they gave up. Combined."""

    kind: ClassVar[str] = "long_work"

    activity: Activity
    what: str
    rank: str | None = None
    done: str | None = None
    """As last printed, `11/30`."""
    elapsed_s: int
    remaining_s: int | None = None
    limit_s: int
    """The shortest wait that ended in a time-out."""
