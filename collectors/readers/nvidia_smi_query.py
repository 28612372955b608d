"""The state of each GPU from `nvidia-smi -q`, whole, with `-d`, or picked out with grep.

    Attached GPUs                             : 8
    GPU 00000000:5D:00.0
            Uncorrectable Error               : 1

Follows releases 340 to 610. The names of properties stand in _nvidia_smi_names. Of several reports on one GPU the
last counts. A report that is cut gives what is there; lines that are not indented as nvidia-smi does give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._gpu_facts import Report
from collectors.readers._gpu_properties import facts_of, looked_of
from collectors.readers._gpu_values import Values
from collectors.readers._lines import BDF, VERSION, command_of
from collectors.readers._nvidia_smi_names import TEXT_PATHS
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.driver import NvidiaSmi, NvmlError
from kb.facts.gpu import Gpu, GpuProcess
from kb.facts.gpu_bus import GpuCount
from kb.facts.gpu_state import MigDevices

_LOG = "NVSMI LOG="
_GPU = regex(rf"GPU ({BDF})\s*$")
_ATTACHED = regex(r"Attached GPUs {1,60}: (\d{1,3})\s*$")
_RELEASE = regex(
    rf"(?P<what>Driver|KMD|CUDA|CUDA UMD) Version {{1,60}}: (?P<value>{VERSION}|N/A)(?: \[Deprecated.*)?\s*$"
)
_ONE = regex(r"nvidia-smi\s.{0,80}?(?:-i|--id)[ =](?P<index>\d{1,3})(?:\s|$)")
_MOST_COLUMNS = 300
_MOST_GPUS = 256
_MOST_PROCESSES = 512
_ENDS = frozenset({"processes", "capabilities"})
"""What stands last of each GPU; capabilities since 580."""
_ALONE = frozenset({"gpu_recovery_action"})
"""Names that nothing but nvidia-smi prints, so that one line without its GPU may be taken."""


@dataclass
class _Gpu:
    """One GPU of a report: its properties, its processes, and the MIG devices that were counted."""

    report: Report
    line: int
    driver_model: str | None = None
    end: str = ""
    """The last group or property of the GPU itself."""
    processes: list[tuple[GpuProcess, int]] = field(default_factory=list)
    mig_devices: list[int] = field(default_factory=list)


@dataclass
class _Log:
    """One report: what stands above its GPUs, and they."""

    attached: tuple[int, int] | None = None
    releases: dict[str, tuple[str, int]] = field(default_factory=dict)
    gpus: list[_Gpu] = field(default_factory=list)
    groups: list[tuple[int, str]] = field(default_factory=list)
    """Indentation and name of the groups that the line stands in."""


def read(section: Section) -> Iterator[Reading]:
    """The facts of `gpu_state`, Gpu, GpuCount, GpuProcess, MigDevices and NvidiaSmi."""
    logs = [log for log in _logs(section) if log.gpus or log.attached or log.releases]
    for log in logs:
        log.gpus = [gpu for gpu in log.gpus if gpu.report.values or gpu.end in _ENDS]
        _number(log)
    if (one := _ONE.search(command_of(section))) is not None:
        for gpu in (gpu for log in logs for gpu in log.gpus if gpu.report.bdf is None):
            gpu.report.index = int(one["index"])
    gpus = list({gpu.report.bdf or id(gpu): gpu for log in logs for gpu in log.gpus}.values())
    yield from _heading(section, logs)
    if not gpus:
        return
    whole = _is_whole(section, [log for log in logs if log.gpus][-1])
    yield from _identities(section, gpus)
    reports = [gpu.report for gpu in gpus]
    yield from facts_of(section, reports)
    for gpu in gpus:
        yield from (section.observe(process, line, line) for process, line in gpu.processes)
    yield from _mig(section, gpus)
    yield from looked_of(section, reports, whole=whole)
    if all(report.bdf for report in reports):
        yield section.looked(Gpu, complete=whole)
        yield section.looked(NvmlError)
    if any(gpu.processes for gpu in gpus):
        yield section.looked(GpuProcess, complete=False, reason="not-collected")


def _logs(section: Section) -> Iterator[_Log]:
    """The reports, in order; lines picked out with grep are one report without a heading."""
    log = _Log()
    loose = command_of(section).startswith("nvidia-smi")
    for index, whole in enumerate(section.lines):
        line = whole[:_MOST_COLUMNS].rstrip()
        if _LOG in line:
            yield log
            log = _Log()
        elif line[:1].isspace():
            _property(log, line, index, loose=loose)
        elif line.startswith("GPU "):
            match = _GPU.match(line)
            if match and len(log.gpus) < _MOST_GPUS:
                log.groups.clear()
                log.gpus.append(_Gpu(Report(bdf=match[1]), index))
        elif line.startswith(("Attached GPUs", "Driver Version", "KMD Version", "CUDA ")):
            _head(log, line, index)
    yield log


def _head(log: _Log, line: str, index: int) -> None:
    attached, release = _ATTACHED.match(line), _RELEASE.match(line)
    if attached:
        log.attached = int(attached[1]), index
    elif release:
        name = {"KMD": "Driver", "CUDA UMD": "CUDA"}.get(release["what"], release["what"])
        log.releases[name] = release["value"], index


def _property(log: _Log, line: str, index: int, *, loose: bool) -> None:
    """Enters a line `    name : value` or the name of a group."""
    name, colon, value = line.partition(" : ")
    indent = len(line) - len(line.lstrip(" "))
    name = re.sub(r" {2,}", " ", name.strip().lower())
    while log.groups and log.groups[-1][0] >= indent:
        log.groups.pop()
    path = "/".join([*(group for _, group in log.groups), name])
    log.groups.append((indent, name))
    if not colon:
        return
    key = TEXT_PATHS.get(path)
    gpu = log.gpus[-1] if log.gpus else None
    if gpu is not None:
        gpu.end = path.partition("/")[0]
    if key is None:
        if gpu is not None:
            _other(gpu, path, value.strip(), index)
        return
    if gpu is None or (gpu.report.bdf is None and key in gpu.report.values):
        if not loose and "/" not in path and key not in _ALONE:
            return
        gpu = _Gpu(Report(), index)
        if len(log.gpus) < _MOST_GPUS:
            log.gpus.append(gpu)
    if not (key in gpu.report.values and value.strip() == "N/A"):  # `Remapped Rows : N/A`, two names of pending
        gpu.report.values[key] = value.strip(), index


def _other(gpu: _Gpu, path: str, value: str, index: int) -> None:
    """Processes and MIG devices, of which a GPU has several, and what tells Windows."""
    if path == "processes/process id" and value.isdecimal() and len(gpu.processes) < _MOST_PROCESSES:
        gpu.processes.append((GpuProcess(bdf=gpu.report.bdf, pid=int(value[:10])), index))
    elif path.startswith("processes/process id/") and gpu.processes:
        process, line = gpu.processes[-1]
        if path.endswith("/name") and value:
            gpu.processes[-1] = process.model_copy(update={"name": value}), line
        elif path.endswith("/used gpu memory"):
            used = Values({"used": (value, 0)}).number("used")
            gpu.processes[-1] = process.model_copy(update={"used_mib": used}), line
    elif path == "mig device/index":
        gpu.mig_devices.append(index)
    elif path == "driver model/current":
        gpu.driver_model = value


def _number(log: _Log) -> None:
    """Gives the GPUs nvidia-smi's numbers, where all are there: they stand in that order."""
    if log.attached is None or log.attached[0] != len(log.gpus):
        return
    for number, gpu in enumerate(log.gpus):
        gpu.report.index = number
        gpu.processes = [(one.model_copy(update={"index": number}), line) for one, line in gpu.processes]


def _is_whole(section: Section, log: _Log) -> bool:
    """Whether every GPU is there, and the last is shown to the end."""
    command, end = command_of(section), log.gpus[-1].end
    if log.attached is None or log.attached[0] != len(log.gpus) or "|" in command:
        return False
    return end in _ENDS or ((" -d" in command or len(log.gpus) > 1) and end == log.gpus[0].end)


def _heading(section: Section, logs: list[_Log]) -> Iterator[Reading]:
    """The releases and the number of GPUs of the last report that tells them."""
    told = next((log for log in reversed(logs) if "Driver" in log.releases), None)
    if told:
        driver, line = told.releases["Driver"]
        cuda, last = told.releases.get("CUDA", (None, line))
        windows = any((gpu.driver_model or "N/A") != "N/A" for gpu in told.gpus)
        fact = NvidiaSmi(
            driver_version=driver if driver != "N/A" else None,
            cuda_version=cuda if cuda != "N/A" else None,
            cuda_missing=cuda == "N/A",
            wsl=windows,
        )
        yield section.observe(fact, min(line, last), max(line, last))
        yield section.looked(NvidiaSmi)
    counted = next((log.attached for log in reversed(logs) if log.attached), None)
    if counted:
        yield section.observe(GpuCount(seen_by="driver", count=counted[0], reported_by="nvidia-smi"), counted[1])
        yield section.looked(GpuCount)


def _identities(section: Section, gpus: list[_Gpu]) -> Iterator[Observed]:
    for gpu in gpus:
        values = Values(gpu.report.values)
        if gpu.report.bdf is None:
            continue
        fact = Gpu(
            index=gpu.report.index,
            bdf=gpu.report.bdf,
            uuid=values.text("uuid"),
            name=values.text("name"),
            device_id=values.device_id(),
            memory_total_mib=values.number("memory.total"),
            memory_used_mib=values.number("memory.used"),
            utilisation_percent=values.number("utilization.gpu"),
        )
        yield section.observe(fact, gpu.line)


def _mig(section: Section, gpus: list[_Gpu]) -> Iterator[Observed]:
    """How many MIG devices each GPU in MIG mode has."""
    for gpu in gpus:
        mode = gpu.report.values.get("mig.mode.current")
        if gpu.mig_devices or (mode and Values(gpu.report.values).flag("mig.mode.current")):
            lines = gpu.mig_devices or [mode[1] if mode else gpu.line]
            fact = MigDevices(index=gpu.report.index, bdf=gpu.report.bdf, devices=len(gpu.mig_devices))
            yield section.observe(fact, lines[0], lines[-1])


READER = Reader(
    "nvidia-smi-query",
    read,
    markers=(
        _LOG,
        "    Fabric",
        "GPU Recovery Action",
        "Remapped Rows",
        "Clocks Event Reasons",
        "Clocks Throttle Reasons",
    ),
    commands=("nvidia-smi -q", "nvidia-smi --query "),
    lines=(_LOG,),
    context=(0, 3000),
)
