"""Errors of Slurm's programs: srun, sbatch, salloc, slurmd, slurmstepd, slurmctld.

    srun: error: Unable to create step for job 4711: Invalid generic resource (gres) specification
    slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2025-02-24T09:41:02 DUE TO TIME LIMIT ***
    [2025-02-24T09:41:02.123] error: Node gpu07: gres/gpu count reported lower than configured (7 < 8)

Follows Slurm 18.08 to 25.05. How single tasks ended is told by ProcessExit. Lines that don't fit give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.services import SlurmClass, SlurmError

_SPOKEN = regex(
    r"(?P<program>srun|sbatch|salloc|slurmstepd|slurmd|slurmctld|sacct|scontrol)(?:-\w{1,40})?: "
    r"(?:error|fatal): (?P<text>.{3,})"
)
_LOGGED = regex(
    r"\[(?:\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d(?:\.\d{1,6})?\] (?:\[[\w.+]{1,40}\] )?(?:error|fatal): (?P<text>.{3,})"
)
_JOURNAL = regex(r".{6,120}?\s(?P<program>slurmd|slurmctld)\[\d{1,8}\]: (?:error|fatal): (?P<text>.{3,})")
_CANCELLED = regex(r"\*\*\* (?:JOB|STEP) \S{1,40} ON (?P<node>\S{1,100}) (?:CANCELLED|FAILED)")
_CLASSES: tuple[tuple[SlurmClass, str], ...] = (
    ("gres-missing", r"count (?:reported|too) low|count reported lower than configured"),
    ("gres-missing", r"can't stat gres\.conf|Waiting for gres\.conf file"),
    ("gres-request", r"[Ii]nvalid generic resource \(gres\) specification|Invalid (?:gres|TRES) specification"),
    ("gres-config", r"gres[./]|Gres|GRES"),
    ("time-limit", r"DUE TO TIME LIMIT|time limit"),
    ("preempted", r"DUE TO (?:PREEMPTION|JOB REQUEUE)"),
    ("node-failure", r"NODE FAILURE|[Nn]ode failure|not responding|Node .{1,80} DOWN"),
    ("oom", r"oom[-_ ]kill|Out Of Memory|exceeded memory limit|Exceeded job memory limit"),
    ("cancelled", r"CANCELLED|[Cc]ancell?ed|Force Terminated"),
    ("step-create", r"Unable to create step|step creation|Unable to confirm allocation"),
    ("allocation", r"Unable to allocate resources|submission failed|Job violates|configuration is not available"),
    ("mpi-plugin", r"mpi/pm[ix]|pmi[x2]|MPI plugin|mpi plugin"),
    ("prolog", r"[Pp]rolog|[Ee]pilog"),
    ("communication", r"connection failure|Socket timed out|Unable to contact slurm|connect failure"),
    ("communication", r"munge|Zero Bytes|authentication"),
    ("launch", r"[Tt]ask launch|execve\(\)|chdir\("),
)
_BY_WORD = tuple((class_, regex(words)) for class_, words in _CLASSES)
_OF_TASKS = regex(r"\S{1,64}: tasks? \d")
_MARKERS = (
    *("srun: error", "srun: fatal", "sbatch: error", "salloc: error"),
    *("slurmstepd: error", "slurmd: error", "slurmd: fatal", "]: error: ", "]: fatal: "),
)
_STARTS = regex(r"slurm(?:ctl)?d version \S{3,20} started")
_IN_LOG = ("] error: ", "] fatal: ")
_MOST_SORTS = 60


@dataclass
class _Sort:
    """One sort of error."""

    node: str | None
    text: str
    index: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """SlurmError for each program and class."""
    sorts: dict[tuple[str, SlurmClass], _Sort] = {}
    is_log = "slurmd" in section.path or "slurmctld" in section.path
    is_log = is_log or any(_STARTS.search(line[:200]) for line in section.lines[:200])
    for index, whole in section.matching(*_MARKERS, "slurmctld: error", *(_IN_LOG if is_log else ())):
        text = without_launcher(whole[:MOST_COLUMNS]).text.strip()
        spoken = _SPOKEN.match(text) or _JOURNAL.match(whole[:MOST_COLUMNS])
        match = spoken or (_LOGGED.match(text) if is_log else None)
        if match is None or _OF_TASKS.match(match["text"]):
            continue
        said = match["text"].strip()
        class_: SlurmClass = next((name for name, words in _BY_WORD if words.search(said)), "other")
        program = match["program"] if spoken else "slurmctld" if "slurmctld" in section.path else "slurmd"
        cancelled = _CANCELLED.search(said)
        key = (program, class_)
        if key in sorts or len(sorts) < _MOST_SORTS:
            sorts.setdefault(key, _Sort(cancelled["node"] if cancelled else None, said[:300], index)).count += 1
    for (program, class_), sort in sorts.items():
        fact = SlurmError(class_=class_, program=program, node=sort.node, text=sort.text, count=sort.count)
        yield section.observe(fact, sort.index)
    if sorts:
        yield section.looked(SlurmError)


READER = Reader(
    "slurm-errors", read, markers=(*_MARKERS, "slurmd version", "gres/gpu"), lines=(*_MARKERS, *_IN_LOG)
)
