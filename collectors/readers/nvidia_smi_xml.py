"""The state of each GPU from `nvidia-smi -q -x`.

    <!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
    <gpu id="00000000:01:00.0">
        <gpu_recovery_action>None</gpu_recovery_action>

Follows the schemas v4 to v13 of releases 340 to 610. Names of properties: _nvidia_smi_names. Nothing outside the
text is read. Entity declarations are refused, what stands before them counts; so it does before any other fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from collectors.readers._gpu_facts import Report
from collectors.readers._gpu_properties import facts_of, looked_of
from collectors.readers._gpu_values import Values
from collectors.readers._lines import BDF, VERSION
from collectors.readers._nvidia_smi_names import XML_PATHS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Reason, Section, Unread
from kb.facts.driver import NvidiaSmi, NvmlError
from kb.facts.gpu import Gpu, GpuProcess
from kb.facts.gpu_bus import GpuCount
from kb.facts.gpu_state import MigDevices

_ROOT = ("<nvidia_smi_log>", "<nvidia_smi_log ")
_END = "</nvidia_smi_log>"
_BDF = regex(rf"{BDF}$")
_VERSION = regex(rf"{VERSION}$")
_MOST_COLUMNS = 100_000
_MOST_DEPTH = 24
_MOST_GPUS = 256
_MOST_PROCESSES = 512
_MOST_TEXT = 400
_REASONS: dict[str, Reason] = {"no element found": "truncated", "unclosed token": "truncated"}
_RELEASES = ("driver_version", "kmd_version", "cuda_version", "cuda_umd_version", "attached_gpus")


class _EntityError(ValueError):
    """The document declares an entity, which nvidia-smi never does and bombs are made of."""


@dataclass
class _Gpu:
    report: Report
    line: int
    processes: list[tuple[GpuProcess, int]] = field(default_factory=list)
    mig_devices: list[int] = field(default_factory=list)
    driver_model: str = "N/A"


@dataclass
class _Document:
    """What one document holds, as far as it could be read. Lines are indices into the section."""

    offset: int
    parser: Any = None
    heads: dict[str, tuple[str, int]] = field(default_factory=dict)
    gpus: list[_Gpu] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    text: str = ""
    is_closed: bool = False

    @property
    def line(self) -> int:
        return self.offset + int(self.parser.CurrentLineNumber) - 1

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        self.text = ""
        if len(self.path) > _MOST_DEPTH:
            raise ValueError("elements nested too deep")
        if self.path[1:] == ["gpu"] and len(self.gpus) < _MOST_GPUS:
            bdf = attributes.get("id", "")
            self.gpus.append(_Gpu(Report(bdf=bdf if _BDF.match(bdf) else None), self.line))

    def characters(self, text: str) -> None:
        if len(self.text) < _MOST_TEXT:
            self.text += text[:_MOST_TEXT]

    def end(self, _name: str) -> None:
        path, value = "/".join(self.path[2:]), self.text.strip()
        if len(self.path) == 2 and self.path[1] in _RELEASES:
            self.heads[self.path[1]] = value, self.line
        elif self.path[1:2] == ["gpu"] and value and self.gpus:
            self._enter(self.gpus[-1], path, value)
        self.path.pop()
        self.text = ""
        self.is_closed = not self.path

    def _enter(self, gpu: _Gpu, path: str, value: str) -> None:
        key = XML_PATHS.get(path)
        if key is not None:
            if not (key in gpu.report.values and value == "N/A"):
                gpu.report.values[key] = value, self.line
        elif path == "mig_devices/mig_device/index":
            gpu.mig_devices.append(self.line)
        elif path == "driver_model/current_dm":
            gpu.driver_model = value
        elif path == "processes/process_info/pid" and value.isdecimal():
            if len(gpu.processes) < _MOST_PROCESSES:
                gpu.processes.append((GpuProcess(bdf=gpu.report.bdf, pid=int(value[:10])), self.line))
        elif path.startswith("processes/process_info/") and gpu.processes:
            process, line = gpu.processes[-1]
            field_, known = path.rsplit("/", 1)[1], Values({"used": (value, 0)}).number("used")
            if field_ == "process_name":
                gpu.processes[-1] = process.model_copy(update={"name": value}), line
            elif field_ == "used_memory":
                gpu.processes[-1] = process.model_copy(update={"used_mib": known}), line


def read(section: Section) -> Iterator[Reading]:
    """The facts of `gpu_state`, Gpu, GpuCount, GpuProcess, MigDevices and NvidiaSmi of the last document."""
    document: _Document | None = None
    for first, last in _documents(section.lines):
        document, fault = _parsed(section.lines[first : last + 1], first)
        if fault:
            what, reason = f"{section.path}:{section.number(first)}", _REASONS.get(fault.partition(":")[0])
            yield Unread(what, reason or "unreadable", f"XML of nvidia-smi, read up to its fault: {fault}")
    if document is not None:
        yield from _heading(section, document)
        yield from _gpus(section, document)


def _documents(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First and last line of each document of nvidia-smi, with what declares its type."""
    begin: int | None = None
    has_root = False
    for index, line in enumerate(lines):
        if line.startswith("<?xml") or (begin is None and line.startswith(("<!DOCTYPE nvidia_smi_log", *_ROOT))):
            begin, has_root = index, False
        has_root = has_root or line.startswith(_ROOT)
        if begin is not None and has_root and _END in line[:_MOST_COLUMNS]:
            yield begin, index
            begin, has_root = None, False
    if begin is not None and has_root:
        yield begin, len(lines) - 1


def _parsed(lines: Sequence[str], offset: int) -> tuple[_Document, str | None]:
    """The document as far as it can be read, and why no further."""
    parser = expat.ParserCreate()
    document = _Document(offset, parser)
    parser.StartElementHandler, parser.EndElementHandler = document.start, document.end
    parser.CharacterDataHandler = document.characters
    parser.EntityDeclHandler = _refuse_entity
    try:
        for line in lines:
            parser.Parse(f"{_undeclared(line)[:_MOST_COLUMNS]}\n".encode("utf-8", "replace"), False)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        return document, "entities are not read" if isinstance(error, _EntityError) else str(error)[:100]
    return document, None


def _undeclared(line: str) -> str:
    """The line without the declaration that may name an encoding: the text is in another one by now."""
    return line.partition("?>")[2] if line.startswith("<?xml") else line


def _refuse_entity(*_: object) -> None:
    raise _EntityError


def _heading(section: Section, document: _Document) -> Iterator[Reading]:
    heads = document.heads
    driver = heads.get("kmd_version") or heads.get("driver_version")
    if driver and _VERSION.match(driver[0].split(" ", 1)[0]):
        cuda = heads.get("cuda_umd_version") or heads.get("cuda_version") or ("", driver[1])
        fact = NvidiaSmi(
            driver_version=driver[0].split(" ", 1)[0],
            cuda_version=cuda[0].split(" ", 1)[0] if _VERSION.match(cuda[0].split(" ", 1)[0]) else None,
            cuda_missing=cuda[0] == "N/A",
            wsl=any(gpu.driver_model != "N/A" for gpu in document.gpus),
        )
        yield section.observe(fact, min(driver[1], cuda[1]), max(driver[1], cuda[1]))
        yield section.looked(NvidiaSmi)
    count, line = heads.get("attached_gpus", ("", 0))
    if count.isdecimal():
        yield section.observe(GpuCount(seen_by="driver", count=int(count[:4]), reported_by="nvidia-smi"), line)
        yield section.looked(GpuCount)


def _gpus(section: Section, document: _Document) -> Iterator[Reading]:
    gpus = document.gpus
    whole = document.is_closed and document.heads.get("attached_gpus", ("", 0))[0] == str(len(gpus))
    for number, gpu in enumerate(gpus):
        gpu.report.index = number if whole else None
        values = Values(gpu.report.values)
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
        for process, line in gpu.processes:
            yield section.observe(process.model_copy(update={"index": gpu.report.index}), line)
        if gpu.mig_devices or values.flag("mig.mode.current"):
            lines = gpu.mig_devices or [gpu.line]
            devices = MigDevices(**gpu.report.named(), devices=len(gpu.mig_devices))
            yield section.observe(devices, lines[0], lines[-1])
    if gpus:
        reports = [gpu.report for gpu in gpus]
        yield from facts_of(section, reports)
        yield from looked_of(section, reports, whole=whole)
        yield section.looked(Gpu, complete=whole)
        yield section.looked(NvmlError)


READER = Reader(
    "nvidia-smi-xml",
    read,
    markers=_ROOT,
    commands=("nvidia-smi -q -x", "nvidia-smi -x -q"),
    lines=(*_ROOT, "<!DOCTYPE nvidia_smi_log"),
    context=(1, 20_000),
)
