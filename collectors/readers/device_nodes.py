"""Device files of GPUs and RDMA devices: listings of /dev/nvidia*, /dev and /dev/infiniband.

    crw-rw-rw- 1 root root 195,   0 Oct 12 08:02 /dev/nvidia0
    cr--r--r-- 1 root root 236, 2 Oct 12 08:02 nvidia-cap2
    ls: cannot access '/dev/nvidia-uvm': No such file or directory

Follows `ls`, `ls -l` and `ls -lanR` of coreutils. Names without a folder are taken only where a heading or the
command tells it. A node counts as missing only where the listing would have shown it; lines that don't fit give
nothing.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from collectors.readers._device_files import absolute, access, gpu_minor, node_class, octal
from collectors.readers._lines import MOST_COLUMNS, command_of, says_no_file
from collectors.readers._regex import regex
from kb.evidence import Looked, Observed, Reader, Reading, Section
from kb.facts.devices import DeviceNode, DeviceNodes, RdmaNodes

_LONG = regex(
    r"(?P<type>[-cbdlsp])(?P<mode>[-rwxsStT]{9})[.+@]?\s{1,4}\d{1,6}\s{1,8}(?P<owner>\S{1,40})\s{1,8}"
    r"(?P<group>\S{1,40})\s{1,12}(?:(?P<major>\d{1,5}),\s{0,8}(?P<minor>\d{1,7})|\d{1,19})\s"
    r"(?:.{5,50}?\s)?(?P<name>/?\S{1,200})(?P<link> -> \S{1,200})?\s*$"
)
_HEADING = regex(r"(/dev(?:/\S{1,200})?):$")
_LS = regex(r"(?:ls|find|ll)\s(?P<arguments>[^|;&]{1,400})(?P<rest>.{0,200})")
_ERROR = regex(r"ls: .{1,60}?(?P<path>/dev/[\w/*?.-]{1,200})(?:[^\w/:][^:]{0,40})?: (?P<says>.{5,80})$")
_TENSORFLOW = "no NVIDIA GPU device is present: "
_OF_TENSORFLOW = regex(
    r"cuda_diagnostics\.cc:\d{1,5}\] no NVIDIA GPU device is present: (?P<path>/dev/nvidia\d{1,3}) does"
)
_OF_NVIDIA = regex(r"\| {0,4}grep (?:-i )?[\"']?nv(?:idia)?[\"']?\s*$")
_COUNTED = regex(r"\|\s{0,4}wc -l\s*$")
_OUR_LISTING = "device-files.txt"
_LATE_NAMES = ("urandom", "vcs", "zero")
"""Names in every /dev, which come after nvidia: without them the listing was cut."""
_MOST_KINDS = 200

_Key: TypeAlias = tuple[str, int | None, str | None, str | None, str | None, bool]


@dataclass
class _Listing:
    """What one section lists: groups of like nodes, and which places it shows completely."""

    groups: dict[_Key, list[tuple[str, int]]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    """Every node by path, with the line that first shows it."""
    missing: dict[str, int] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    """Of `/dev/nvidia*`, `/dev/nvidia-caps`, `/dev/nvidia-caps-imex-channels`, `/dev/infiniband`."""
    failed: bool = False
    """ls could not look at something, for another reason than that it is not there."""

    def add(self, key: _Key, path: str, index: int) -> None:
        if path not in self.names and (key in self.groups or len(self.groups) < _MOST_KINDS):
            self.names[path] = index
            self.groups.setdefault(key, []).append((path, index))


def read(section: Section) -> Iterator[Reading]:
    """DeviceNode for each sort of node, and DeviceNodes and RdmaNodes for places that are shown as a whole."""
    command = command_of(section)
    if _COUNTED.search(command):
        return
    listing = _listing(section, command)
    for key, nodes in listing.groups.items():
        yield section.observe(_node(key, nodes), nodes[0][1])
    for path, index in listing.missing.items():
        node = node_class(path)
        if node and "*" not in path:
            yield section.observe(DeviceNode(node=node, path=path, present=False), index)
    yield from _summary(section, listing)
    yield from _rdma(section, listing)
    yield from _looked(section, listing)


def _node(key: _Key, nodes: list[tuple[str, int]]) -> DeviceNode:
    node, major, mode, owner, group, is_device = key
    return DeviceNode.model_validate(
        {
            "node": node,
            "path": nodes[0][0],
            "count": len(nodes),
            "major": major,
            "mode": mode,
            "owner": owner,
            "group": group,
            "access": access(mode) if mode and is_device else None,
            "is_device": is_device,
        }
    )


def _listing(section: Section, command: str) -> _Listing:
    listing = _Listing()
    asked = _LS.match(command)
    arguments = asked["arguments"].split() if asked else []
    folders = (word.rstrip("/") for word in arguments)
    folder = next((word for word in folders if word in {"/dev", "/dev/infiniband"}), None)
    if folder is None and len(arguments) and arguments[-1].startswith("/dev/nvidia-caps"):
        folder = arguments[-1].rstrip("/*")
    cut = asked is not None and "|" in asked["rest"] and "nvidia" not in asked["rest"]
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS].rstrip()
        if not line:
            continue
        heading = _HEADING.match(line) if line.endswith(":") else None
        if heading:
            folder = heading[1]
            if folder != "/dev":
                listing.whole.add(folder)
        elif line.startswith("ls: ") or _TENSORFLOW in line:
            _add_missing(listing, line, index)
        elif line[:1] in "-cbdlsp" and (match := _LONG.match(line)):
            _add_long(listing, match.groupdict(), folder, index)
        elif "/dev/" in line or (asked and "/dev" in command):
            _add_names(listing, line.split(), folder, index, asked=asked is not None)
    _mark_whole(section, listing, arguments, cut=cut)
    return listing


def _mark_whole(section: Section, listing: _Listing, arguments: list[str], *, cut: bool) -> None:
    """Which places the command asked for as a whole."""
    if section.path.endswith(_OUR_LISTING) and listing.names:
        listing.whole |= {"/dev/nvidia*", "/dev/nvidia-caps-imex-channels", "/dev/infiniband"}
    if cut or listing.failed or not section.lines:
        listing.whole.clear()
        return
    if any(line.endswith(_LATE_NAMES) for line in section.lines) and "/dev:" in section.lines[:3]:
        listing.whole.add("/dev/nvidia*")
    filtered = bool(listing.names) and _OF_NVIDIA.search(command_of(section)) is not None
    for word in arguments:
        plain = word.rstrip("/").removesuffix("/*")
        lists_all = plain == "/dev" and (filtered or any(line.endswith(_LATE_NAMES) for line in section.lines))
        if word in {"/dev/nvidia*", "/dev/nvi*", "/dev/nv*"} or lists_all:
            listing.whole.add("/dev/nvidia*")
        elif plain in {"/dev/infiniband", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels"}:
            listing.whole.add(plain)


def _add_missing(listing: _Listing, line: str, index: int) -> None:
    """A path that ls was asked for and that is not there."""
    match = _OF_TENSORFLOW.search(line)
    if match is not None:
        listing.missing.setdefault(match["path"], index)
        return
    match = _ERROR.match(line)
    if match is None or not says_no_file(match["says"]):
        listing.failed = True
    else:
        path = match["path"].rstrip("/")
        path = "/dev/nvidia-uvm" if path == "/dev/nvidia-uvm*" else path
        listing.missing.setdefault(path, index)
        if path in {"/dev/nvidia*", "/dev/infiniband", "/dev/nvidia-caps-imex-channels"}:
            listing.whole.add(path)


def _add_long(listing: _Listing, found: dict[str, str | None], folder: str | None, index: int) -> None:
    path = absolute(found["name"] or "", folder)
    node = node_class(path) if path else None
    if path is None or node is None or found["link"]:
        return
    if found["type"] == "d":
        listing.names.setdefault(path, index)
        return
    key = (
        node,
        int(found["major"]) if found["major"] else None,
        octal(found["mode"] or ""),
        found["owner"],
        found["group"],
        found["type"] in {"c", "b"},
    )
    listing.add(key, path, index)


def _is_total(words: list[str]) -> bool:
    """The line `total 0` above a listing, in whatever language."""
    return len(words) < 3 and words[-1:] != [] and words[-1][:1].isdigit()


def _add_names(listing: _Listing, words: list[str], folder: str | None, index: int, *, asked: bool) -> None:
    """Names without modes, several on a line. Without a command only a line of nothing but such paths counts."""
    paths = [absolute(word.strip("'\""), folder) for word in words]
    classes = [node_class(path) if path else None for path in paths]
    if _is_total(words) or not (asked or all(classes)):
        return
    for path, node in zip(paths, classes, strict=True):
        if path and node and posixpath.basename(path) != "*":
            listing.add((node, None, None, None, None, True), path, index)


def _summary(section: Section, listing: _Listing) -> Iterator[Observed]:
    """The listing of /dev/nvidia* summed up, sourced to its first line."""
    nodes = {path: index for path, index in listing.names.items() if path.startswith("/dev/nvidia")}
    whole = "/dev/nvidia*" in listing.whole
    absent = "/dev/nvidia*" in listing.missing
    if not (whole or "/dev/nvidiactl" in nodes or absent):
        return
    minors = sorted({minor for path in nodes if (minor := gpu_minor(path)) is not None})
    counts = Counter(node_class(path) for path in nodes)
    folder = "/dev/nvidia-caps-imex-channels"
    channels = sum(path.startswith(f"{folder}/") for path in nodes)
    knows_channels = channels or folder in listing.whole or (whole and folder not in nodes)

    def there(path: str) -> bool | None:
        """Whether the node is there; None where the listing would not show it."""
        below = any(name.startswith(f"{path}/") for name in nodes)
        return True if path in nodes or below else False if whole or path in listing.missing else None

    fact = DeviceNodes(
        gpus=len(minors),
        minors=", ".join(map(str, minors)) or None,
        control=there("/dev/nvidiactl"),
        uvm=there("/dev/nvidia-uvm"),
        caps=there("/dev/nvidia-caps"),
        imex_channels=channels if knows_channels else None,
        nvswitches=max(counts["nvswitch"] - ("/dev/nvidia-nvswitchctl" in nodes), 0) if whole else None,
    )
    lines = sorted(nodes.values()) or [listing.missing.get("/dev/nvidia*", 0)]
    if section.lines:
        yield section.observe(fact, lines[0], lines[-1])


def _rdma(section: Section, listing: _Listing) -> Iterator[Observed]:
    """What is in /dev/infiniband."""
    nodes = {path: index for path, index in listing.names.items() if path.startswith("/dev/infiniband/")}
    gone = listing.missing.get("/dev/infiniband")
    if gone is not None:
        yield section.observe(RdmaNodes(verbs=0, rdma_cm=False, folder=False), gone)
    elif nodes:
        verbs = sum(posixpath.basename(path).startswith("uverbs") for path in nodes)
        yield section.observe(RdmaNodes(verbs=verbs, rdma_cm="/dev/infiniband/rdma_cm" in nodes), *_span(nodes))


def _span(nodes: dict[str, int]) -> tuple[int, int]:
    return min(nodes.values()), max(nodes.values())


def _looked(section: Section, listing: _Listing) -> Iterator[Looked]:
    whole = "/dev/nvidia*" in listing.whole
    if whole or listing.names or listing.missing or listing.failed:
        yield section.looked(DeviceNode, complete=whole, reason="not-collected")
        yield section.looked(DeviceNodes, complete=whole, reason="not-collected")
    if "/dev/infiniband" in listing.whole:
        yield section.looked(RdmaNodes)


READER = Reader(
    "device-nodes",
    read,
    markers=("/dev/nvidia", "/dev/infiniband", " nvidiactl", " nvidia-uvm", "/dev/dxg"),
    commands=("ls -l /dev", "ls /dev", "ls -la /dev", "ls -d /dev", "ls -ld /dev", "ls -al /dev", "ls -lh /dev"),
)
