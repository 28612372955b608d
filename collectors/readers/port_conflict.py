"""Servers that could not listen because the address was in use: torch's store, uvicorn, Docker, NCCL.

    [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).
    ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use
    torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address.

Follows PyTorch 1.8 to 2.14 (c10d/socket.cpp), CPython's asyncio, Go's net package. Where a program says that it
goes on with another port, or NCCL says it under INFO, there is no conflict. A cut line gives what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import clipped
from collectors.readers.run_start import RUN_MARKERS, START_MARKERS, of_last_run, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.framework import PortConflict

_HOST = r"(?P<address>\[[0-9a-fA-F:.]{2,45}\]|[\w.-]{1,253})"
_FORMS = tuple(
    regex(form)
    for form in (
        r"has failed to listen on any local network address\. port: (?P<port>\d{1,5}).{0,80}EADDRINUSE",
        rf"server socket has failed to bind to {_HOST}:(?P<port>\d{{1,5}}) \(errno: 98\b",
        r"bind on address \(['\"](?P<address>[^'\"]{0,64})['\"], (?P<port>\d{1,5})[^)]{0,20}\): .{0,12}address",
        rf"listen (?:tcp|udp)[46]? {_HOST}?:(?P<port>\d{{1,5}}): bind: address already in use",
        r"\[Errno 98\] [Aa]ddress already in use: \('(?P<address>[^']{0,64})', (?P<port>\d{1,5})\)",
        r"(?:OSError|error): \[Errno 98\] [Aa]ddress already in use",
        r"has failed to listen on any local network address.{0,400}EADDRINUSE",
        r"RuntimeError: (?:.{0,80}: )?Address already in use|EADDRINUSE: address already in use",
        r"[Aa]ddress already in use \(os error 98\)",
        r"NCCL WARN Call to bind failed ?: Address already in use",
        r"distributed communication on port `(?P<port>\d{1,5})`, but another process is utilizing it",
        r"ZMQError: Address (?:already )?in use \(addr='tcp://(?P<address>[^'/]{0,200}):(?P<port>\d{1,5})'\)",
        r"ZMQError: Address (?:already )?in use(?: \(addr='ipc://(?P<address>[^']{1,200})'\))?",
        r"Ray component \w{1,40} is trying to use a port number (?P<port>\d{1,5}) that is used by oth",
        r"Ray is trying to start at (?P<address>[\w.-]{1,200}):(?P<port>\d{1,5}), but is already running",
        r"listen unix (?P<address>[/@]\S{1,200}): bind: address already in use",
        r"OSError: (?:\[Errno 98\] )?Address '(?P<address>[^']{1,200})' is already in use",
        r"bind\(\) to (?:unix:)?(?P<address>/\S{1,200}|[\w.\[\]:]{1,60}):(?P<port>\d{1,5}) failed \(98: ",
        r"bind\(\) to unix:(?P<address>/\S{1,200}) failed \(98: ",
        r"[Cc]ould not bind to port (?P<port>\d{1,5}), it was already in use",
        r"(?:Error|error|ERROR).{0,40}[Pp]ort (?P<port>\d{1,5}) is (?:already )?in use",
        r"(?:Error|error|ERROR).{0,160}\b[Pp]orts? .{0,80}(?:is|are) already (?:in use|occupied)",
    )
)
_WORDS = (
    *("ddress already in use", "EADDRINUSE", "in use", "errno: 98", "another process is utilizing it"),
    *("used by other components", "but is already running", "already occupied", "failed (98: "),
)
_MARKERS = (
    *("ddress already in use", "EADDRINUSE", "is already in use", "another process is utilizing it"),
    *("are already in use", "used by other components", "but is already running", "ddress in use", "failed (98: "),
)
_GOES_ON = ("trying port", "trying next", "trying another", "using port", "NCCL INFO")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each port of the last run; a form that names no port is left out where another names one."""
    conflicts: dict[int, PortConflict] = {}
    for index, whole in section.matching(*_WORDS):
        line = clipped(whole)
        if any(words in line for words in _GOES_ON):
            continue
        match = next((match for form in _FORMS if (match := form.search(line))), None)
        if match is not None:
            parts = match.groupdict()
            port = int(parts["port"]) if parts.get("port") else None
            address = (parts.get("address") or "").strip("[]") or None
            conflicts[index] = PortConflict(port=port, address=address)
    found: dict[int | None, tuple[PortConflict, int]] = {}
    for index in sorted(of_last_run(section, conflicts)):
        found.setdefault(conflicts[index].port, (conflicts[index], index))
    for port, (fact, index) in found.items():
        if port is not None or len(found) == 1:
            yield section.observe(fact, index)
    whole_run = shows_start(section)
    if found or whole_run:
        yield section.looked(PortConflict, complete=whole_run)


READER = Reader(
    "port-conflict",
    read,
    markers=(*_MARKERS, *START_MARKERS),
    lines=(*_MARKERS, *RUN_MARKERS),
)
