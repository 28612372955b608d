"""Memory of the machine and of control groups: free, /proc/meminfo, the files of cgroup v1 and v2.

    Mem:        8164548     5978528      850788         932     1335232     1949008
    MemTotal:       528280588 kB
    /sys/fs/cgroup/memory.events:oom_kill 3

Follows free of procps 3.2 to 4, proc(5) and the kernel's cgroup documentation. A table of free without units in a
small range, where KiB and MiB can't be told apart, gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._places import size_mib
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.storage import CgroupMemory, HostMemory

_HEADING = regex(
    r"\s{4,30}\S{3,12}(?:\s{1,20}\S{2,12}){3}\s{1,20}(?P<cached>buff/cache|\S{3,12})(?:\s{1,20}\S{2,20})?\s*$"
)
_AMOUNT = r"[\d.,]{1,20}[KMGTPEBi]{0,3}"
_ROW = regex(
    r"(?P<what>Mem|Swap|Speicher|Auslagerung|内存|交换|-/\+ buffers/cache):?\s{1,20}"
    rf"(?P<values>{_AMOUNT}(?:\s{{1,20}}{_AMOUNT}){{1,6}})\s*$"
)
_IN_ENGLISH = {"Speicher": "Mem", "内存": "Mem", "Auslagerung": "Swap", "交换": "Swap"}
_MEMINFO = regex(
    r"(?:(?P<name>MemTotal|MemAvailable|SwapTotal|SwapFree|Shmem|Hugepagesize):\s{1,20}(?P<value>\d{1,15}) kB"
    r"|(?P<pages>HugePages_Total):\s{1,20}(?P<count>\d{1,15}))\s*$"
)
_CGROUP = regex(
    r"(?:/\S{1,300}/)?(?P<name>memory\.(?:max|current|peak|events|high|limit_in_bytes|usage_in_bytes|max_usage_in_bytes"
    r"|failcnt|oom_control)):(?P<value>.{1,60})$"
)
_CAT = regex(r"cat \S{1,300}/(?P<name>memory\.[\w.]{2,30})\s*$")
_NO_LIMIT = 1 << 62
_FLAG = regex(r"free\b.{0,40}? -[a-z]{0,3}(?P<unit>[bkmgh])")


def read(section: Section) -> Iterator[Reading]:
    """HostMemory from each source, and one CgroupMemory of all files of a control group together."""
    found = [*_free(section), *_meminfo(section)]
    yield from found
    if found:
        yield section.looked(HostMemory)
    groups = list(_cgroup(section))
    yield from groups
    if groups:
        yield section.looked(CgroupMemory)


def _free(section: Section) -> Iterator[Observed]:
    """The last table of free."""
    rows: dict[str, list[int]] = {}
    lines: dict[str, int] = {}
    has_available = False
    for index, whole in enumerate(section.lines):
        line = whole[:300]
        heading = _HEADING.match(line)
        if heading:
            has_available = heading["cached"] == "buff/cache"
        match = _ROW.match(line)
        if match:
            what = _IN_ENGLISH.get(match["what"], match["what"])
            sizes = [_size(section, value) for value in match["values"].split()]
            rows[what] = [size for size in sizes if size is not None]
            lines[what] = index
    values = rows.get("Mem", [])
    if len(values) < 3 or values[0] <= 0:
        return
    unbuffered = rows.get("-/+ buffers/cache", [])
    available = (
        values[5] if has_available and len(values) > 5 else unbuffered[-1] if len(unbuffered) == 2 else None
    )
    swap = rows.get("Swap", [])
    fact = HostMemory(
        total_mib=values[0],
        available_mib=available,
        swap_total_mib=swap[0] if swap else None,
        swap_free_mib=swap[2] if len(swap) > 2 else None,
        shared_mib=values[3] if len(values) > 3 else None,
        available_percent=available * 100 // values[0] if available is not None else None,
    )
    yield section.observe(fact, lines["Mem"], max(lines.values()))


def _size(section: Section, text: str) -> int | None:
    """A value in MiB, in the unit that it or the command carries; None where the unit can't be told."""
    if not text[-1].isdigit():
        return size_mib(text)
    named = _FLAG.match(command_of(section))
    path = section.path.rsplit("/", 1)[-1]
    unit = named["unit"] if named else path[-1:] if path.startswith("free_-") else None
    if unit is None and (command_of(section).startswith("free") or len(text) > 7 or path == "free"):
        unit = "k"
    if unit is None:
        return 0 if text == "0" else None
    return size_mib(text, "" if unit in {"b", "h"} else unit)


def _meminfo(section: Section) -> Iterator[Observed]:
    values: dict[str, int] = {}
    lines: list[int] = []
    for index, line in section.matching("Mem", "Swap", "Shmem", "Huge"):
        match = _MEMINFO.match(line[:200])
        name = match and (match["name"] or match["pages"])
        if match and name and name not in values:
            values[name] = int(match["value"] or match["count"])
            lines.append(index)
    if "MemTotal" not in values or not values["MemTotal"]:
        return

    def mib(name: str) -> int | None:
        return values[name] // 1024 if name in values else None

    pages = values.get("HugePages_Total", 0) * values.get("Hugepagesize", 0)
    available = mib("MemAvailable")
    fact = HostMemory(
        total_mib=values["MemTotal"] // 1024,
        available_mib=available,
        swap_total_mib=mib("SwapTotal"),
        swap_free_mib=mib("SwapFree"),
        shared_mib=mib("Shmem"),
        hugepages_mib=pages // 1024 if "HugePages_Total" in values else None,
        available_percent=available * 1024 * 100 // values["MemTotal"] if available is not None else None,
    )
    yield section.observe(fact, lines[0])


@dataclass
class _Group:
    """What the files of a control group say, by name of file and of entry."""

    values: dict[str, int | None]
    first: int = -1
    last: int = 0


def _cgroup(section: Section) -> Iterator[Observed]:
    group = _Group({})
    asked = _CAT.match(command_of(section))
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS].strip()
        match = _CGROUP.match(line) if "memory." in line else None
        name, value = (match["name"], match["value"]) if match else (asked["name"] if asked else "", line)
        if name and _take(group, name, value.strip()):
            group.first = index if group.first < 0 else group.first
            group.last = index
    if group.first < 0:
        return

    def mib(*names: str) -> int | None:
        value = next((group.values[name] for name in names if group.values.get(name) is not None), None)
        return value // 1024**2 if value is not None and value < _NO_LIMIT else None

    limits = [group.values[name] for name in ("memory.max", "memory.limit_in_bytes") if name in group.values]
    fact = CgroupMemory(
        unlimited=limits[0] is None or limits[0] >= _NO_LIMIT if limits else None,
        limit_mib=mib("memory.max", "memory.limit_in_bytes"),
        current_mib=mib("memory.current", "memory.usage_in_bytes"),
        peak_mib=mib("memory.peak", "memory.max_usage_in_bytes"),
        oom_kills=group.values.get("oom_kill"),
        at_limit=group.values.get("max", group.values.get("memory.failcnt")),
    )
    yield section.observe(fact, group.first, group.last)


def _take(group: _Group, name: str, value: str) -> bool:
    """Adds one line of one file; events are `name number`."""
    if name in {"memory.events", "memory.oom_control"}:
        entry, _, number = value.partition(" ")
        if not number.isdecimal():
            return False
        group.values.setdefault(entry, int(number[:18]))
        return True
    if value != "max" and not value.isdecimal():
        return False
    group.values.setdefault(name, None if value == "max" else int(value[:20]))
    return True


READER = Reader(
    "host-memory",
    read,
    markers=("Mem: ", "MemTotal:", "memory.max:", "memory.limit_in_bytes:", "memory.events:", "Speicher:", "内存"),
    commands=("free", "cat /sys/fs/cgroup/memory", "cat /proc/meminfo"),
)
