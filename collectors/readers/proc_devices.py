"""The major numbers that the kernel gave to the drivers of GPUs and RDMA devices, from /proc/devices.

    Character devices:
    195 nvidia
    506 nvidia-uvm

Follows fs/proc/devices.c. The driver takes 195; those of nvidia-uvm, nvidia-caps and nvidia-nvswitch change from
boot to boot. Lines before the heading and lines that don't fit give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.devices import DeviceMajor

_HEADING = "Character devices:"
_OTHER_HEADING = "Block devices:"
_LINE = regex(r"\s{0,4}(?P<major>\d{1,4}) (?P<name>(?:nvidia|infiniband)[\w-]{0,60}|dxg|vfio)\s*$")
_COMMAND = regex(r"(?:cat|grep .{1,80}|head|less) /proc/devices")


def read(section: Section) -> Iterator[Reading]:
    """DeviceMajor for each name, once; several numbers of one name each."""
    seen: set[DeviceMajor] = set()
    command = command_of(section)
    inside = _COMMAND.match(command) is not None
    has_heading = has_end = False
    for index, line in enumerate(section.lines):
        if line.strip() == _HEADING:
            inside = has_heading = True
        elif line.strip() == _OTHER_HEADING:
            inside, has_end = False, True
        elif inside and (match := _LINE.match(line[:200])):
            fact = DeviceMajor(name=match["name"], major=int(match["major"]))
            if fact not in seen:
                seen.add(fact)
                yield section.observe(fact, index)
    if has_heading:
        whole = has_end or (command.startswith("cat ") and "|" not in command)
        yield section.looked(DeviceMajor, complete=whole)
    elif command.startswith("grep") and "nvidia" in command and "-" not in command:
        yield section.looked(DeviceMajor, complete=bool(seen), reason="not-collected")


READER = Reader("proc-devices", read, markers=(_HEADING,), commands=("cat /proc/devices", "grep "))
