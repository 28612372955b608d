"""Who holds the device files of GPUs, and which of them has lost its parent: fuser, lsof and ps.

    /dev/nvidia0:        alice     21877 F...m python
    python3 21877 alice  mem    CHR  195,0         578 /dev/nvidia0
    21877     1 Sl    02:11:40 python train.py --gpu 0

Follows `fuser -v` of psmisc 22 and 23, lsof 4 and ps of procps with the columns PID and PPID. nvidia-smi lists no
process of another PID namespace; these do. The services of the driver and of displays are left out. A table of ps
without a heading, and numbers without names, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu import GpuProcess
from kb.facts.processes import OrphanProcess

_FUSER = regex(
    r"(?:(?P<path>/dev/nvidia[\w-]{1,20}):)?\s{1,40}[\w.@$+-]{1,40}\s{1,20}(?P<pid>\d{1,10})\s[.cefFrmR]{5}\s(?P<name>\S.{0,60})$"
)
_LSOF = regex(
    r"(?P<name>\S{1,40})\s{1,20}(?P<pid>\d{1,10})\s.{0,80}?\s(?:mem|\d{1,7}[rwu]\S?)\s{1,12}CHR\s.{1,60}\s"
    r"/dev/nvidia(?:\d{1,3}|-uvm)\s*$"
)
_HEADING = regex(r"(?:UID |USER |F |S ){0,3}\s{0,20}(?=.{0,60}\bPID\b)(?=.{0,80}\bPPID\b)[A-Z%+ ]{8,200}$")
_NO_JOB = regex(r"(?:nvidia-|nv-|Xorg|X$|gnome|kwin|plasma|sddm|gdm|dcgm|nv-hostengine|systemd|nvidia_|kernel$)")
_MOST = 200


def read(section: Section) -> Iterator[Reading]:
    """GpuProcess for each process that holds a GPU's file, OrphanProcess for each whose parent is process 1."""
    holders: dict[int, tuple[str, int]] = {}
    path = ""
    for index, line in enumerate(section.lines):
        match = _FUSER.match(line[:200])
        if match is not None:
            path = match["path"] or path
            if not path:
                continue
        else:
            path = ""
            match = _LSOF.match(line[:MOST_COLUMNS])
        if match is not None and not _NO_JOB.match(match["name"]) and len(holders) < _MOST:
            holders.setdefault(int(match["pid"]), (match["name"].strip(), index))
    for pid, (name, index) in holders.items():
        yield section.observe(GpuProcess(pid=pid, name=name), index)
    if holders:
        yield section.looked(GpuProcess, complete=False, reason="not-collected")
    yield from _orphans(section)


def _orphans(section: Section) -> Iterator[Reading]:
    """The rows of a ps table whose column PPID is 1."""
    columns: list[str] = []
    found = 0
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if _HEADING.match(line):
            columns = line.split()
            continue
        words = line.split(None, len(columns) - 1) if columns else []
        if len(words) < len(columns) or not words:
            columns = []
            continue
        row = dict(zip(columns, words, strict=True))
        if row["PPID"] != "1" or not row["PID"].isdecimal() or found >= _MOST:
            continue
        found += 1
        yield section.observe(OrphanProcess(pid=int(row["PID"]), command=words[-1][:120]), index)
    if found:
        yield section.looked(OrphanProcess, complete=False, reason="not-collected")


READER = Reader(
    "device-holders",
    read,
    markers=("/dev/nvidia", " PPID"),
    commands=("fuser ", "lsof ", "ps "),
)
