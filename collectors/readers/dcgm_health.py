"""What `dcgmi health -c` found, as its table, and the GPUs of `dcgmi discovery -l`.

    | Overall Health            | Warning                                                  |
    |       -> PCIe system      | Warning                                                  |
    | 0      | Name: NVIDIA H100 80GB HBM3                                          |

Follows dcgmi of DCGM 2.0 to 4.6. The words below a system are its text. Other tables give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

from collectors.readers._diag_classes import finding, told_together
from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.base import normal_bdf
from kb.facts.diagnostics import DiagResult
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuCount

_OVERALL = regex(
    r"\|\s{1,4}Overall Health:?\s{1,60}(?:\|\s{1,4})?(?P<value>Healthy|Warning|Failure)\s{1,120}\|\s*$"
)
_TITLE = "Health Monitor Report"
_ROW = regex(r"\| (?P<left>.{10,40}?) ?\| (?P<right>.{1,100}) ?\|\s*$")
_LEVEL = regex(r"(?P<indent>\s{0,12})-> (?P<name>\S.{0,40}?)\s*$")
_VALUE = regex(r"(?P<value>Healthy|Warning|Failure)\s*$")
_STATUS = {"Healthy": "pass", "Warning": "warn", "Failure": "fail"}
_DISCOVERED = regex(r"\| (?P<gpu>\d{1,3})\s{1,8}\| Name: (?P<name>\S.{0,66}?)\s{1,70}\|\s*$")
_BUS = regex(rf"\|\s{{1,12}}\| PCI Bus ID: (?P<bdf>{BDF})\s{{1,60}}\|\s*$")
_UUID = regex(r"\|\s{1,12}\| Device UUID: (?P<uuid>GPU-[0-9a-f-]{8,60})\s{1,60}\|\s*$")
_FOUND = regex(r"(?P<count>\d{1,3}) GPUs? found(?: \((?:All|Active)\))?\.\s*$")
_MOST_FINDINGS = 512


@dataclass
class _System:
    """One system of one GPU that is not healthy."""

    name: str
    gpu: int | None
    status: str
    first: int
    last: int
    words: list[str] = field(default_factory=list)


def read(section: Section) -> Iterator[Reading]:
    """DiagResult for what is not healthy or for all together; Gpu and GpuCount."""
    yield from _health(section)
    yield from _discovery(section)


def _health(section: Section) -> Iterator[Reading]:
    systems: list[_System] = []
    overall: tuple[str, int] | None = None
    inside = False
    gpu: int | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:240]
        match = _OVERALL.match(line)
        if match:
            overall, systems, inside = (match["value"], index), [], True
        elif inside and line.startswith("|"):
            row = _ROW.match(line)
            if row:
                gpu = _enter(systems, row["left"], row["right"].strip(), gpu, index)
    if overall is None or not (inside and any(_TITLE in line and line.startswith("|") for line in section.lines)):
        return
    findings = []
    if overall[0] == "Healthy":
        fact = DiagResult(test="Overall Health", status="pass", tool="health")
        findings.append(finding(fact, overall[1], overall[1]))
    for one in systems:
        fact = DiagResult(
            test=one.name, status=cast("Literal['warn']", _STATUS[one.status]), gpu=one.gpu, tool="health"
        )
        findings.append(finding(fact, one.first, one.last, " ".join(one.words) or None))
    yield from told_together(section, findings)
    yield section.looked(DiagResult, complete=overall[0] == "Healthy" or bool(systems))


def _enter(systems: list[_System], left: str, right: str, gpu: int | None, index: int) -> int | None:
    """Enters a row; the number of the GPU that it is about."""
    level, value = _LEVEL.match(left), _VALUE.match(right)
    if level:
        name = level["name"]
        if not level["indent"]:
            return int(name) if name.isdecimal() and len(name) < 4 else None
        if value and name != "Errors" and len(systems) < _MOST_FINDINGS:
            systems.append(_System(name, gpu, value["value"], index, index))
    elif not left.strip() and systems and right and not value and len(systems[-1].words) < 20:
        systems[-1].words.append(right)
        systems[-1].last = index
    return gpu


def _discovery(section: Section) -> Iterator[Reading]:
    gpus: dict[int, tuple[Gpu, int, int]] = {}
    current = -1
    for index, whole in section.matching("| Name: ", "| PCI Bus ID: ", "| Device UUID: ", "found"):
        line = whole[:160]
        named, bus, uuid, found = (form.match(line) for form in (_DISCOVERED, _BUS, _UUID, _FOUND))
        if named:
            current = int(named["gpu"])
            gpus[current] = Gpu(index=current, name=named["name"], reported_by="dcgm"), index, index
        elif (bus or uuid) and current in gpus:
            gpu, first, _ = gpus[current]
            changes = {"bdf": normal_bdf(bus["bdf"])} if bus else {"uuid": uuid["uuid"]} if uuid else {}
            gpus[current] = gpu.model_copy(update=changes), first, index
        elif found:
            count = GpuCount(seen_by="driver", count=int(found["count"]), reported_by="dcgm")
            yield section.observe(count, index)
            yield section.looked(GpuCount)
    if not any("| Device Information" in line for line in section.lines):
        return
    for gpu, first, last in gpus.values():
        yield section.observe(gpu, first, last)
    if gpus:
        yield section.looked(Gpu)


READER = Reader(
    "dcgm-health",
    read,
    markers=(_TITLE, "| Name: ", " GPUs found", "1 GPU found"),
    commands=("dcgmi health", "dcgmi discovery"),
)
