"""Tasks that sleep without end and CPUs that do not schedule, from the kernel log.

    INFO: task python3:1234 blocked for more than 120 seconds.
    watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:1234]
    rcu: INFO: rcu_sched self-detected stall on CPU

Follows kernel/{hung_task.c,watchdog.c,rcu/tree_stall.h} of Linux 3.10-6.14. Where a task waits is the first module
in the stack that follows, or what its functions are known to belong to. A process that spins on a GPU gives no
such line. Other lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog, LogLine
from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kernel import CpuLockup, HungTask

Lockup: TypeAlias = Literal["soft", "hard", "rcu-stall"]

_HUNG = regex(
    r"INFO: task (?P<process>\S.{0,40}?):(?P<pid>\d{1,10}) blocked (?:in I/O wait )?"
    r"for more than (?P<seconds>\d{1,8}) seconds"
)
_LOCKUPS: tuple[tuple[re.Pattern[str], Lockup], ...] = (
    (
        regex(
            r"(?:(?:NMI )?watchdog: )?BUG: soft lockup - CPU#\d{1,5} stuck for (?P<seconds>\d{1,8})s! "
            r"\[(?P<process>.{1,40}?):\d{1,10}\]"
        ),
        "soft",
    ),
    (regex(r"(?:NMI )?watchdog: Watchdog detected hard LOCKUP on cpu \d{1,5}"), "hard"),
    (
        regex(
            r"(?:rcu: )?INFO: rcu_\w{1,20} (?:self-detected stall on CPU|detected (?:expedited )?stalls on CPUs)"
        ),
        "rcu-stall",
    ),
)
_FRAME = regex(
    r"\s(?P<function>[A-Za-z_][\w.]{1,80})\+0x[0-9a-f]{1,8}/0x[0-9a-f]{1,8}(?: \[(?P<module>\w{2,40})\])?"
)
_SUBSYSTEMS = (
    ("nfs", ("nfs", "rpc_wait", "rpc_", "nfs4_")),
    ("ext4", ("ext4_", "jbd2_")),
    ("xfs", ("xfs_",)),
    ("btrfs", ("btrfs_",)),
    ("fuse", ("fuse_", "request_wait_answer")),
    ("nvme", ("nvme_",)),
    ("block", ("blk_", "io_schedule", "wbt_wait")),
)
"""What built-in functions belong to; the first frames of every stack are the scheduler's."""
_STACK_LINES = 60


def read(section: Section) -> Iterator[Reading]:
    """HungTask for each name and place, CpuLockup for each kind and process."""
    log = KernelLog(section)
    hung: Sums[tuple[str, str | None]] = Sums(log)
    lockups: Sums[tuple[Lockup, str | None]] = Sums(log)
    for line in log.lines("INFO: task ", "soft lockup - CPU#", "hard LOCKUP on cpu", "INFO: rcu_"):
        match = _HUNG.search(line.text)
        if match and line.by_kernel(match.start()):
            place = _place(section, line)
            sum_ = hung.add((match["process"], place), line, match.start())
            sum_.said.setdefault("pid", int(match["pid"]))
            sum_.said["seconds"] = max(sum_.said.get("seconds", 0), int(match["seconds"]))
        elif match is None:
            _lockup(lockups, line)
    facts = [*_hung_tasks(hung), *_lockups(lockups)]
    for fact, index in facts:
        yield section.observe(fact, index)
    whole = _kernel_log.is_whole(section)
    if whole or facts or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, HungTask, whole=whole)
        yield _kernel_log.looked(section, CpuLockup, whole=whole)


def _lockup(lockups: Sums[tuple[Lockup, str | None]], line: LogLine) -> None:
    for pattern, kind in _LOCKUPS:
        match = pattern.search(line.text)
        if match and line.by_kernel(match.start()):
            named = match.groupdict()
            sum_ = lockups.add((kind, named.get("process")), line, match.start())
            if named.get("seconds"):
                sum_.said["seconds"] = max(sum_.said.get("seconds", 0), int(named["seconds"]))
            return


def _place(section: Section, line: LogLine) -> str | None:
    """The module, or the part of the kernel, in which the task of this line waits."""
    builtin: str | None = None
    for text in section.lines[line.index + 1 : line.index + 1 + _STACK_LINES]:
        if "INFO: task " in text:
            break
        for frame in _FRAME.finditer(text[:MOST_COLUMNS]):
            if frame["module"]:
                return frame["module"]
            builtin = builtin or _subsystem(frame["function"])
    return builtin


def _subsystem(function: str) -> str | None:
    return next((name for name, starts in _SUBSYSTEMS if function.startswith(starts)), None)


def _hung_tasks(hung: Sums[tuple[str, str | None]]) -> Iterator[tuple[HungTask | CpuLockup, int]]:
    for (process, place), sum_ in hung:
        fact = HungTask(
            process=process,
            pid=sum_.said["pid"],
            waits_in=place,
            seconds=sum_.said["seconds"],
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
        )
        yield fact, sum_.index


def _lockups(lockups: Sums[tuple[Lockup, str | None]]) -> Iterator[tuple[HungTask | CpuLockup, int]]:
    for (kind, process), sum_ in lockups:
        fact = CpuLockup(
            lockup=kind,
            process=process,
            seconds=sum_.said.get("seconds"),
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
        )
        yield fact, sum_.index


READER = Reader(
    "stuck-tasks",
    read,
    markers=("blocked for more than", "soft lockup - CPU#", "hard LOCKUP on cpu", "INFO: rcu_", *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
    context=(0, _STACK_LINES),
)
