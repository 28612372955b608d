"""nvidia-smi's matrices of GPUs: `topo -m`, how devices are connected, and `topo -p2p r|w`, peer access offered.

            GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
    GPU0     X      NV18    PIX     0-47            0               N/A
    GPU0     X      CNS

Follows drivers 375 to 610: NICs named `NIC0` or, before 500, `mlx5_0`; the header underlined or not. Of -p2p the
properties n, a and p are no peer access and give nothing. A matrix that is cut gives the rows that are whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from collectors.readers._regex import regex
from kb.cpu_lists import cpus_in, ranges
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.gpu_bus import GpuLocalCpus
from kb.facts.p2p import PeerAccess, TopologyLink

_DEVICE = regex(r"GPU\d{1,3}|NIC\d{1,3}|(?:mlx|hfi|bnxt_re|irdma|efa|rocep|ib|mthca|cxi|rdmap|qedr)[\w.-]{0,30}")
_LINK = regex(r"X|SYS|NODE|PHB|PXB|PIX|SOC|NV\d{1,3}")
_STATUS = regex(r"X|OK|CNS|GNS|TNS|NS|DR|U")
_LOST_ESCAPE = regex(r"\x1b?\[\d{0,3}m")
_PROPERTY = regex(r"nvidia-smi\b.{0,100}\s-p2p\s{1,4}[\"']?(?P<property>\w)")


class _Row(NamedTuple):
    """One device, with the index of its line."""

    line: int
    name: str
    values: tuple[str, ...]
    rest: tuple[str, ...]
    """Behind those of the devices: CPU affinity and NUMA affinity."""


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Columns and rows of one matrix."""

    columns: tuple[str, ...]
    rows: tuple[_Row, ...]
    numa_ids: bool = False
    """Rows end in a column GPU NUMA ID: three values follow the links, or the first of them is empty."""

    def cells(self) -> Iterator[tuple[int, str, str, str]]:
        """Line, row, column and value of each cell off the diagonal."""
        for row in self.rows:
            for column, value in zip(self.columns, row.values, strict=False):
                if column != row.name:
                    yield row.line, row.name, column, value


def read(section: Section) -> Iterator[Reading]:
    """TopologyLink for each pair with a GPU in it, once; GpuLocalCpus of each; PeerAccess by ordered pairs."""
    links: dict[tuple[str, str], Observed] = {}
    local: dict[int, Observed] = {}
    access: dict[tuple[int, int], Observed] = {}
    whole = True
    for matrix in _matrices(section.lines):
        values = {value for *_, value in matrix.cells()}
        whole = whole and {row.name for row in matrix.rows} == set(matrix.columns)
        local = _local(section, matrix) | local
        if values and all(_LINK.fullmatch(value) for value in values):
            links |= _links(section, matrix, known=set(links))
        elif values and all(_STATUS.fullmatch(value) for value in values) and _is_access(section, values):
            access |= _access(section, matrix)
    yield from links.values()
    yield from local.values()
    yield from access.values()
    if links:
        yield section.looked(TopologyLink, complete=whole)
    if access:
        yield section.looked(PeerAccess, complete=whole)


def _matrices(lines: Sequence[str]) -> Iterator[_Matrix]:
    index = 0
    while index < len(lines):
        columns = _header(lines[index]) if "GPU0" in lines[index] else ()
        index += 1
        if not columns:
            continue
        rows = []
        while index < len(lines) and (row := _row(lines[index], columns)) is not None:
            rows.append(_Row(index, *row))
            index += 1
        yield _Matrix(columns, tuple(rows), numa_ids="GPU NUMA ID" in lines[index - len(rows) - 1])


def _header(line: str) -> tuple[str, ...]:
    """The device names of a header line; nothing where the line is a row or anything else."""
    words = _LOST_ESCAPE.sub("", line[:8000]).replace("CPU Affinity", " CPU Affinity").split()
    names: list[str] = []
    for word in words:
        if not _DEVICE.fullmatch(word):
            break
        names.append(word)
    rest = words[len(names) : len(names) + 1]
    return tuple(names) if names and names[0] == "GPU0" and rest in ([], ["CPU"]) else ()


def _row(line: str, columns: tuple[str, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    words = line[:8000].split()
    if not words or words[0] not in columns or len(words) <= len(columns):
        return None
    end = len(columns) + 1
    return words[0], tuple(words[1:end]), tuple(words[end : end + 3])


def _links(section: Section, matrix: _Matrix, *, known: set[tuple[str, str]]) -> dict[tuple[str, str], Observed]:
    found: dict[tuple[str, str], Observed] = {}
    for index, row, column, value in matrix.cells():
        src, dst = (row, column) if row.startswith("GPU") else (column, row)
        pairs = {(src, dst), (dst, src)}
        if src.startswith("GPU") and not pairs & (known | found.keys()):
            found[src, dst] = section.observe(TopologyLink(src=src, dst=dst, link=value), index)
    return found


def _local(section: Section, matrix: _Matrix) -> dict[int, Observed]:
    """Of a GPU's row that ends in a list of processors; `N/A` is none, nor is what may be cut."""
    found: dict[int, Observed] = {}
    for row in matrix.rows:
        if matrix.numa_ids and row.name.startswith("GPU") and len(row.rest) == 2:
            if row.rest[1] == "N/A" and row.rest[0].isdecimal() and all(map(_LINK.fullmatch, row.values)):
                fact = GpuLocalCpus(index=int(row.name[3:]), list="", numa_node=int(row.rest[0][:4]))
                found.setdefault(fact.index, section.observe(fact, row.line))
            continue
        whole = len(row.rest) > 1 or row.line < len(section.lines) - 1
        cpus = cpus_in(row.rest[0]) if row.rest and row.name.startswith("GPU") else frozenset()
        if cpus and whole and all(_LINK.fullmatch(value) for value in row.values):
            node = row.rest[1] if len(row.rest) > 1 else ""
            fact = GpuLocalCpus(
                index=int(row.name[3:]), list=ranges(cpus), numa_node=int(node[:4]) if node.isdecimal() else None
            )
            found.setdefault(fact.index, section.observe(fact, row.line))
    return found


def _is_access(section: Section, values: set[str]) -> bool:
    """Whether the matrix is of reads or writes; where no command tells, NS alone may be of another property."""
    command = _PROPERTY.search(section.command) if section.command is not None else None
    if command is not None:
        return command["property"] in {"r", "w"}
    return bool(values - {"NS", "X"})


def _access(section: Section, matrix: _Matrix) -> dict[tuple[int, int], Observed]:
    found: dict[tuple[int, int], Observed] = {}
    for index, row, column, value in matrix.cells():
        if row.startswith("GPU") and column.startswith("GPU"):
            src, dst = int(row[3:]), int(column[3:])
            fact = PeerAccess(src=src, dst=dst, offered=value == "OK", status=value, reported_by="topo-p2p")
            found[src, dst] = section.observe(fact, index)
    return found


READER = Reader(
    "topology-matrix",
    read,
    markers=("GPU0\t", "GPU0 ", "CPU Affinity"),
    commands=("nvidia-smi topo",),
)
