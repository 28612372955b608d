"""What a device cgroup lets through: LXC and Proxmox configurations, devices.list.

    lxc.cgroup2.devices.allow: c 195:* rwm
    lxc.cgroup.devices.allow = c 510:* rwm
    dev0: /dev/nvidia0,gid=44,mode=0666

Follows lxc.container.conf(5), Proxmox's pct.conf (`dev0:` since 8.2) and the kernel's devices controller of cgroup
v1. v2 has no such list: its filter is a program that nothing prints. Commented lines and rules that don't fit give
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._device_files import node_class
from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Looked, Reader, Reading, Section
from kb.facts.devices import CgroupDeviceRule

_RULE = (
    r"(?:(?P<all>a)(?: \*:\*)?|[cb] (?P<major>\d{1,5}|\*):(?P<minor>\d{1,7}|\*))"
    r"(?: (?P<permissions>[rwm]{1,3}))?"
)
_LXC = regex(
    rf"\s{{0,8}}lxc\.(?P<interface>cgroup2?)\.devices\.(?P<what>allow|deny)\s{{0,8}}[:=]\s{{0,8}}{_RULE}\s*$"
)
_PASSTHROUGH = regex(r"dev\d{1,3}: (?P<path>/dev/[\w/-]{1,80})(?:,.{0,120})?$")
_LIST = regex(rf"(?:\S{{0,200}}devices\.list:)?{_RULE}\s*$")
_LIST_COMMAND = regex(r"(?:cat|grep -H) .{0,200}devices\.list")
_SHOWN = regex(r"\s{0,8}(?:[$#>] )?(?:sudo )?cat \S{0,200}devices\.list\s*$")
_WHOLE_FILE = regex(r"(?:rootfs|lxc\.rootfs(?:\.path)?|lxc\.uts\.name|hostname)\s{0,4}[:=]")
_MOST_RULES = 100


def read(section: Section) -> Iterator[Reading]:
    """One CgroupDeviceRule for each different rule, in order; of a list that is shown again the last."""
    seen: dict[CgroupDeviceRule, int] = {}
    is_list = _LIST_COMMAND.match(command_of(section)) is not None or section.path.endswith("devices.list")
    in_list = is_list
    for index, line in enumerate(section.lines):
        if "devices.list" in line and _SHOWN.match(line[:400]):
            in_list = True
            seen.clear()
        fact = _rule(line[:400], is_list=in_list)
        if fact and fact not in seen and len(seen) < _MOST_RULES:
            seen[fact] = index
    for fact, index in seen.items():
        yield section.observe(fact, index)
    yield from _looked(section, found=bool(seen), is_list=is_list)


def _rule(line: str, *, is_list: bool) -> CgroupDeviceRule | None:
    match = _LXC.match(line) or (_LIST.match(line) if is_list or "devices.list:" in line else None)
    if match is not None:
        found = match.groupdict()
        return CgroupDeviceRule(
            allows=found.get("what") != "deny",
            major=int(found["major"]) if (found["major"] or "*") != "*" else None,
            minor=int(found["minor"]) if (found["minor"] or "*") != "*" else None,
            permissions=found["permissions"],
            interface="cgroup2" if found.get("interface") == "cgroup2" else "cgroup",
        )
    given = _PASSTHROUGH.match(line)
    if given is None or node_class(given["path"]) is None:
        return None
    return CgroupDeviceRule(allows=True, interface="passthrough", path=given["path"])


def _looked(section: Section, *, found: bool, is_list: bool) -> Iterator[Looked]:
    """A whole configuration or list shows every rule; picked lines don't."""
    is_file = any(_WHOLE_FILE.match(line) for line in section.lines[:200])
    if found:
        whole = (is_file or is_list) and "|" not in command_of(section)
        yield section.looked(CgroupDeviceRule, complete=whole, reason="not-collected")


READER = Reader(
    "device-cgroup",
    read,
    markers=("lxc.cgroup.devices.", "lxc.cgroup2.devices.", "/devices.list", ": /dev/nvidia"),
    commands=("cat /sys/fs/cgroup/devices", "grep -H ^ /sys/fs/cgroup/devices"),
)
