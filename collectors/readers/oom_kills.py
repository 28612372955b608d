"""Processes that were killed for want of host memory: by the kernel (machine, cgroup, NUMA nodes) or systemd-oomd.

    oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),…,oom_memcg=/docker/4f0c,task_memcg=/docker/4f0c,task=python3,…
    Memory cgroup out of memory: Killed process 1234 (python3) total-vm:204918204kB, anon-rss:126604128kB, …
    systemd-oomd[812]: Killed /user.slice/user-1000.slice/… due to memory pressure for /user.slice being 94.7% > 50.00%

Follows mm/oom_kill.c of Linux 3.10-6.14 and src/oom/oomd-manager.c of systemd 247-257. The invoker is not the
victim and is not told. One victim counts once, however many lines tell of it. Other lines give nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sum, Sums
from collectors.readers._kernel_events import LOG_MARKERS, BootId, KernelLog, LogLine
from collectors.readers._lines import is_quoted
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kernel import OomKill

Scope: TypeAlias = Literal["machine", "cgroup", "cpuset", "memory-policy", "oomd", "unknown"]

_CONSTRAINT = regex(
    r"oom-kill:constraint=CONSTRAINT_(?P<constraint>NONE|MEMCG|CPUSET|MEMORY_POLICY)\b(?P<rest>.{0,1500})"
)
_TASK = regex(r",task=(?P<process>.{1,40}?),pid=(?P<pid>\d{1,10})\b")
_CGROUP = regex(r",oom_memcg=(?P<cgroup>/[^,\s]{0,400})")
_KILLED = regex(
    r"(?P<scope>Memory cgroup out of memory: |Out of memory(?: \(oom_kill_allocating_task\))?: )?"
    r"Kill(?:ed)? process (?P<pid>\d{1,10})"
    r"(?: \((?P<process>[^)]{1,40})\)|, UID \d{1,10}, \((?P<late>[^)]{1,40})\))(?P<rest>.{0,400})"
)
_RSS = regex(r"\b(?P<kind>anon|shmem)-rss:(?P<kb>\d{1,15})kB")
_LIMIT = regex(r"memory: usage \d{1,15}kB, limit (?P<kb>\d{1,15})kB, failcnt \d{1,15}")
_REAPED = regex(r"oom_reaper: reaped process (?P<pid>\d{1,10}) \((?P<process>[^)]{1,40})\), now anon-rss:")
_OOMD = regex(
    r"systemd-oomd\[\d{1,10}\]: Killed (?P<cgroup>\S{1,400}) due to (?:memory pressure for|memory used|swap used)"
)
_SCOPES: dict[str, Scope] = {
    "NONE": "machine",
    "MEMCG": "cgroup",
    "CPUSET": "cpuset",
    "MEMORY_POLICY": "memory-policy",
}
_MARKERS = (
    *("oom-kill:constraint=", "Killed process ", "Kill process ", "memory: usage ", "oom_reaper: reaped"),
    "systemd-oomd[",
)
_KIB_OF_MIB = 1024
_UNLIMITED_KIB = 1 << 50
_LIMIT_LINES = 400
"""A list of the cgroup's processes may stand between its limit and the kill."""
_MOST_VICTIMS = 10_000


@dataclass
class _Log:
    """What has been read: the last limit, and the victims so far."""

    sums: Sums[tuple[str | None, Scope]]
    limit: tuple[int, int] | None = None
    victims: dict[tuple[BootId, int], Sum] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """OomKill for each victim's name and scope."""
    log = _Log(Sums(KernelLog(section)))
    for line in log.sums.log.lines(*_MARKERS):
        for pattern, take in _TAKERS:
            match = pattern.search(line.text)
            if match and (pattern is _OOMD or line.by_kernel(match.start())):
                take(log, line, match)
                break
    found = False
    for (process, scope), sum_ in log.sums:
        found = True
        fact = OomKill(
            process=process,
            pid=sum_.said.get("pid"),
            scope=scope,
            anon_rss_mib=sum_.said.get("anon"),
            shmem_rss_mib=sum_.said.get("shmem"),
            limit_mib=sum_.said.get("limit"),
            cgroup=sum_.said.get("cgroup"),
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
        )
        yield section.observe(fact, sum_.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, OomKill, whole=whole)


def _constraint(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    """Whose limit it was. The kernel names the victim here, and again when it kills it."""
    scope = _SCOPES[match["constraint"]]
    cgroup, task = _CGROUP.search(match["rest"]), _TASK.search(match["rest"])
    if task:
        named = (task["process"], scope, cgroup["cgroup"] if cgroup else None)
        _victim(log, line, match.start(), int(task["pid"]), named)


def _limit(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    """The limit of the cgroup that is about to lose a process."""
    log.limit = (line.index, int(match["kb"]))


def _killed(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    pid = int(match["pid"])
    prefix = match["scope"] or ""
    by_text: Scope = "cgroup" if prefix.startswith("Mem") else "machine" if prefix else "unknown"
    known = _victim(log, line, match.start(), pid, (match["process"] or match["late"], by_text, None))
    if known is not None:
        if known.said.get("pid") == pid:  # this line says more than the one before it
            known.index = line.index
        rss = {part["kind"]: int(part["kb"]) // _KIB_OF_MIB for part in _RSS.finditer(match["rest"])}
        if rss.get("anon", -1) > (known.said.get("anon") or -1):
            known.said.update(rss)


def _reaped(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    """The victim is gone; news only where the kill itself is not in the log."""
    _victim(log, line, match.start(), int(match["pid"]), (match["process"], "unknown", None))


def _victim(log: _Log, line: LogLine, start: int, pid: int, named: tuple[str, Scope, str | None]) -> Sum | None:
    """The sum that this victim counts in; it is added once, by the first line that tells of it."""
    known = log.victims.get((line.boot, pid))
    if known is not None or len(log.victims) >= _MOST_VICTIMS:
        return known
    process, scope, cgroup = named
    known = log.sums.add((process, scope), line, start)
    log.victims[line.boot, pid] = known
    known.said.setdefault("pid", pid)
    known.said.setdefault("cgroup", cgroup)
    if scope == "cgroup" and log.limit and line.index - log.limit[0] <= _LIMIT_LINES:
        known.said.setdefault("limit", log.limit[1] // _KIB_OF_MIB if log.limit[1] < _UNLIMITED_KIB else None)
    return known


def _oomd(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    lead = line.text[: match.start()]
    if not is_quoted(lead) and (
        line.given is not None or not lead.strip() or any(char.isdigit() for char in lead)
    ):
        sum_ = log.sums.add((None, "oomd"), line, match.start())
        sum_.said.setdefault("cgroup", match["cgroup"])


_TAKERS = ((_CONSTRAINT, _constraint), (_LIMIT, _limit), (_KILLED, _killed), (_REAPED, _reaped), (_OOMD, _oomd))

READER = Reader("oom-kills", read, markers=(*_MARKERS, *LOG_MARKERS), commands=_kernel_log.COMMANDS)
