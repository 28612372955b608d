"""NCCL's topology and graph files: GPUs, network devices, their links, and the channels that the search found.

    <system version="1">
      <pci busid="0000:17:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">

Follows NCCL 2.4 to 2.32 (src/graph/xml.cc, topo.cc, search.cc): what NCCL_TOPO_DUMP_FILE and
NCCL_GRAPH_DUMP_FILE write and NCCL_TOPO_FILE and NCCL_GRAPH_FILE read, vendors' files of machine types included.
Entity declarations are refused; what stands before a fault counts, and the whole is then not summed up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.parsers import expat

from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section, Unread
from kb.facts.base import normal_bdf
from kb.facts.nccl_tools import NcclGraph, NcclTopology, NcclTopologyGpu, NcclTopologyNic

MOST_DEPTH = 64
MOST_ELEMENTS = 50_000
MOST_COLUMNS = 100_000
UNKNOWN_WIDTH = 33
"""The kernel says 255 or 63 where it does not know."""

_BEGIN = ("<system version=", "<graphs version=")
_END = ("</system>", "</graphs>")
_BDF = regex(rf"{BDF}$")
_SPEED = regex(r"(\d{1,3}(?:\.\d)?) GT/s")

Pattern = Literal["ring", "tree", "collnet", "nvls", "other"]
_PATTERNS: dict[int, Pattern] = {1: "tree", 2: "tree", 3: "tree", 4: "ring", 5: "nvls", 6: "collnet"}


class _EntityError(ValueError):
    """The document declares an entity, which NCCL never does and bombs are made of."""


@dataclass(slots=True)
class _Device:
    """One GPU or network device, its attributes, and those of the PCI device it stands in."""

    index: int
    attributes: dict[str, str]
    pci: dict[str, str]
    numa: int | None
    nvlinks: dict[str, int] = field(default_factory=dict)


@dataclass
class _Document:
    """What one document holds, as far as it could be read."""

    offset: int
    parser: Any = None
    path: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    elements: int = 0
    cpus: int = 0
    hashed: bool = False
    gpus: list[_Device] = field(default_factory=list)
    nics: list[_Device] = field(default_factory=list)
    graphs: list[tuple[dict[str, str], int]] = field(default_factory=list)
    fault: str | None = None

    @property
    def index(self) -> int:
        """Where the parser stands, as an index into the section."""
        return self.offset + int(self.parser.CurrentLineNumber) - 1

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Takes the beginning of one element."""
        self.path.append((name, attributes))
        self.elements += 1
        if len(self.path) > MOST_DEPTH or self.elements > MOST_ELEMENTS:
            raise ValueError("more elements, or deeper ones, than NCCL writes")
        if name == "cpu":
            self.cpus += 1
            self.hashed = self.hashed or "host_hash" in attributes
        elif name == "gpu" and self._in("pci") is not None:
            self.gpus.append(self._device(attributes))
        elif name == "net":
            self.nics.append(self._device(attributes))
        elif name == "nvlink" and self.gpus and len(self.path) > 1 and self.path[-2][0] == "gpu":
            target = attributes.get("target", "")
            links = self.gpus[-1].nvlinks
            links[target] = links.get(target, 0) + (_number(attributes.get("count")) or 0)
        elif name == "graph":
            self.graphs.append((attributes, self.index))

    def end(self, _name: str) -> None:
        """Takes the end of one element."""
        self.path.pop()

    def _in(self, name: str) -> dict[str, str] | None:
        return next((attributes for one, attributes in reversed(self.path[:-1]) if one == name), None)

    def _device(self, attributes: dict[str, str]) -> _Device:
        cpu = self._in("cpu") or {}
        return _Device(self.index, attributes, self._in("pci") or {}, _number(cpu.get("numaid")))


def read(section: Section) -> Iterator[Reading]:
    """The facts of each document in the section."""
    for begin, end in _documents(section.lines):
        document = _parsed(section.lines[begin : end + 1], begin)
        yield from _facts(section, document, end)
        for fact_type in (NcclTopologyGpu, NcclTopologyNic, NcclTopology):
            if not document.graphs:
                yield section.looked(fact_type, complete=document.fault is None)
        if document.fault is not None:
            why = f"an NCCL topology or graph file: {document.fault}"
            yield Unread(section.path, "unreadable", why)


def _documents(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    begin: int | None = None
    for index, line in enumerate(lines):
        text = line[:200].lstrip()
        if text.startswith(_BEGIN):
            if begin is not None:
                yield begin, index - 1
            begin = index
        if begin is not None and any(end in line[-400:] for end in _END):
            yield begin, index
            begin = None
    if begin is not None:
        yield begin, len(lines) - 1


def _parsed(lines: Sequence[str], offset: int) -> _Document:
    document = _Document(offset)
    parser = document.parser = expat.ParserCreate()
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.EntityDeclHandler = _refuse
    try:
        for line in lines:
            parser.Parse(line[:MOST_COLUMNS].strip() + "\n", False)
        parser.Parse("", True)
    except (expat.ExpatError, ValueError, IndexError) as error:
        document.fault = str(error)[:200]
    return document


def _refuse(*_arguments: object) -> None:
    raise _EntityError("it declares an entity, which is refused")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.removeprefix("-").isdecimal() and len(text) < 12 else None


def _real(text: str | None) -> float | None:
    try:
        return float(text) if text is not None and len(text) < 24 else None
    except ValueError:
        return None


def _bdf(text: str | None) -> str | None:
    return text if text is not None and _BDF.match(text) else None


def _link(pci: dict[str, str]) -> tuple[float | None, int | None]:
    speed = _SPEED.match(pci.get("link_speed", ""))
    width = _number(pci.get("link_width"))
    return float(speed[1]) if speed else None, width if width and width < UNKNOWN_WIDTH else None


def _facts(section: Section, document: _Document, end: int) -> Iterator[Observed]:
    for device in document.gpus:
        if (gpu := _gpu(device)) is not None:
            yield section.observe(gpu, device.index)
    for device in document.nics:
        if (nic := _nic(device)) is not None:
            yield section.observe(nic, device.index)
    for attributes, index in document.graphs:
        yield section.observe(_graph(attributes), index)
    if document.fault is None and (document.gpus or document.nics or document.cpus):
        yield section.observe(_whole(document), document.offset, end)


def _gpu(device: _Device) -> NcclTopologyGpu | None:
    index, sm, gdr = (_number(device.attributes.get(name)) for name in ("dev", "sm", "gdr"))
    if index is None:
        return None
    speed, width = _link(device.pci)
    return NcclTopologyGpu(
        index=index,
        bdf=_bdf(device.pci.get("busid")),
        rank=_number(device.attributes.get("rank")),
        compute_capability=f"{sm // 10}.{sm % 10}" if sm else None,
        gdr=None if gdr is None else gdr == 1,
        numa_node=device.numa,
        link_speed_gts=speed,
        link_width=width,
        nvlinks=sum(device.nvlinks.values()),
    )


def _nic(device: _Device) -> NcclTopologyNic | None:
    name = device.attributes.get("name")
    if not name:
        return None
    speed, width = _link(device.pci)
    gdr = _number(device.attributes.get("gdr"))
    return NcclTopologyNic(
        name=name[:80],
        bdf=_bdf(device.pci.get("busid")),
        speed_mbps=_number(device.attributes.get("speed")),
        gdr=None if gdr is None else gdr == 1,
        numa_node=device.numa,
        link_speed_gts=speed,
        link_width=width,
    )


def _graph(attributes: dict[str, str]) -> NcclGraph:
    return NcclGraph(
        pattern=_PATTERNS.get(_number(attributes.get("pattern")) or 0, "other"),
        channels=_number(attributes.get("nchannels")) or 0,
        speed_intra_gbps=_real(attributes.get("speedintra")),
        speed_inter_gbps=_real(attributes.get("speedinter")),
        type_intra=attributes.get("typeintra"),
        type_inter=attributes.get("typeinter"),
    )


def _whole(document: _Document) -> NcclTopology:
    links = [sum(gpu.nvlinks.values()) for gpu in document.gpus]
    widths = [width for gpu in document.gpus if (width := _link(gpu.pci)[1]) is not None]
    ranked = any("rank" in gpu.attributes for gpu in document.gpus)
    written_by: Literal["nccl", "hand", "unknown"] = "nccl" if ranked or document.hashed else "unknown"
    return NcclTopology(
        gpus=len(document.gpus),
        nics=len(document.nics),
        cpus=document.cpus,
        nvlinks_least=min(links, default=0),
        nvlinks_most=max(links, default=0),
        one_sided_links=_one_sided(document.gpus),
        narrowest_gpu_link=min(widths, default=None),
        written_by=written_by if document.gpus else "hand",
    )


def _one_sided(gpus: Sequence[_Device]) -> int:
    """Pairs of GPUs of which one counts more links to the other than that one counts back."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    places = {normal_bdf(busid) for gpu in gpus if (busid := _bdf(gpu.pci.get("busid"))) is not None}
    for gpu in gpus:
        source = _bdf(gpu.pci.get("busid"))
        for target, count in gpu.nvlinks.items():
            if source and _bdf(target) and normal_bdf(target) in places:
                counts[normal_bdf(source), normal_bdf(target)] += count
    return sum(
        count != counts.get((dst, src), 0)
        for (src, dst), count in counts.items()
        if src < dst or not counts.get((dst, src))
    )


READER = Reader("nccl-topology-file", read, markers=_BEGIN, context=(0, 2000))
