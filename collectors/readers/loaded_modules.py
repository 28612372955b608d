"""Which kernel modules are loaded, and which of NVIDIA's are not: lsmod and /proc/modules.

    Module                  Size  Used by
    nvidia              56823808  1234 nvidia_uvm,nvidia_modeset
    nvidia_uvm 1540096 4 - Live 0xffffffffc1a2b000 (POE)

Follows lsmod(8) of kmod and kernel/module/procfs.c of Linux. Of the many modules only those that have to do with
GPUs and RDMA are told. A whole listing, or one that was searched for a word of their names, also says which of
NVIDIA's are missing. Other lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section, Source
from kb.facts.driver import KernelModule

_LEAST_ROWS = 10
"""A listing without a heading may be what somebody picked out of one."""

_HEADER = regex(r"\s{0,8}Module\s{2,40}Size\s{1,20}Used by\s*$")
_ROW = regex(
    r"\s{0,8}(?P<name>\w[\w-]{1,55})\s{1,60}\d{3,12}\s{1,20}-?\d{1,8}"
    r"(?:\s{1,4}(?:[\w,-]{1,400}|\[permanent\]\S{0,400}))?\s*$"
)
_PROC_ROW = regex(
    r"(?P<name>\w{2,56}) \d{3,12} -?\d{1,8} [\w,\[\]-]{1,1000} (?:Live|Loading|Unloading) 0x[0-9a-f]{1,16}"
)
_OF_INTEREST = regex(
    r"nvidia(?:_\w{1,20})?$|nouveau$|nova_\w{1,10}$|vfio_pci$|pci_stub$|nv_peer_mem$|gdrdrv$|ib_(?:umad|uverbs|core)$"
    r"|mlx5_(?:core|ib)$|efa$|irdma$"
)
_OURS = ("nvidia", "nvidia_uvm", "nvidia_peermem")
_FORMER = "nv_peer_mem"
"""What did the work of nvidia_peermem before driver 465; missed only where somebody looked for it."""
_SERVICE = regex(
    r"(?P<name>nv_peer_mem|nvidia[_-]peermem) (?:kernel )?module is (?P<state>not loaded|loaded)\.?\s*$"
)
"""What the service of that name says of itself."""
_SEARCHED = regex(
    r"(?:lsmod|cat /proc/modules)\s{0,4}\|\s{0,4}(?:e?grep|rg)(?: -[iEe]{1,4})* "
    r"(?P<quote>['\"]?)(?P<words>[\w|^()\\-]{2,120})(?P=quote)\s*$"
)
_LISTS = regex(r"(?:lsmod|cat /proc/modules)\s*(?:\|\s{0,4}(?:sort|less|more|cat|tee \S{1,100}))?$")
_PROMPTS = frozenset(("", "#", "$"))
"""Lines that hold nothing: the next prompt may be pasted with what came before it."""
_NOT_FOUND = regex(r".{0,60}(?:lsmod: (?:command )?not found|/proc/modules: \S)")


def read(section: Section) -> Iterator[Reading]:
    """KernelModule for each module of interest that is listed, and for those of NVIDIA that the listing lacks."""
    command = command_of(section)
    if any(_NOT_FOUND.match(line[:200]) for line in section.lines[:3]):
        return
    rows = dict(_rows(section, of_command=command.startswith(("lsmod", "cat /proc/modules"))))
    yield from _of_service(section)
    searched = _SEARCHED.match(command)
    if searched and not any(line.strip() not in _PROMPTS for line in section.lines):
        yield from _nothing_found(section, searched)
        return
    if not rows and not searched:
        return
    for name, index in rows.items():
        if _OF_INTEREST.match(name):
            yield section.observe(KernelModule(name=name, reported_by="lsmod"), index)
    selected = searched is not None or (bool(command) and _LISTS.match(command) is None)
    has_head = any(_HEADER.match(line[:200]) for _, line in section.matching("Used by"))
    whole = not selected and (has_head or len(rows) >= _LEAST_ROWS)
    for name in _looked_for(searched, whole=whole):
        if name not in rows:
            missing = KernelModule(name=name, loaded=False, reported_by="lsmod")
            yield section.observe(missing, min(rows.values(), default=0))
    yield section.looked(KernelModule, complete=whole, reason="not-collected")


def _of_service(section: Section) -> Iterator[Reading]:
    """What `service nv_peer_mem status` says."""
    for index, line in section.matching(" module is "):
        match = _SERVICE.match(line.strip()[:200])
        if match:
            loaded = match["state"] == "loaded"
            name = match["name"].replace("-", "_")
            yield section.observe(KernelModule(name=name, loaded=loaded, reported_by="other"), index)
            yield section.looked(KernelModule, complete=False, reason="not-collected")


def _nothing_found(section: Section, searched: re.Match[str]) -> Iterator[Reading]:
    """That a search printed nothing; the line of the command stands for what is not there."""
    line = section.first_line - 1
    source = Source(section.path, line, line, f"$ {section.command}", section.sha256)
    for name in _looked_for(searched, whole=False):
        yield Observed(KernelModule(name=name, loaded=False, reported_by="lsmod"), source)
    yield section.looked(KernelModule, complete=False, reason="not-collected")


def _rows(section: Section, *, of_command: bool) -> Iterator[tuple[str, int]]:
    """The names in the listings, each with its line, the last of each name."""
    inside = of_command
    for index, line in enumerate(section.lines):
        if _HEADER.match(line[:200]):
            inside = True
            continue
        row = (_ROW.match(line[:MOST_COLUMNS]) if inside else None) or _PROC_ROW.match(line[:MOST_COLUMNS])
        inside = of_command or (inside and row is not None)
        if row:
            yield row["name"].replace("-", "_"), index


def _looked_for(searched: re.Match[str] | None, *, whole: bool) -> tuple[str, ...]:
    """NVIDIA's modules that a listing would show if they were loaded."""
    if whole:
        return _OURS
    if searched is None:
        return ()
    anchored = searched["words"].startswith("^")
    words = [word.lower() for word in re.findall(r"[\w-]+", searched["words"])]
    ours = (*_OURS, _FORMER) if any(word.startswith("nv_peer") for word in words) else _OURS
    return tuple(
        name for name in ours if any(name.startswith(word) if anchored else word in name for word in words)
    )


READER = Reader(
    "loaded-modules",
    read,
    markers=("Used by", " Live 0x", " module is not loaded", " module is loaded"),
    commands=("lsmod", "/sbin/lsmod", "/usr/sbin/lsmod", "cat /proc/modules", "service nv_peer_mem"),
)
