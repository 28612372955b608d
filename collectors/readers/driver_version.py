"""The loaded NVIDIA kernel module as /proc, /sys and the kernel log name it.

    NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.77  Release Build  (root@host)  Wed Nov 27 …
    NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.113.01  Tue Sep 12 19:41:24 UTC 2023
    [    7.371320] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.113.01  Tue Sep 12 19:41:24 UTC 2023

Follows nv-procfs.c and the version strings of NVIDIA/open-gpu-kernel-modules 515-595. In a container these name
the module of the host, which is the one that counts. A line that does not fit gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._lines import MOST_COLUMNS, VERSION, command_of, is_lead, says_no_file
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.driver import KernelModule

_NAMED = regex(
    r"(?P<what>NVRM version|NVRM: loading):?\s{1,8}NVIDIA UNIX\s{1,8}"
    r"(?:(?P<open>Open) Kernel Module for \S{1,20}|\S{1,20} Kernel Module)\s{1,8}"
    rf"(?P<version>{VERSION})(?!\S)"
)
_GREPPED = regex(r"/proc/driver/nvidia/version:$")
_UNLOADED = regex(r"nvidia-nvlink: Unregistered (?:the )?Nvlink Core")
_UVM = regex(r"nvidia-uvm: (?:(?P<loaded>Loaded the UVM driver)|Unloaded the UVM driver)")
_SEPARATOR = "________"
_INSTALLER_LOG = ("nvidia-installer log file", _SEPARATOR)
_FILE = regex(r"/(?:proc/driver/nvidia(?:/\.)?|sys/module/nvidia)/version\b")
_FILE_ERROR = regex(
    r"(?:\*\*\* |[a-z]{2,8}: (?:cannot (?:open|access) )?)[^\w/\s]?"
    r"/(?:proc/driver/nvidia(?:/\.)?|sys/module/nvidia)/version[^\w/\s]?(?: for reading)?"
    r"[: ]{1,2}(?P<says>[^:=]{5,80})$"
)
_SYSFS = regex(r"/sys/module/(nvidia\w{0,20})/version")
_SUM = regex(r"/sys/module/(?P<name>nvidia\w{0,20})/srcversion:(?P<sum>[0-9A-F]{8,40})\s*$")
_SYSFS_LINE = regex(rf"(?:/sys/module/(?P<name>nvidia\w{{0,20}})/version:)?(?P<version>{VERSION})\s*$")


def read(section: Section) -> Iterator[Reading]:
    """KernelModule from each source that names one; the last load of a kernel log stands for all."""
    found = [*_named(section), *_from_sysfs(section)]
    yield from found
    logged = _last_load(section)
    if logged:
        yield logged
    yield from _memory_module(section)
    yield from _looked(section, found=bool(found), logged=logged is not None)


def _flavour(match: re.Match[str]) -> Literal["open", "proprietary"]:
    return "open" if match["open"] else "proprietary"


def _named(section: Section) -> Iterator[Observed]:
    """What /proc/driver/nvidia/version says, each answer once."""
    seen: set[KernelModule] = set()
    for index, line in section.matching("NVRM version"):
        match = _NAMED.search(line[:MOST_COLUMNS])
        if match is None or match["what"] != "NVRM version":
            continue
        lead = line[: match.start()]
        fact = KernelModule(version=match["version"], flavour=_flavour(match), reported_by="procfs")
        if fact not in seen and (is_lead(lead) or _GREPPED.search(lead[-200:])):
            seen.add(fact)
            yield section.observe(fact, index)


def _from_sysfs(section: Section) -> Iterator[Observed]:
    """What /sys/module/nvidia*/version says: `path:version`, or a bare version that a known `cat` printed."""
    asked = set(_SYSFS.findall(command_of(section)))
    bare = next(iter(asked)) if len(asked) == 1 else None
    for index, line in section.matching("/sys/module/nvidia") if bare is None else enumerate(section.lines):
        match = _SYSFS_LINE.match(line.strip()[:200])
        name = match and (match["name"] or bare)
        if match and name:
            fact = KernelModule(name=name, version=match["version"], reported_by="sysfs")
            yield section.observe(fact, index)
            continue
        summed = _SUM.match(line.strip()[:200])
        if summed:
            fact = KernelModule(name=summed["name"], sum=summed["sum"], reported_by="sysfs")
            yield section.observe(fact, index)


def _last_load(section: Section) -> Observed | None:
    """The last load in a kernel log, marked as not loaded where the log goes on to say that it went again."""
    last: tuple[int, re.Match[str]] | None = None
    loaded, is_installer_log = True, False
    for index, line in section.matching("NVRM: loading", "nvidia-nvlink: Unregistered", *_INSTALLER_LOG):
        if line.startswith(_INSTALLER_LOG):
            is_installer_log = not line.startswith(_SEPARATOR)
        if is_installer_log:  # it quotes the kernel's messages of the day of the installation
            continue
        match = _NAMED.search(line[:MOST_COLUMNS])
        if match and match["what"] == "NVRM: loading" and is_lead(line[: match.start()]):
            last, loaded = (index, match), True
        elif last and _UNLOADED.search(line[:MOST_COLUMNS]):
            loaded = False
    if last is None:
        return None
    index, match = last
    fact = KernelModule(version=match["version"], flavour=_flavour(match), loaded=loaded, reported_by="kernel-log")
    return section.observe(fact, index)


def _memory_module(section: Section) -> Iterator[Observed]:
    """The last load of nvidia-uvm in a kernel log, where that does not go on to say that it went again."""
    last: int | None = None
    for index, line in section.matching("nvidia-uvm: ", "nvidia-nvlink: Unregistered"):
        match = _UVM.search(line[:MOST_COLUMNS])
        if match and is_lead(line[: match.start()]):
            last = index if match["loaded"] else None
        elif _UNLOADED.search(line[:MOST_COLUMNS]):
            last = None
    if last is not None:
        yield section.observe(KernelModule(name="nvidia_uvm", reported_by="kernel-log"), last)


def _looked(section: Section, *, found: bool, logged: bool) -> Iterator[Reading]:
    """What the search proves: a file that is not there says that no module is loaded, a log alone does not."""
    if found:
        yield section.looked(KernelModule)
        return
    for index, line in section.matching("/version"):
        match = _FILE_ERROR.match(line.strip()[:300])
        if match:
            if says_no_file(match["says"]):
                yield section.observe(KernelModule(loaded=False, reported_by="procfs"), index)
                yield section.looked(KernelModule)
            else:
                yield section.looked(KernelModule, complete=False, reason="no-permission")
            return
    if logged or _FILE.search(command_of(section)):
        yield section.looked(KernelModule, complete=False, reason="not-collected")


READER = Reader(
    "driver-version",
    read,
    markers=(
        "NVRM version",
        "NVRM: loading NVIDIA",
        "nvidia-uvm: ",
        "/proc/driver/nvidia/version",
        "/sys/module/nvidia",
    ),
    commands=(
        "cat /proc/driver/nvidia/version",
        "cat /sys/module/nvidia",
        "head -1 /proc/driver/nvidia/version",
        "grep . /sys/module/nvidia",
    ),
)
