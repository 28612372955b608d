"""Ports of RDMA devices and their GID tables: ibstat, ibstatus, ibv_devinfo, rdma link, sysfs, show_gids.

        State: Active
        Physical state: LinkUp
    link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ib0
    mlx5_0  1   3   0000:0000:0000:0000:0000:ffff:0a00:4609  10.0.70.9   v2  eth0

Follows infiniband-diags, rdma-core 15 to 55, iproute2's rdma, MLNX_OFED's show_gids and ibdev2netdev. A port whose
device stands above what was given has no name and gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._gids import gid_tables
from collectors.readers._lines import command_of
from collectors.readers._rdma import PortLines
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Looked, Reader, Reading, Section
from kb.facts.network import GidTable, RdmaPort

_NONE = regex(r"No IB devices found|ibv_devices: .{0,40}no devices|ls: .{1,60}/sys/class/infiniband\W{0,4}: ")
_WHOLE = (
    *("ibstat", "ibstatus", "ibv_devinfo", "ibv_devinfo -v", "rdma link", "rdma link show", "ibdev2netdev"),
    *("show_gids", "ibv_devices"),
)
"""Commands that show every port."""
_MOST_PORTS = 300
_LISTING = regex(r"ls(?: -\w{1,8})? /sys/class/infiniband/?\s*$")
_LISTED = regex(r"(?:[lrwx-]{10}\S?\s.{0,80}\s)?(?P<device>[a-z][\w.-]{0,40}\d)(?: -> \S{1,300})?$")


def read(section: Section) -> Iterator[Reading]:
    """RdmaPort for each port, GidTable for each table of identifiers."""
    ports = PortLines()
    ports.take(command_of(section)[:400], 0)
    for index, line in enumerate(section.lines):
        ports.take(without_launcher(line[:400]).text, index)
    for fact, first, last in ports.facts()[:_MOST_PORTS]:
        yield section.observe(fact, first, last)
    listed = _listed(section)
    for device, index in listed.items():
        yield section.observe(RdmaPort(device=device), index)
    if listed:
        yield section.looked(RdmaPort)
    tables = gid_tables(section)
    for table, first, last in tables:
        yield section.observe(table, first, last)
    yield from _looked(section, found=bool(ports.facts()), is_cut=ports.is_cut)
    if tables:
        yield section.looked(GidTable)


def _listed(section: Section) -> dict[str, int]:
    """Devices that a listing of their folder names, which says nothing of their ports."""
    devices: dict[str, int] = {}
    for index, line in enumerate(section.lines[:_MOST_PORTS] if _LISTING.match(command_of(section)) else ()):
        words = [line[:400].strip()] if " -> " in line else line[:4000].split()
        for word in words:
            match = _LISTED.match(word)
            if match is not None:
                devices.setdefault(match["device"], index)
    return devices


def _looked(section: Section, *, found: bool, is_cut: bool) -> Iterator[Looked]:
    """A tool that lists all devices, and one that says that there is none, show every port."""
    command = command_of(section)
    none = any(_NONE.match(line[:300].strip()) for line in section.lines[:20])
    if found or none:
        whole = none or command in _WHOLE
        yield section.looked(RdmaPort, complete=(whole or not command) and not is_cut, reason="not-collected")


READER = Reader(
    "rdma-ports",
    read,
    markers=(
        *("Physical state:", "hca_id:", "Infiniband device '", "physical_state ", "/sys/class/infiniband/"),
        *(
            "PORT_INIT (",
            "PORT_DOWN (",
            "PORT_ACTIVE (",
            " ==> ",
            "n_gids_found",
            "No IB devices found",
            "RoCE v2",
        ),
        *("INDEX\tGID", "INDEX   GID", "INDEX GID"),
    ),
    commands=("ibstat", "ibv_dev", "rdma link", "ibdev2netdev", "show_gids", "ls /sys/class/infiniband"),
)
