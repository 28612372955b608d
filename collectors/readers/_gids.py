"""Tables of global identifiers, from show_gids and ibv_devinfo -v. No reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._addresses import IPV4
from collectors.readers._regex import regex
from kb.evidence import Section
from kb.facts.network import GidTable

_ROW = regex(
    r"(?P<device>[A-Za-z][\w.-]{1,60})\s{1,16}(?P<port>\d{1,3})\s{1,16}(?P<index>\d{1,3})\s{1,16}"
    rf"(?P<gid>[0-9a-f:]{{7,39}})(?:\s{{1,24}}(?P<ip>{IPV4}))?\s{{1,24}}[vV](?P<version>[12])(?:\s|$)"
)
_DEVICE = regex(r"hca_id:\s{1,8}(?P<device>[\w.-]{1,60})\s*$")
_PORT = regex(r"\s{0,24}port:\s{1,8}(?P<port>\d{1,3})\s*$")
_GID = regex(
    r"\s{1,40}GID\[\s{0,4}(?P<index>\d{1,3})\]:\s{1,16}(?P<gid>[0-9a-f:.]{2,45})"
    r"(?:, (?P<type>RoCE v[12](?:\.5)?|IB/RoCE v1|IB))?"
)


@dataclass(frozen=True)
class _Entry:
    """One row."""

    device: str
    port: int
    index: int
    version: int
    family: str
    """ipv4, ipv6, or link for an address of one cable only."""
    line: int


def gid_tables(section: Section) -> list[tuple[GidTable, int, int]]:
    """The table of each port, with its first and last line."""
    tables: dict[tuple[str, int], list[_Entry]] = {}
    for entry in (*_rows(section), *_verbose(section)):
        tables.setdefault((entry.device, entry.port), []).append(entry)
    ordered = [sorted(entries, key=lambda entry: entry.line) for entries in tables.values()]
    return [(_table(entries), entries[0].line, entries[-1].line) for entries in ordered]


def _table(entries: list[_Entry]) -> GidTable:
    def indices(family: str) -> str | None:
        found = [str(one.index) for one in entries if one.version == 2 and one.family == family]
        return ", ".join(found[:20]) or None

    return GidTable(
        device=entries[0].device,
        port=entries[0].port,
        entries=len(entries),
        rocev2_ipv4=indices("ipv4"),
        rocev2_ipv6=indices("ipv6"),
        rocev1=sum(one.version == 1 for one in entries),
    )


def _rows(section: Section) -> Iterator[_Entry]:
    """show_gids."""
    for index, line in enumerate(section.lines):
        match = _ROW.match(line[:300].strip())
        if match:
            family = _family(match["gid"], has_ipv4=match["ip"] is not None)
            device, port, number = match["device"], int(match["port"]), int(match["index"])
            yield _Entry(device, port, number, int(match["version"]), family, index)


def _verbose(section: Section) -> Iterator[_Entry]:
    """ibv_devinfo -v."""
    device = ""
    port = 1
    for index, line in section.matching("hca_id:", "port:", "GID["):
        named, numbered, match = _DEVICE.match(line[:200]), _PORT.match(line[:200]), _GID.match(line[:300])
        if named:
            device, port = named["device"], 1
        elif numbered:
            port = int(numbered["port"])
        elif match and device:
            version = 2 if "v2" in (match["type"] or "") else 1
            yield _Entry(device, port, int(match["index"]), version, _family(match["gid"]), index)


def _family(gid: str, *, has_ipv4: bool = False) -> str:
    if has_ipv4 or ("ffff:" in gid and not gid.startswith("f")):
        return "ipv4"
    return "link" if gid.startswith("fe80") else "ipv6"
