"""The state of each GPU from `nvidia-smi --query-…=… --format=csv`: of GPUs, remapped rows, pages, processes.

    index, name, driver_version, fabric.state, fabric.status
    0, NVIDIA B200, 580.126.20, In Progress, N/A
    00000000:18:00.0, GPU-1f0c…, 0, 1, Yes, No

Follows releases 340 to 610. Columns come from the header row, or from the query in the command or in a line before
the rows. Of several rows on one GPU the last counts. Where no column names the GPU, rows of nothing but measures
are taken, numbered in their order where the query is for all GPUs once. Rows with another number of columns, or
with values that can't be those of their columns, give nothing. Memory and names are read by gpu_memory_query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._gpu_facts import Report
from collectors.readers._gpu_properties import facts_of, looked_of
from collectors.readers._gpu_values import Values
from collectors.readers._lines import BDF, command_of
from collectors.readers._nvidia_smi_names import TEXT_PATHS, canonical
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu import GpuProcess
from kb.facts.gpu_bus import GpuCount
from kb.facts.gpu_state import GpuMemoryRepair

_QUERY = regex(
    r"nvidia-smi\b.{0,200}?--query-(?:gpu|remapped-rows|retired-pages|compute-apps)[= ]"
    r"[\"']?(?P<columns>[\w.,]{1,8000})"
)
_HEADER_CELL = regex(r"[a-z][\w.]{0,70}(?: \[[\w%/]{1,8}\])?$")
_SELECTED = regex(r" (?:-i|--id)\b|\|")
_FORMS = {
    "index": regex(r"\d{1,3}$"),
    "pci.bus_id": regex(rf"{BDF}$"),
    "uuid": regex(r"GPU-[0-9a-f-]{8,60}$"),
    "pid": regex(r"\d{1,10}$"),
    "timestamp": regex(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d"),
}
_MEASURE = regex(r"(?:\[?N/A\]?|\[[\w ]{1,30}\]|-?\d{1,9}(?:\.\d{1,4})?(?: [\w%/]{1,8})?)$")
_AGAIN = regex(r"\s(?:-i|--id|-l|-lms|--loop|--loop-ms)\b|\||\bwatch\b")
_IDENTITIES = ("pci.bus_id", "uuid", "index")
_NAMES = frozenset({"process_name", "name"})
_KNOWN = frozenset(
    {*TEXT_PATHS.values(), *_FORMS, "count", "process_name", "used_gpu_memory", "retired_pages.cause", "name"}
)
_BY_UNITS = ("memory.", "utilization.", "temperature.", "power.", "clocks.", "pcie.", "ecc.", "fabric.")
_MOST_COLUMNS = 16_000
_MOST_ROWS = 512


@dataclass
class _Rows:
    """What the rows say: GPUs by the columns that were asked for, processes, and retired pages."""

    gpus: dict[tuple[tuple[str, ...], str], Report] = field(default_factory=dict)
    processes: dict[tuple[str | None, int], tuple[GpuProcess, int]] = field(default_factory=dict)
    pages: dict[str, tuple[Counter[str], int, int]] = field(default_factory=dict)
    count: tuple[int, int] | None = None
    is_cut: bool = False
    """The last row is only the beginning of one."""


def read(section: Section) -> Iterator[Reading]:
    """The facts of `gpu_state`, and GpuProcess."""
    rows = _read_rows(section)
    reports = list(rows.gpus.values())
    yield from facts_of(section, reports)
    for process, line in rows.processes.values():
        yield section.observe(process, line)
    for bdf, (causes, first, last) in rows.pages.items():
        fact = GpuMemoryRepair(
            bdf=bdf,
            mechanism="page-retirement",
            corrected=causes["Single Bit ECC"],
            uncorrected=causes["Double Bit ECC"],
        )
        yield section.observe(fact, first, last)
    whole = _SELECTED.search(command_of(section)) is None and not rows.is_cut
    if rows.count:
        number, line = rows.count
        yield section.observe(GpuCount(seen_by="driver", count=number, reported_by="nvidia-smi"), line)
        yield section.looked(GpuCount)
    yield from looked_of(section, reports, whole=whole)
    if rows.processes:
        yield section.looked(GpuProcess, complete=False, reason="not-collected")


def _read_rows(section: Section) -> _Rows:
    rows = _Rows()
    columns = _columns_of(section.command or "")
    numbered = bool(columns) and _AGAIN.search(section.command or "") is None
    unnamed = 0
    for index, whole in enumerate(section.lines):
        line = whole[:_MOST_COLUMNS]
        if "--query-" in line:
            columns, unnamed = _columns_of(line), 0
            numbered = bool(columns) and _AGAIN.search(line) is None
            continue
        if "," not in line and len(columns) != 1:
            continue
        cells = [cell.strip() for cell in line.split(", ")]
        if _is_header(cells):
            columns = tuple(canonical(cell.split(" ", 1)[0]) for cell in cells)
        elif columns and len(cells) == len(columns) and _fits(columns, cells):
            _enter(rows, columns, cells, index)
        elif columns and len(cells) == len(columns) and _is_measured(columns, cells) and unnamed < _MOST_ROWS:
            report = Report(unnamed if numbered else None)
            report.values = {column: (cell, index) for column, cell in zip(columns, cells, strict=True)}
            rows.gpus[columns, f"row {unnamed if numbered else 0}"] = report
            unnamed += 1
        rows.is_cut = bool(columns) and 1 < len(cells) < len(columns)
    return rows


def _columns_of(text: str) -> tuple[str, ...]:
    match = _QUERY.search(text[:_MOST_COLUMNS])
    return tuple(canonical(name) for name in match["columns"].split(",")) if match else ()


def _is_header(cells: list[str]) -> bool:
    if len(cells) < 2 or not all(_HEADER_CELL.match(cell) for cell in cells):
        return False
    names = [canonical(cell.split(" ", 1)[0]) for cell in cells]
    return any(name in _KNOWN or name.startswith(_BY_UNITS) for name in names)


def _fits(columns: tuple[str, ...], cells: list[str]) -> bool:
    """Whether the values can be those of the columns, or refusals in brackets; one names the GPU or a process."""
    named = False
    for column, cell in zip(columns, cells, strict=True):
        form = _FORMS.get(column)
        if form is None or cell.startswith("["):
            continue
        if not form.match(cell):
            return False
        named = named or column in _IDENTITIES or (column == "pid" and not _NAMES.isdisjoint(columns))
    return named


def _is_measured(columns: tuple[str, ...], cells: list[str]) -> bool:
    """Whether no column names the GPU or a process, and those that measure something hold measures."""
    if any(column in {*_IDENTITIES, "pid"} for column in columns):
        return False
    measured = [cell for column, cell in zip(columns, cells, strict=True) if column.startswith(_BY_UNITS)]
    return len(measured) > 1 and all(_MEASURE.match(cell) for cell in measured)


def _enter(rows: _Rows, columns: tuple[str, ...], cells: list[str], index: int) -> None:
    named = dict(zip(columns, cells, strict=True))
    bdf = named.get("pci.bus_id", "")
    bdf = bdf if _FORMS["pci.bus_id"].match(bdf) else ""
    if "retired_pages.cause" in named:
        if bdf and named.get("retired_pages.address", "0x").startswith("0x") and len(rows.pages) < _MOST_ROWS:
            causes, first, _ = rows.pages.get(bdf, (Counter(), index, index))
            causes[named["retired_pages.cause"]] += 1
            rows.pages[bdf] = causes, first, index
    elif "pid" in named:
        if named["pid"].isdecimal() and len(rows.processes) < _MOST_ROWS:
            used = Values({"used": (named.get("used_gpu_memory") or named.get("used_memory", ""), 0)}).number(
                "used"
            )
            name = named.get("process_name") or named.get("name")
            known = name if name and not name.startswith("[") else None
            process = GpuProcess(bdf=bdf or None, pid=int(named["pid"]), name=known, used_mib=used)
            rows.processes[bdf, process.pid] = process, index
    elif len(rows.gpus) < _MOST_ROWS:
        number = named.get("index", "")
        report = Report(int(number) if _FORMS["index"].match(number) else None, bdf or None)
        report.values = {column: (cell, index) for column, cell in named.items()}
        identity = next(named[name] for name in _IDENTITIES if name in named)
        rows.gpus[columns, identity] = report
        if named.get("count", "").isdecimal():
            rows.count = int(named["count"][:4]), index


READER = Reader(
    "nvidia-smi-csv",
    read,
    markers=("--query-", "pci.bus_id", "gpu_bus_id", "gpu_uuid", "index, ", "uuid, ", "pid, process_name"),
    commands=("nvidia-smi --query-", "nvidia-smi --format", "nvidia-smi -i"),
)
