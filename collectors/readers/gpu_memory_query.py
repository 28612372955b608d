"""Memory of GPUs over time from `nvidia-smi --query-gpu=… --format=csv`, one query or many in a row.

    # 12:20:40 nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader
    0, 1125 MiB, 97887 MiB
    2025/09/08 10:04:00.112, 0, 2904 MiB

Follows the CSV of nvidia-smi 304-610. Columns come from the header row, or from the query in the command or in a
line before the rows; without either, a row `0, 1125 MiB, 97887 MiB` still tells itself. Rows with another number
of columns, and values such as `[N/A]`, give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import BDF, command_of
from collectors.readers._regex import regex
from collectors.readers._samples import kept, time_s
from kb.evidence import Looked, Observed, Reader, Reading, Section
from kb.facts.driver import NvidiaSmi
from kb.facts.gpu import Gpu, GpuMemorySample

_QUERY = regex(r"nvidia-smi\b.{0,200}?--query-gpu[= ](?P<columns>[\w.,]{1,8000})")
_HEADER_CELL = regex(r"[a-z][\w.]{0,70}(?: \[[\w%/]{1,8}\])?$")
_KNOWN = frozenset(
    {"timestamp", "index", "name", "gpu_name", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "driver_version"}
)
_BARE_ROW = regex(r"\s{0,4}(\d{1,3}), (\d{1,9}) MiB, (\d{1,9}) MiB\s*$")
_NUMBER = regex(r"(\d{1,9})(?: MiB| %)?$")
_WATTS = regex(r"(\d{1,5}(?:\.\d{1,3})?)(?: W)?$")
_BDF = regex(rf"{BDF}$")
_UUID = regex(r"GPU-[0-9a-f-]{8,60}$")
_RELEASE = regex(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?$")
_FORMS = {
    "index": regex(r"\d{1,3}$"),
    "memory": _NUMBER,
    "utilization": _NUMBER,
    "uuid": _UUID,
    "gpu_uuid": _UUID,
    "pci.bus_id": _BDF,
    "gpu_bus_id": _BDF,
    "driver_version": _RELEASE,
    "timestamp": regex(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d"),
}
_OF_OTHER_QUERIES = frozenset({"pid", "gpu_name", "gpu_uuid", "gpu_bus_id", "gpu_serial"})
"""In a header row: processes, retired pages and the like are listed, not GPUs."""
_TIME_COLUMNS = 60
_MOST_COLUMNS = 16_000
"""A query of every property is one line."""


@dataclass
class _Query:
    """The rows of one query: each GPU's line and cells by column."""

    rows: dict[int, tuple[int, dict[str, str]]] = field(default_factory=dict)
    at_s: float | None = None


def read(section: Section) -> Iterator[Reading]:
    """GpuMemorySample for each GPU and query, and Gpu where the columns tell more than the memory."""
    queries = [query for query in _queries(section) if query.rows]
    if not queries:
        return
    samples = list(_samples(section, queries))
    yield from samples
    gpus = list(_gpus(section, queries[-1]))
    yield from gpus
    yield from _driver(section, queries[-1])
    yield from _looked(section, has_samples=bool(samples), has_gpus=bool(gpus))


def _queries(section: Section) -> list[_Query]:
    columns = _columns_of(section.command or "")
    queries: list[_Query] = []
    time: float | None = None
    is_new = True
    for index, whole in enumerate(section.lines):
        line = whole[:_MOST_COLUMNS]
        if not columns and _says_nothing(line):
            continue
        cells = [cell.strip() for cell in line.split(", ")]
        if "--query-gpu" in line:
            columns, is_new = _columns_of(line), True
            found = time_s(line.split("nvidia-smi", 1)[0])
            time = time if found is None else found
        elif "--query-" in line:
            columns = []
        elif len(cells) > 1 and _is_header(cells):
            columns, is_new = [cell.split(" ", 1)[0] for cell in cells], True
            columns = [] if _OF_OTHER_QUERIES & set(columns) else columns
        elif len(cells) == 1:
            found = time_s(line) if line.strip() and len(line) < _TIME_COLUMNS else None
            time, is_new = (found, True) if found is not None else (time, is_new)
        if (named := _named(line, cells, columns)) is not None:
            _add(queries, index, named, time, is_new=is_new)
            is_new, time = False, None
    return queries


def _says_nothing(line: str) -> bool:
    """Whether a line is no query, no header, no row that tells itself, and no time; cheap, for logs."""
    may_be_header = ", " in line and line.lstrip()[:1].islower()
    return not (may_be_header or len(line) < _TIME_COLUMNS or "--query-" in line or " MiB, " in line)


def _columns_of(text: str) -> list[str]:
    match = _QUERY.search(text[:_MOST_COLUMNS])
    return match["columns"].split(",") if match else []


def _is_header(cells: list[str]) -> bool:
    names = [cell.split(" ", 1)[0] for cell in cells]
    return all(_HEADER_CELL.match(cell) for cell in cells) and any(
        name in _KNOWN or name.startswith("memory.") for name in names
    )


def _named(line: str, cells: list[str], columns: list[str]) -> dict[str, str] | None:
    """The cells by column; None where the line is no row."""
    if columns:
        is_row = len(cells) == len(columns) and not _is_header(cells) and "--query-gpu" not in line
        return dict(zip(columns, cells, strict=True)) if is_row and _fits(columns, cells) else None
    match = _BARE_ROW.match(line)
    if match is None:
        return None
    if int(match[2]) > int(match[3]):  # not used and total: who knows what
        return None
    return {"index": match[1], "memory.used": match[2], "memory.total": match[3]}


def _fits(columns: list[str], cells: list[str]) -> bool:
    """Whether the values can be those of the columns, or are refusals in brackets; one at least must tell."""
    tells = 0
    for column, cell in zip(columns, cells, strict=True):
        form = _FORMS.get(column.split(".", 1)[0] if column.startswith(("memory.", "utilization.")) else column)
        if form is None or cell.startswith("["):
            continue
        if not form.match(cell):
            return False
        tells += 1
    return tells > 0


def _add(queries: list[_Query], index: int, cells: dict[str, str], time: float | None, *, is_new: bool) -> None:
    """Enters a row; a GPU that its query already has begins the next one, as `-l` prints them."""
    if cells.get("timestamp"):
        time = time_s(cells["timestamp"])
    number = _NUMBER.match(cells.get("index", ""))
    known = _by_identity(queries, cells) if number is None else int(number[1])
    if not queries or is_new or (known is not None and known in queries[-1].rows):
        if queries and time is not None and queries[-1].at_s is not None and queries[-1].at_s - time > 43_200:
            time += 86_400.0 * ((queries[-1].at_s - time + 43_200) // 86_400)
        queries.append(_Query(at_s=time))
    gpu = known if known is not None else len(queries[-1].rows)
    queries[-1].rows[gpu] = (index, cells)


def _by_identity(queries: list[_Query], cells: dict[str, str]) -> int | None:
    """The number that a GPU without an index column was given in the query before."""
    for name in ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"):
        if name in cells and queries:
            for number, (_, row) in queries[-1].rows.items():
                if row.get(name) == cells[name]:
                    return number
    return None


def _samples(section: Section, queries: list[_Query]) -> Iterator[Observed]:
    orders = kept(range(len(queries)))
    for order, query in enumerate(queries):
        for gpu, (index, cells) in query.rows.items() if order in orders else ():
            used = _NUMBER.match(cells.get("memory.used", ""))
            total = _NUMBER.match(cells.get("memory.total", ""))
            if used:
                sample = GpuMemorySample(
                    index=gpu,
                    used_mib=int(used[1]),
                    total_mib=int(total[1]) if total else None,
                    order=order,
                    at_s=query.at_s,
                    utilisation_percent=_whole(cells, "utilization.gpu"),
                    memory_utilisation_percent=_whole(cells, "utilization.memory"),
                    power_w=float(power[1]) if (power := _WATTS.match(cells.get("power.draw", ""))) else None,
                )
                yield section.observe(sample, index)


def _whole(cells: dict[str, str], column: str) -> int | None:
    match = _NUMBER.match(cells.get(column, ""))
    return int(match[1]) if match else None


def _gpus(section: Section, query: _Query) -> Iterator[Observed]:
    for number, (index, cells) in query.rows.items():
        name = cells.get("name") or cells.get("gpu_name")
        bdf = cells.get("pci.bus_id") or cells.get("gpu_bus_id") or ""
        uuid = cells.get("uuid") or cells.get("gpu_uuid") or ""
        used, total, load = (
            _NUMBER.match(cells.get(column, "")) for column in ("memory.used", "memory.total", "utilization.gpu")
        )
        if name or _BDF.match(bdf) or _UUID.match(uuid):
            gpu = Gpu(
                index=number,
                name=name,
                bdf=bdf if _BDF.match(bdf) else None,
                uuid=uuid if _UUID.match(uuid) else None,
                memory_used_mib=int(used[1]) if used else None,
                memory_total_mib=int(total[1]) if total else None,
                utilisation_percent=int(load[1]) if load else None,
            )
            yield section.observe(gpu, index)


def _driver(section: Section, query: _Query) -> Iterator[Reading]:
    for index, cells in query.rows.values():
        release = cells.get("driver_version", "")
        if _RELEASE.match(release):
            yield section.observe(NvidiaSmi(driver_version=release), index)
            yield section.looked(NvidiaSmi)
            return


def _looked(section: Section, *, has_samples: bool, has_gpus: bool) -> Iterator[Looked]:
    command = command_of(section)
    is_selected = "|" in command or re.search(r" (?:-i|--id)\b", command) is not None
    if has_samples:
        yield section.looked(GpuMemorySample)
    if has_gpus:
        yield section.looked(Gpu, complete=not is_selected)


READER = Reader(
    "gpu-memory-query",
    read,
    markers=("--query-gpu", "memory.used", "memory.total", "MiB", "pci.bus_id"),
    commands=("nvidia-smi", "watch", "while", "for"),
)
