"""Jobs and nodes of Slurm: scontrol show job and node, sinfo.

    JobId=4711 JobName=train
       JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
    NodeName=gpu07 Arch=x86_64 CoresPerSocket=56

Follows scontrol and sinfo of Slurm 18.08 to 25.05. Healthy nodes of a table are left out; a record without its
state gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.services import SlurmJob, SlurmNode

_PAIR = regex(r"(?:^|\s)(?P<key>[A-Z]\w{1,30})=(?P<value>\S{0,300})")
_GPUS = regex(r"gres/gpu(?::[\w.-]{1,40})?[=:](?P<count>\d{1,6})|(?:^|,)gpu(?::[\w.-]{1,40})?:(?P<plain>\d{1,4})")
_CODE = regex(r"(?P<code>\d{1,3}):(?P<signal>\d{1,3})$")
_REASON = regex(r"\s{2,8}Reason=(?P<reason>.{1,300}?)\s*$")
_SINFO = regex(r"PARTITION\s{1,40}AVAIL\s{1,12}TIMELIMIT\s{1,12}NODES\s{1,12}STATE\s{1,20}NODELIST")
_SINFO_ROW = regex(
    r"\S{1,60}\s{1,40}(?:up|down|drain|inact)\*?\s{1,12}\S{1,20}\s{1,12}\d{1,6}\s{1,12}"
    r"(?P<state>[a-z]{3,16})(?P<mark>[*~#!%$@^-]?)\s{1,20}(?P<nodes>\S{1,300})\s*$"
)
_REASONS = regex(r"REASON\s{1,80}USER\s{1,40}TIMESTAMP\s{1,40}NODELIST")
_REASON_ROW = regex(
    r"(?P<reason>\S.{1,200}?)\s{1,80}\S{1,32}\s{1,40}\d{4}-\d\d-\d\dT\S{1,20}\s{1,40}(?P<nodes>\S{1,300})\s*$"
)
_BAD = ("down", "drain", "fail", "maint", "unk", "inval", "no_respond", "boot")
_MOST_RECORDS = 300


@dataclass
class _Record:
    """The pairs of one job or node."""

    kind: str
    first: int
    last: int
    values: dict[str, str] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """SlurmJob and SlurmNode for each record, SlurmNode for each group of nodes that a table calls unfit."""
    records = list(_records(section))[:_MOST_RECORDS]
    jobs = [record for record in records if record.kind == "JobId" and "JobState" in record.values]
    nodes = [record for record in records if record.kind == "NodeName" and "State" in record.values]
    for record in jobs:
        yield section.observe(_job(record), record.first, record.last)
    for record in nodes:
        yield section.observe(_node(record), record.first, record.last)
    rows = list(_tables(section))
    yield from rows
    if jobs:
        yield section.looked(SlurmJob, complete=False, reason="not-collected")
    if nodes or rows or any(_SINFO.match(line[:200]) for line in section.lines[:5]):
        whole = command_of(section) in {"sinfo", "sinfo -R", "scontrol show nodes", "scontrol show node"}
        yield section.looked(SlurmNode, complete=whole, reason="not-collected")


def _records(section: Section) -> Iterator[_Record]:
    record: _Record | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if line.startswith(("JobId=", "NodeName=")):
            if record:
                yield record
            record = _Record(line.partition("=")[0], index, index)
        elif record is None or (not line[:1].isspace() and line.strip()):
            if record:
                yield record
            record = None
            continue
        if not line.strip():
            continue
        reason = _REASON.match(line)
        if reason:
            record.values["Reason"] = reason["reason"]
        else:
            for match in _PAIR.finditer(line):
                record.values.setdefault(match["key"], match["value"])
        record.last = index
    if record:
        yield record


def _number(text: str | None) -> int | None:
    head = (text or "").split("-", 1)[0]
    return int(head) if head.isdecimal() and len(head) < 10 else None


def _gpus(*texts: str | None) -> int | None:
    """The first number of GPUs that one of the texts names; the untyped total before that of one type."""
    for text in texts:
        totals = [match["count"] or match["plain"] for match in _GPUS.finditer(text or "")]
        if totals:
            return max(int(total) for total in totals)
    return None


def _job(record: _Record) -> SlurmJob:
    values = record.values
    code = _CODE.match(values.get("ExitCode", ""))
    reason = values.get("Reason", "None").split(" ", 1)[0]
    return SlurmJob(
        job=values.get("JobId", "")[:40],
        state=values["JobState"],
        reason=None if reason in {"None", "(null)"} else reason,
        exit_code=int(code["code"]) if code else None,
        signal=int(code["signal"]) or None if code else None,
        nodes=_number(values.get("NumNodes")),
        tasks=_number(values.get("NumTasks")),
        gpus=_gpus(values.get("AllocTRES"), values.get("TRES"), values.get("ReqTRES")),
    )


def _node(record: _Record) -> SlurmNode:
    values = record.values
    states = values["State"].replace("+", " ").split()
    base = states[0].rstrip("*~#!%$@^-") if states else "UNKNOWN"
    reason = values.get("Reason")
    return SlurmNode(
        name=values.get("NodeName", "")[:100],
        state=base,
        drained="DRAIN" in values["State"],
        invalid="INVAL" in values["State"],
        responding=not (states and states[0].endswith("*")) and "NOT_RESPONDING" not in values["State"],
        gpus=_gpus(values.get("CfgTRES"), values.get("Gres")),
        reason=reason[:300] if reason and reason != "(null)" else None,
    )


def _tables(section: Section) -> Iterator[Observed]:
    """`sinfo` and `sinfo -R`."""
    form = None
    for index, whole in enumerate(section.lines):
        line = whole[:600].strip()
        if _SINFO.match(line):
            form = _SINFO_ROW
        elif _REASONS.match(line):
            form = _REASON_ROW
        elif form is not None and (match := form.match(line)):
            found = match.groupdict()
            state = found.get("state") or "drain"
            if state.startswith(_BAD) or found.get("mark") == "*":
                yield section.observe(_of_row(found, state), index)


def _of_row(found: dict[str, str | None], state: str) -> SlurmNode:
    return SlurmNode(
        name=(found["nodes"] or "")[:200],
        state=state.upper() if "reason" not in found else "UNKNOWN",
        drained=state.startswith("drain") or state in {"drng", "fail"},
        invalid=state.startswith("inval"),
        responding=False if found.get("mark") == "*" else None,
        reason=found.get("reason"),
    )


READER = Reader(
    "slurm",
    read,
    markers=("JobState=", "NodeName=", "NODELIST"),
    commands=("scontrol show", "sinfo"),
)
