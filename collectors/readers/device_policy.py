"""Which devices systemd and the kernel's filters of cgroup v2 let units and containers open.

    Id=docker-5f1d3c2a0b7e.scope
    DevicePolicy=strict
    DeviceAllow=/dev/char/10:200 rwm

Follows `systemctl show` of systemd 230 to 257, one paragraph a unit, and `bpftool cgroup tree` of Linux 4.15 to
6.17, which tells that a filter is there and not what it lets through. Other properties and programs give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.devices import DeviceFilter, DevicePolicy

_PROPERTY = regex(r"(?P<key>Id|DevicePolicy|DeviceAllow)=(?P<value>.{0,4000})$")
_POLICIES = ("auto", "closed", "strict")
# NVIDIA's devices have 195; the others of its numbers change from boot to boot.
_NVIDIA = regex(r"/dev/nvidia|char-nvidia|/dev/char/195:")
_CGROUP = regex(r"(?P<path>/\S{0,400})$")
_PROGRAM = regex(r"\s{0,8}\d{1,8}\s{1,12}(?:cgroup_)?device\b")
_MOST = 500


def read(section: Section) -> Iterator[Reading]:
    """DevicePolicy for each unit whose policy is shown, DeviceFilter for each cgroup with such a program."""
    yield from _policies(section)
    if command_of(section).startswith("bpftool cgroup"):
        yield from _filters(section)


def _policies(section: Section) -> Iterator[Reading]:
    units: list[tuple[dict[str, list[str]], int]] = []
    fresh = True
    for index, line in enumerate(section.lines):
        match = _PROPERTY.match(line)
        if match is None:
            fresh = fresh or not line.strip()
            continue
        if fresh and len(units) < _MOST:
            units.append(({}, index))
        fresh = False
        units[-1][0].setdefault(match["key"], []).append(match["value"].strip())
    said = False
    for unit, index in units:
        policy = (unit.get("DevicePolicy") or [""])[0]
        if "Id" not in unit or policy not in _POLICIES:
            continue
        said = True
        # An empty list is shown as a line without a value; some releases put all devices on one line.
        devices = [device for value in unit.get("DeviceAllow", ()) for device in value.split(" /dev/") if device]
        ours = sum(
            _NVIDIA.search(device if device[0] in "/c" else f"/dev/{device}") is not None for device in devices
        )
        fact = DevicePolicy(
            unit=unit["Id"][0][:200],
            policy=cast("Literal['auto', 'closed', 'strict']", policy),
            restricted=policy != "auto" or bool(devices),
            nvidia=ours,
        )
        yield section.observe(fact, index, index + sum(map(len, unit.values())) - 1)
    if said:
        yield section.looked(DevicePolicy)


def _filters(section: Section) -> Iterator[Reading]:
    path: str | None = None
    found: dict[str, tuple[int, int]] = {}
    for index, line in enumerate(section.lines):
        heading = _CGROUP.match(line[:500])
        if heading:
            path = heading["path"]
        elif path is not None and _PROGRAM.match(line[:200]) and (path in found or len(found) < _MOST):
            first, count = found.get(path, (index, 0))
            found[path] = (first, count + 1)
    for cgroup, (index, count) in found.items():
        yield section.observe(DeviceFilter(cgroup=cgroup, programs=count), index)
    if found or any(line.startswith("CgroupPath") for line in section.lines):
        yield section.looked(DeviceFilter)


READER = Reader(
    "device-policy",
    read,
    markers=("DevicePolicy=",),
    commands=("systemctl show", "bpftool cgroup tree"),
)
