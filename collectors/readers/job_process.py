"""A process from outside: its namespaces, the devices that it holds, its connections.

    /proc/4711/ns/ipc -> ipc:[4026532801]
    /proc/4711/fd/8 -> /dev/nvidia0
    SYN-SENT 0 1 10.0.0.2:41236 10.0.0.3:43210 users:(("python3",pid=4711,fd=13))

Follows proc(5), readlink and `ls -l` of it, and ss of iproute2 with `-p`. Connections of which no process is told,
and files other than devices, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.processes import JobProcess

_LEAD = r"(?:[l-][rwx-]{9}\S?\s.{5,80}?\s)?"
_NAMESPACE = regex(
    rf"{_LEAD}/proc/(?P<pid>\d{{1,10}})/ns/(?P<what>ipc|pid|net|mnt) -> '?(?P<value>[a-z]{{3}}:\[\d{{6,12}}\])"
)
_PROGRAM = regex(rf"{_LEAD}/proc/(?P<pid>\d{{1,10}})/exe -> '?(?P<path>/\S{{1,300}}?)(?: \(deleted\))?'?\s*$")
_DEVICE = regex(rf"{_LEAD}/proc/(?P<pid>\d{{1,10}})/fd/\d{{1,9}} -> '?/dev/nvidia(?P<what>\d{{1,3}}|-uvm)'?\s*$")
_SOCKET = regex(
    r"(?P<state>ESTAB|SYN-SENT)\s{1,12}\d{1,12}\s{1,12}\d{1,12}\s{1,40}\S{3,60}\s{1,40}(?P<peer>\S{3,60})\s{1,40}"
    r"users:\(\(\"[^\"]{1,64}\",pid=(?P<pid>\d{1,10}),"
)
_FIELDS = {"ipc": "ipc_namespace", "pid": "pid_namespace", "net": "net_namespace", "mnt": "mount_namespace"}
_MOST = 200


@dataclass
class _Process:
    """What is known of one process."""

    first: int
    last: int
    values: dict[str, str] = field(default_factory=dict)
    gpus: set[int] = field(default_factory=set)
    memory: bool = False
    devices_seen: bool = False
    peers: list[str] = field(default_factory=list)
    connections: int = 0


def read(section: Section) -> Iterator[Reading]:
    """JobProcess for each process of which something is told."""
    found: dict[int, _Process] = {}
    for index, whole in section.matching("/ns/", "/exe -> ", "/dev/nvidia", "pid="):
        line = whole[:600]
        for form in (_NAMESPACE, _PROGRAM, _DEVICE, _SOCKET):
            match = form.match(line)
            if match is None:
                continue
            pid = int(match["pid"])
            if pid in found or len(found) < _MOST:
                process = found.setdefault(pid, _Process(index, index))
                process.last = index
                _take(process, match.groupdict())
    for pid, process in found.items():
        yield section.observe(_fact(pid, process), process.first, process.last)
    if found:
        yield section.looked(JobProcess, complete=False, reason="not-collected")


def _take(process: _Process, told: dict[str, str | None]) -> None:
    if told.get("state") == "ESTAB":
        process.connections += 1
    elif told.get("state"):
        process.peers.append(told.get("peer") or "")
    elif path := told.get("path"):
        process.values["program"] = path
    elif value := told.get("value"):
        process.values[_FIELDS[told["what"] or ""]] = value
    elif what := told.get("what"):
        process.devices_seen = True
        if what == "-uvm":
            process.memory = True
        else:
            process.gpus.add(int(what))


def _fact(pid: int, process: _Process) -> JobProcess:
    has_sockets = process.connections > 0 or bool(process.peers)
    return JobProcess(
        pid=pid,
        **process.values,
        gpus=", ".join(map(str, sorted(process.gpus))) or None,
        memory_devices=process.memory if process.devices_seen else None,
        connecting_to=process.peers[0] if process.peers else None,
        connections=process.connections if has_sockets else None,
    )


READER = Reader("job-process", read, markers=("/ns/ipc -> ", "/ns/mnt -> ", "/fd/", "ESTAB ", "SYN-SENT "))
