"""Which processes hold the device files of GPUs open, from fuser and lsof, and which have lost their parent.

    /dev/nvidia0:        user      20571 F...m python3
                         user      20572 F...m python3
    /dev/nvidia1:        20571m 20573m
    python3  20571 user  mem    CHR  195,0           520 /dev/nvidia0
    20571       1 Sl   Sun Feb 21 18:02:11 2021 /usr/bin/python3 -u tools/train.py

Follows fuser of psmisc 22 to 23, lsof 4.8 to 4.99, and ps of procps with the columns PID and PPID. Other devices
give nothing, nor do rows of ps whose parent is not 1 or that are no Python or MPI: init is every daemon's parent.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.processes import DeviceHolder, OrphanProcess

_DEVICE = regex(r"/dev/(?P<device>nvidia(?P<gpu>\d{1,3})|\S{1,60}):(?P<rest>.{0,400})$")
_ROW = regex(
    r"\s{1,40}(?P<user>[\w.@+-]{1,40})\s{1,20}(?P<pid>\d{1,10}) (?P<access>[F.cefrm]{3,6}) (?P<program>\S.{0,60})$"
)
_PLAIN = regex(r"(?:\s{1,10}\d{1,10}[cefFrm]{0,5}){1,200}\s*$")
_PID = regex(r"(\d{1,10})[cefFrm]{0,5}(?=\s|$)")
_LSOF = regex(
    r"(?P<program>\S{1,40})\s{1,20}(?P<pid>\d{1,10})\s{1,20}(?:\d{1,10}\s{1,20})?(?P<user>[\w.@+-]{1,40})\s{1,10}"
    r"(?:mem|\d{1,6}[urwUN]?)\s{1,10}CHR\s{1,20}195,\d{1,3}\s.{0,40}/dev/nvidia(?P<gpu>\d{1,3})\s*$"
)
_HEADING = regex(r"(?=.{0,200}\bPID\b)(?=.{0,200}\bPPID\b)(?=.{0,200}\b(?:CMD|COMMAND)\s*$)[A-Z%+ ]{8,200}$")
_OF_A_JOB = regex(
    r"(?:\S{0,200}/)?(?:python[\d.]{0,5}|pt_main_thread|torchrun|mpirun|ray::\w{1,60}|tritonserver)(?:\s|$)"
)
_MOST = 256


def read(section: Section) -> Iterator[Reading]:
    """DeviceHolder for each process and GPU, OrphanProcess for each process of a job whose parent is init."""
    holders = dict.fromkeys(_of_lsof(section))
    holders.update(dict.fromkeys(_of_fuser(section)))
    seen: set[tuple[int, int]] = set()
    for fact, index in holders:
        if (fact.gpu, fact.pid) not in seen and len(seen) < _MOST:
            seen.add((fact.gpu, fact.pid))
            yield section.observe(fact, index)
    orphans = list(_orphans(section))
    for orphan, index in orphans[:_MOST]:
        yield section.observe(orphan, index)
    if seen:
        yield section.looked(DeviceHolder, complete=False, reason="not-collected")
    if orphans:
        yield section.looked(OrphanProcess, complete=False, reason="not-collected")


def _of_fuser(section: Section) -> Iterator[tuple[DeviceHolder, int]]:
    """The table of `fuser -v`, and the bare numbers of `fuser`."""
    if not section.has("/dev/nvidia"):
        return
    gpu: int | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        device = _DEVICE.match(line)
        rest = device["rest"] if device else line
        if device:
            gpu = int(device["gpu"]) if device["gpu"] else None
        elif not line.startswith(" "):
            gpu = None
        row = _ROW.match(rest) if gpu is not None else None
        if gpu is not None and row:
            fact = DeviceHolder(gpu=gpu, pid=int(row["pid"]), program=row["program"].strip(), user=row["user"])
            yield fact, index
        elif gpu is not None and device and _PLAIN.match(rest):
            for pid in _PID.findall(rest):
                yield DeviceHolder(gpu=gpu, pid=int(pid)), index


def _of_lsof(section: Section) -> Iterator[tuple[DeviceHolder, int]]:
    for index, line in section.matching("/dev/nvidia"):
        match = _LSOF.match(line[:400])
        if match:
            gpu, pid = int(match["gpu"]), int(match["pid"])
            yield DeviceHolder(gpu=gpu, pid=pid, program=match["program"], user=match["user"]), index


def _orphans(section: Section) -> Iterator[tuple[OrphanProcess, int]]:
    """Rows of ps below a heading with PID, PPID and, at the end, CMD."""
    columns: list[str] = []
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if _HEADING.match(line):
            columns = line.split()
            continue
        # A start time (LSTART) is printed in five words under one heading.
        words = 4 if "STARTED" in columns else 0
        cells = line.split(None, len(columns) - 1 + words) if columns else []
        if len(cells) < len(columns) + words or not columns:
            continue
        at = {name: place + (words if "STARTED" in columns[:place] else 0) for place, name in enumerate(columns)}
        pid, parent, command = cells[at["PID"]], cells[at["PPID"]], cells[-1].strip()
        if parent == "1" and pid.isdecimal() and _OF_A_JOB.match(command):
            started = at.get("STARTED", at.get("STIME", at.get("START")))
            text = " ".join(cells[started : started + words + 1]) if started is not None else None
            yield OrphanProcess(pid=int(pid[:10]), command=command[:200], started=text), index


READER = Reader("device-holders", read, markers=("/dev/nvidia", " PPID"), commands=("fuser", "lsof"))
