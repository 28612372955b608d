"""The kernel module refused clients of another release: `NVRM: API mismatch`, as far as it still holds.

    NVRM: API mismatch: the client has the version 565.57.01, but
    NVRM: this kernel module has the version 560.35.03.  Please
    NVRM: API mismatch: the client 'nvidia-smi' (pid 1234)

Follows src/nvidia/arch/nvalloc/unix/src/osapi.c of NVIDIA/open-gpu-kernel-modules (four lines up to 570, five
from 575.51), as dmesg, the journal and rsyslog (`#012` for line ends) show it. Sets of lines may be torn into each
other; a set without its end gives nothing. What was said of a module that a later load in the same log replaced is
history and not told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers import _kernel_log
from collectors.readers._lines import MOST_COLUMNS, is_lead
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.driver import ApiMismatch

_RELEASE = r"(\d{2,4}(?:\.\d{1,4}){1,3})"
_START = regex(r"API mismatch: the client\b")
_CLIENT = regex(r"API mismatch: the client '([^']{1,40})' \(pid \d{1,10}\)")
_CLIENT_RELEASE = regex(rf"(?:^|client |\) )has the version {_RELEASE}, but\b")
_MODULE_RELEASE = regex(rf"(?:^|module has )(?:the )?version {_RELEASE}\.(?:\s|$)")
_LOADED = regex(rf"NVRM: loading NVIDIA UNIX .{{5,60}}?  {_RELEASE}(?!\S)")
_NVSWITCH = regex(rf"nvidia-nvswitch\d?: Version mismatch, kernel version {_RELEASE} user version {_RELEASE}")
_MOST_LINES_APART = 40
_MOST_KINDS = 64


@dataclass
class _Set:
    """One set of lines, as far as it has come."""

    start: int
    client: str | None = None
    client_version: str | None = None


@dataclass
class _Sum:
    """All complete sets that say the same."""

    start: int
    end: int
    last: int = 0
    count: int = 0


@dataclass
class _Log:
    """What has been read: sets that wait for their end, sums, and the last load of a module."""

    open: list[_Set] = field(default_factory=list)
    sums: dict[tuple[str, str, str | None], _Sum] = field(default_factory=dict)
    load: tuple[int, str] | None = None


def read(section: Section) -> Iterator[Reading]:
    """ApiMismatch for each pair of versions and client program."""
    log = _Log()
    for index, line in section.matching("NVRM:", "nvidia-nvswitch"):
        _note(log, index, line[:MOST_COLUMNS])
    for (client_version, module_version, client), sum_ in log.sums.items():
        if log.load and log.load[0] > sum_.last and log.load[1] != module_version:
            continue
        fact = ApiMismatch(
            client_version=client_version, module_version=module_version, client=client, count=sum_.count
        )
        yield section.observe(fact, sum_.start, sum_.end)
    whole = _kernel_log.is_whole(section)
    if whole or log.sums or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, ApiMismatch, whole=whole)


def _note(log: _Log, index: int, line: str) -> None:
    loaded = _LOADED.search(line)
    if loaded and is_lead(line[: loaded.start()]):
        log.load = (index, loaded[1])
        return
    switch = _NVSWITCH.search(line)
    if switch:
        _add(log, _Set(index, "nvidia-nvswitch", switch[2]), index, switch[1])
        return
    lead, *parts = line.split("NVRM: ")
    if not parts or not is_lead(lead):
        return
    for part in parts:
        _note_part(log, index, part.split("#012", 1)[0].strip())


def _note_part(log: _Log, index: int, text: str) -> None:
    """One line of a set, without its prefix. It belongs to the oldest set that still wants such a line."""
    if _START.match(text):
        log.open = [one for one in log.open if index - one.start < _MOST_LINES_APART][-16:]
        named = _CLIENT.match(text)
        log.open.append(_Set(index, named[1] if named else None))
    client = _CLIENT_RELEASE.search(text)
    if client:
        waiting = next((one for one in log.open if one.client_version is None), None)
        if waiting:
            waiting.client_version = client[1]
    module = _MODULE_RELEASE.search(text)
    if module:
        complete = next((one for one in log.open if one.client_version is not None), None)
        if complete:
            log.open.remove(complete)
            _add(log, complete, index, module[1])


def _add(log: _Log, complete: _Set, index: int, module_version: str) -> None:
    key = (complete.client_version or "", module_version, complete.client)
    if key in log.sums or len(log.sums) < _MOST_KINDS:
        sum_ = log.sums.setdefault(key, _Sum(complete.start, index))
        sum_.count += 1
        sum_.last = index


READER = Reader(
    "api-mismatch",
    read,
    markers=("API mismatch", "nvswitch: Version mismatch", *_kernel_log.BOOT_MARKERS),
    commands=_kernel_log.COMMANDS,
)
