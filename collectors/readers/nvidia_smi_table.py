"""The table of nvidia-smi of every era, `nvidia-smi -L` and `nvidia-smi --version`.

    | NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |
    |   0  NVIDIA L40S                    On  |   00000000:41:00.0 Off |                    0 |
    | N/A   31C    P8             34W /  350W |       1MiB /  46068MiB |      0%      Default |

Follows the tables of releases 304 to 610 (before 410 without a CUDA version, from 450 with a third line for MIG,
from 610 with `KMD Version` and `CUDA UMD Version`). Of several tables the GPUs and processes of the last are told,
and memory samples of all. A row without its second line gives no sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import BDF, MOST_COLUMNS, command_of, is_quoted
from collectors.readers._regex import regex
from collectors.readers._samples import kept, time_s
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.driver import NvidiaSmi, NvmlError
from kb.facts.gpu import Gpu, GpuMemorySample, GpuProcess
from kb.facts.gpu_bus import GpuCount
from kb.facts.gpu_state import GpuEccCounts

_HEADER = regex(
    r"\|\s{0,4}NVIDIA-SMI\s{1,60}(?P<tool>\S{1,30})\s{1,60}(?:Driver|KMD) Version:\s{0,60}(?P<driver>\S{1,30})"
    r"\s{1,80}(?:CUDA (?:UMD )?Version:\s{0,60}(?P<cuda>\S{1,30})\s{1,60})?\|"
)
_NUMBER = regex(r"\d{1,5}(?:\.\d{1,5}){1,3}$")
_NAME_CELL = regex(
    r"\s{0,8}(?P<index>\d{1,3})\s{1,8}(?P<name>\S.{0,60}?)\s{1,40}(?:On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s{0,8}$"
)
_BUS_CELL = regex(rf"\s{{0,20}}(?P<bdf>{BDF})\s{{1,8}}(?:On|Off|N/A|ERR!)\s{{0,8}}$")
_MEMORY_CELL = regex(r"\s{0,20}(?P<used>\d{1,9})\s?MiB\s{0,8}/\s{0,8}(?P<total>\d{1,9})\s?MiB\s{0,8}$")
_ECC_CELL = regex(r"\s{0,24}(\d{1,9})\s{0,4}$")
_LOAD_CELL = regex(r"\s{0,20}(?P<load>\d{1,3})%")
_PROCESS_CELL = regex(
    r"\s{0,8}(?P<index>\d{1,3})\s{1,8}(?:(?:N/A|\d{1,3})\s{1,8}(?:N/A|\d{1,3})\s{1,20})?(?P<pid>\d{1,10})\s{1,20}"
    r"(?:C\+G|M\+C|C|G)\s{1,8}(?P<name>\S?.{0,80}?)\s{1,60}(?:(?P<used>\d{1,9})MiB|N/A)\s{0,8}$"
)
_LISTED = regex(
    r"\s{0,8}GPU (?P<index>\d{1,3}): (?P<name>.{1,80}) "
    r"\(UUID: (?:(?P<uuid>GPU-[0-9a-f-]{8,60})|GPU-[0-9a-fxX*-]{2,40}(?:\.{2,3}|…)?)\)\s*$"
)
_VERSION_LINE = regex(
    r"(?:NVIDIA SMI)?[\s|]{0,60}(?P<what>NVIDIA-SMI|NVML|DRIVER|KMD|CUDA(?: UMD)?) [vV]ersion\s{0,20}"
    r": (?P<value>\S.{0,30}?)\s*$"
)
_WSL = regex(r"microsoft-standard-WSL|/usr/lib/wsl/|\bWSL2?\b")
_WINDOWS_RELEASE = regex(r"(\d{3})\.\d\d$")
_MOST_GPUS = 256
_MANY_UNREADABLE = 2
"""`ERR!` in one row: one alone may be a fan that the driver can't ask."""
_MOST_PROCESSES = 512


@dataclass
class _Table:
    """One table: its GPUs with the line of each, its processes, and its time where a date precedes it."""

    at_s: float | None
    gpus: dict[int, tuple[Gpu, int]] = field(default_factory=dict)
    processes: list[tuple[GpuProcess, int]] = field(default_factory=list)
    bad_memory: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Uncorrected ECC errors since the driver loaded, where there are any, and the line."""
    unreadable: dict[int, int] = field(default_factory=dict)
    """GPUs whose row is full of `ERR!`, and the line."""
    is_closed: bool = False


def read(section: Section) -> Iterator[Reading]:
    """NvidiaSmi, Gpu, GpuCount, GpuMemorySample, GpuProcess; what is bad: GpuEccCounts, NvmlError."""
    headers = list({one.fact: one for one in (*_versions(section), *_headers(section))}.values())
    yield from headers
    tables = _tables(section)
    if tables:
        yield from _of_last(section, tables[-1])
        yield from _memory(section, tables)
    listed = list(_listed(section))
    yield from listed
    yield from _looked(section, headers, tables, listed)


def _headers(section: Section) -> Iterator[Observed]:
    seen: set[NvidiaSmi] = set()
    for index, line in section.matching("NVIDIA-SMI "):
        match = _HEADER.search(line[:MOST_COLUMNS])
        if match is None or is_quoted(line[: match.start()]):
            continue
        fact = _smi(section, match["tool"], match["driver"], match["cuda"])
        if fact not in seen:
            seen.add(fact)
            yield section.observe(fact, index)


def _smi(section: Section, tool: str, driver: str, cuda: str | None) -> NvidiaSmi:
    """The three versions. Releases before 340 put a digit before their own: `NVIDIA-SMI 4.304.64`."""
    if tool.endswith(f".{driver}"):
        tool = driver
    return NvidiaSmi(
        tool_version=tool if _NUMBER.match(tool) else None,
        driver_version=driver if _NUMBER.match(driver) else None,
        cuda_version=cuda if cuda and _NUMBER.match(cuda) else None,
        cuda_missing=cuda in {"N/A", "ERR!", "Not Found"},
        wsl=_is_wsl(section, tool, driver),
    )


def _is_wsl(section: Section, tool: str, driver: str) -> bool:
    """On WSL the driver is a Windows release (two parts) near the release of the tool, and not the same."""
    windows, linux = _WINDOWS_RELEASE.match(driver), re.match(r"\d{3}\b", tool)
    if windows and linux and tool != driver and abs(int(windows[1]) - int(linux[0])) <= 3:
        return True
    return tool != driver and any(_WSL.search(line[:MOST_COLUMNS]) for line in section.lines[:50])


def _versions(section: Section) -> Iterator[Observed]:
    """`nvidia-smi --version`: four lines, each of them once."""
    values: dict[str, str] = {}
    first = last = -1
    for index, line in section.matching("ersion "):
        match = _VERSION_LINE.match(line[:200])
        if match is None:
            continue
        if match["what"] == "NVIDIA-SMI":
            first = index
            values.clear()
        if first >= 0 and index - first < 6:
            values[match["what"].replace("KMD", "DRIVER").replace(" UMD", "")] = match["value"]
            last = index
    if "DRIVER" in values:
        fact = _smi(section, values.get("NVIDIA-SMI", ""), values["DRIVER"], values.get("CUDA"))
        yield section.observe(fact, first, last)


def _tables(section: Section) -> list[_Table]:
    tables: list[_Table] = []
    last: Gpu | None = None
    header = -1
    for index, whole in section.matching("|", "+--"):
        line = whole[:MOST_COLUMNS]
        cells = line[line.find("|") :].split("|")[1:-1] if "|" in line else []
        if "NVIDIA-SMI " in line:
            header, last = index, None
        elif len(cells) == 3:
            gpu = _gpu(cells)
            if gpu and gpu.index is not None:
                if not tables or header >= 0 or gpu.index in tables[-1].gpus:
                    tables.append(_Table(_time_before(section, header)))
                    header = -1
                tables[-1].is_closed = False
                if len(tables[-1].gpus) < _MOST_GPUS:
                    tables[-1].gpus[gpu.index] = (gpu, index)
                    errors = _ECC_CELL.match(cells[2])
                    if errors and int(errors[1]):
                        tables[-1].bad_memory[gpu.index] = (int(errors[1]), index)
                last = gpu
            elif last and last.index is not None:
                _complete(tables[-1], last.index, cells)
                if line.count("ERR!") >= _MANY_UNREADABLE:
                    tables[-1].unreadable[last.index] = index
                last = None
        elif len(cells) == 1 and tables:
            _add_process(tables[-1], cells[0], index)
        elif "+--" in line and tables:
            tables[-1].is_closed = True
    return tables


def _time_before(section: Section, header: int) -> float | None:
    """The date that nvidia-smi prints above its table."""
    for index in range(header - 1, max(-1, header - 4), -1):
        if "|" not in section.lines[index]:
            found = time_s(section.lines[index])
            if found is not None:
                return found
    return None


def _gpu(cells: list[str]) -> Gpu | None:
    """The GPU of the first line of a row."""
    name, bus = _NAME_CELL.match(cells[0]), _BUS_CELL.match(cells[1])
    if name is None or bus is None:
        return None
    return Gpu(index=int(name["index"]), name=name["name"], bdf=bus["bdf"])


def _complete(table: _Table, index: int, cells: list[str]) -> None:
    """Adds what the second line of a row says."""
    memory, load = _MEMORY_CELL.match(cells[1]), _LOAD_CELL.match(cells[2])
    gpu, line = table.gpus[index]
    changes = {
        "memory_used_mib": int(memory["used"]) if memory else None,
        "memory_total_mib": int(memory["total"]) if memory else None,
        "utilisation_percent": int(load["load"]) if load else None,
    }
    table.gpus[index] = (gpu.model_copy(update=changes), line)


def _add_process(table: _Table, cell: str, index: int) -> None:
    match = _PROCESS_CELL.match(cell)
    if match and len(table.processes) < _MOST_PROCESSES:
        process = GpuProcess(
            index=int(match["index"]),
            pid=int(match["pid"]),
            name=match["name"] or None,
            used_mib=int(match["used"]) if match["used"] else None,
        )
        table.processes.append((process, index))


def _of_last(section: Section, table: _Table) -> Iterator[Observed]:
    for gpu, index in table.gpus.values():
        end = index if gpu.memory_used_mib is None else min(index + 1, len(section.lines) - 1)
        yield section.observe(gpu, index, end)
    for process, index in table.processes:
        yield section.observe(process, index)
    for number, (errors, index) in table.bad_memory.items():
        bdf = table.gpus[number][0].bdf
        yield section.observe(GpuEccCounts(index=number, bdf=bdf, scope="volatile", uncorrected=errors), index)
    for number, index in table.unreadable.items():
        bdf = table.gpus[number][0].bdf
        yield section.observe(
            NvmlError(problem="gpu-lost", tool="nvidia-smi", bdf=bdf, vague=True), index - 1, index
        )


def _memory(section: Section, tables: list[_Table]) -> Iterator[Observed]:
    orders = kept(range(len(tables)))
    for order, table in enumerate(tables):
        for gpu, index in table.gpus.values() if order in orders else ():
            if gpu.index is not None and gpu.memory_used_mib is not None:
                sample = GpuMemorySample(
                    index=gpu.index,
                    used_mib=gpu.memory_used_mib,
                    total_mib=gpu.memory_total_mib,
                    order=order,
                    at_s=table.at_s,
                )
                yield section.observe(sample, index, index + 1)


def _listed(section: Section) -> Iterator[Observed]:
    """The GPUs of `nvidia-smi -L`, which other commands of nvidia-smi use as headings too."""
    seen: set[Gpu] = set()
    for index, line in section.matching("(UUID: GPU-"):
        match = _LISTED.match(line[:300])
        if match and len(seen) < _MOST_GPUS:
            gpu = Gpu(index=int(match["index"]), name=match["name"], uuid=match["uuid"])
            if gpu not in seen:
                seen.add(gpu)
                yield section.observe(gpu, index)


def _looked(
    section: Section, headers: list[Observed], tables: list[_Table], listed: list[Observed]
) -> Iterator[Reading]:
    """A table that was cut shows not all GPUs; one that came shows that NVML answers."""
    command = command_of(section)
    is_selected = "|" in command or " -i" in command or " --id" in command
    if headers:
        yield section.looked(NvidiaSmi)
    if tables or listed:
        whole = not is_selected and (tables[-1].is_closed if tables else _is_list(section, command))
        yield section.looked(Gpu, complete=whole)
        if whole:
            shown = len(tables[-1].gpus) if tables else len(listed)
            fact = GpuCount(seen_by="driver", count=shown, reported_by="nvidia-smi")
            if tables:
                yield section.observe(fact, next(iter(tables[-1].gpus.values()))[1])
            else:
                yield Observed(fact, listed[0].source)
            yield section.looked(GpuCount)
        yield section.looked(NvmlError)
    if tables:
        told = any(gpu.memory_used_mib is not None for gpu, _ in tables[-1].gpus.values())
        yield section.looked(GpuMemorySample, complete=told and not is_selected)
        yield section.looked(GpuProcess, complete=False, reason="not-collected")


def _is_list(section: Section, command: str) -> bool:
    """Whether this is `nvidia-smi -L`, and not a command that heads its output with the GPUs it is about."""
    if command:
        return re.search(r" (?:-L|--list-gpus)\b", command) is not None
    lines = [line for line in section.lines if line.strip()]
    return all(_LISTED.match(line[:300]) or line.startswith("  MIG ") for line in lines)


READER = Reader(
    "nvidia-smi-table",
    read,
    markers=("NVIDIA-SMI ", "(UUID: GPU-", "MiB |", "NVIDIA-SMI version", ".0 Off |", ".0  On |"),
)
