"""Device files of GPUs and RDMA devices as `stat` shows them.

      File: /dev/nvidia0
    Device: 5h/5d	Inode: 567         Links: 1     Device type: c3,0
    Access: (0666/crw-rw-rw-)  Uid: (    0/    root)   Gid: (    0/    root)

Follows stat of coreutils 8 and 9: numbers of devices are hexadecimal before 9.0, and decimal since. A file whose
line of access is cut gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._device_files import access, node_class
from collectors.readers._lines import says_no_file
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.devices import DeviceNode

_FILE = regex(r"\s{1,4}File: [\u2018'\"]?(?P<path>/dev/[\w/-]{1,200})")
_TYPE = regex(r"(?:Device: (?P<hex>[0-9a-f]{1,8}h/\d{1,8}d)?.{0,120}?)Device type: (?P<major>[0-9a-f]{1,5}),")
_WHO = r"\(\s{0,12}\d{1,10}/\s{0,40}"
_ACCESS = regex(
    rf"Access: \((?P<mode>\d{{4}})/(?P<type>[-cbdlsp])\S{{9,10}}\)\s{{1,8}}Uid: {_WHO}(?P<owner>[^)\s]{{1,40}})\)"
    rf"\s{{1,8}}Gid: {_WHO}(?P<group>[^)\s]{{1,40}})\)"
)
_GONE = regex(r"stat: .{1,60}?(?P<path>/dev/[\w/-]{1,200})[\u2019'\"]?: (?P<says>.{5,80})$")
_MOST_FILES = 200


def read(section: Section) -> Iterator[Reading]:
    """DeviceNode for each file of ours, and for each that stat says is not there."""
    path: str | None = None
    first = count = 0
    major: int | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:400]
        named, typed, gone = _FILE.match(line), _TYPE.search(line), _GONE.match(line)
        if named:
            path, first, major = named["path"], index, None
        elif typed and path:
            major = _number(typed["major"], is_hexadecimal=typed["hex"] is not None)
        elif gone and says_no_file(gone["says"]) and (node := node_class(gone["path"])) and count < _MOST_FILES:
            count += 1
            yield section.observe(DeviceNode(node=node, path=gone["path"], present=False), index)
        elif path and (match := _ACCESS.match(line.strip())):
            node = node_class(path)
            if node and count < _MOST_FILES:
                count += 1
                is_device = match["type"] in {"c", "b"}
                fact = DeviceNode(
                    node=node,
                    path=path,
                    major=major,
                    mode=match["mode"],
                    owner=match["owner"],
                    group=match["group"],
                    access=access(match["mode"]) if is_device else None,
                    is_device=is_device,
                )
                yield section.observe(fact, first, index)
            path = None
    if count:
        yield section.looked(DeviceNode, complete=False, reason="not-collected")


def _number(text: str, *, is_hexadecimal: bool) -> int | None:
    if is_hexadecimal:
        return int(text, 16)
    return int(text) if text.isdecimal() else None


READER = Reader(
    "device-stat",
    read,
    markers=("  File: /dev/", "  File: \u2018/dev/", "  File: '/dev/", "stat: cannot stat"),
    commands=("stat /dev",),
)
