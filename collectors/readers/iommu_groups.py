"""The domain type of each IOMMU group and the devices in it, from sysfs: what the IOMMU really does.

    /sys/kernel/iommu_groups/17/type:DMA-FQ
    /sys/kernel/iommu_groups/17/devices/0000:41:00.0
         48 DMA-FQ
    lrwxrwxrwx 1 root root 0 Mar  9 12:02 /sys/kernel/iommu_groups/17/devices/0000:41:00.0 -> ../../../../devices/…

Follows Documentation/ABI/testing/sysfs-kernel-iommu_groups. A group whose type is not shown gives nothing, one
whose devices are not shown gives a fact without an address. Types that are only counted (`sort | uniq -c`) are
told as one group where all are alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._lines import BDF, MOST_COLUMNS, command_of, says_no_file
from collectors.readers._regex import regex
from kb.evidence import Looked, Reader, Reading, Section
from kb.facts.iommu import IommuGroup

Domain = Literal["identity", "DMA", "DMA-FQ", "other"]

_TYPE = regex(r"\s{0,8}/sys/kernel/iommu_groups/(\d{1,5})/type:\s?(\S{1,20})\s*$")
_DEVICE = regex(rf"/sys/kernel/iommu_groups/(\d{{1,5}})/devices/({BDF})(?=\s|$)")
_HEADING = regex(r"/sys/kernel/iommu_groups/(\d{1,5})/devices/?:$")
_UNDER_HEADING = regex(rf"(?:l[rwx-]{{9}}\S?\s.{{1,80}}\s)?({BDF})(?: -> \S{{1,300}})?\s*$")
_NAMES_TYPE = regex(r"/sys/kernel/iommu_groups/(\d{1,5})/type\b")
_ALL_TYPES = regex(r"/sys/(?:kernel/iommu_groups/\*|class/iommu/\*/devices/\*/iommu_group)/type\b")
_DOMAINS: dict[str, Domain] = {"identity": "identity", "DMA": "DMA", "DMA-FQ": "DMA-FQ"}
_TYPES = frozenset({*_DOMAINS, "unmanaged", "blocked", "auto", "DMA-SQ"})
_FOLDER = "/sys/kernel/iommu_groups"


def read(section: Section) -> Iterator[Reading]:
    """IommuGroup for each device of each group whose type is shown."""
    types = dict(_types(section))
    devices: dict[str, list[str]] = {}
    for group, bdf in _devices(section):
        members = devices.setdefault(group, [])
        if bdf not in members:
            members.append(bdf)
    for group, (domain, index) in types.items():
        members = devices.get(group, [])
        for bdf in members:
            yield section.observe(IommuGroup(group=int(group), bdf=bdf, domain=domain), index)
        if not members:
            yield section.observe(IommuGroup(group=int(group), domain=domain), index)
    if not types and (alike := _all_alike(section)) is not None:
        yield section.observe(IommuGroup(group=0, domain=alike[0]), alike[1])
    yield from _looked(section, groups={int(group) for group in types}, devices=bool(devices))


def _types(section: Section) -> Iterator[tuple[str, tuple[Domain, int]]]:
    named = _NAMES_TYPE.findall(command_of(section))
    for index, line in enumerate(section.lines):
        if _FOLDER in line:
            match = _TYPE.match(line[:MOST_COLUMNS])
            if match and match[2] in _TYPES:
                yield match[1], (_DOMAINS.get(match[2], "other"), index)
        elif len(named) == 1 and line.strip() in _TYPES:
            yield named[0], (_DOMAINS.get(line.strip(), "other"), index)


def _all_alike(section: Section) -> tuple[Domain, int] | None:
    """The one type of all groups, where only types are shown, with or without how many."""
    if not _ALL_TYPES.search(command_of(section)):
        return None
    lines = [(index, line.split()) for index, line in enumerate(section.lines) if line.strip()]
    words = {split[-1] for _, split in lines if len(split) == 1 or (len(split) == 2 and split[0].isdecimal())}
    if len(words) != 1 or not words <= _TYPES or not lines:
        return None
    return _DOMAINS.get(words.pop(), "other"), lines[0][0]


def _devices(section: Section) -> Iterator[tuple[str, str]]:
    heading: str | None = None
    for line in section.lines:
        text = line[:MOST_COLUMNS].strip()
        if _FOLDER in text:
            heading = match[1] if (match := _HEADING.match(text)) else heading
            yield from _DEVICE.findall(text)
        elif heading:
            match = _UNDER_HEADING.match(text)
            if match:
                yield heading, match[1]
            elif not text:
                heading = None


def _looked(section: Section, *, groups: set[int], devices: bool) -> Iterator[Looked]:
    """Complete with all groups, which are numbered from 0. No folder, or an empty one: no IOMMU is in use."""
    command = command_of(section)
    is_all = re.search(r"/sys/kernel/iommu_groups(?:/\*|/?$|/?\s)", command) is not None
    text = [line for line in section.lines if line.strip()]
    if groups:
        every = is_all or (not command and groups == set(range(len(groups))))
        yield section.looked(IommuGroup, complete=every, reason="not-collected")
    elif is_all and (not text or all(_FOLDER in line and says_no_file(line) for line in text)):
        yield section.looked(IommuGroup)
    elif devices or (is_all and text):
        yield section.looked(IommuGroup, complete=False, reason="not-collected")


READER = Reader(
    "iommu-groups",
    read,
    markers=("/sys/kernel/iommu_groups/",),
    commands=(
        "cat /sys/class/iommu/",
        "cat /sys/kernel/iommu_groups",
        "grep . /sys/kernel/iommu_groups",
        "grep -H ^ /sys/kernel/iommu_groups",
        "grep -H . /sys/kernel/iommu_groups",
        "grep -r . /sys/kernel/iommu_groups",
        "find /sys/kernel/iommu_groups",
        "ls /sys/kernel/iommu_groups",
        "ls -l /sys/kernel/iommu_groups",
    ),
)
