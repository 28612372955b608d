"""Sizes of /dev/shm and of file systems: df, mount, /proc/mounts, mountinfo.

    shm                64M     0   64M   0% /dev/shm
    /dev/nvme0n1p2    1.8T  1.8T     0 100% /
    tmpfs on /dev/shm type tmpfs (rw,nosuid,nodev,size=65536k)

Follows df of coreutils and busybox (-h, -k, -m, -i, -T; a long name on a line of its own) and proc(5). Pseudo file
systems, images that are full by nature, and rows under no heading of df give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._places import place_of, size_mib
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.storage import FileSystem, SharedMemory

_SHM = "/dev/shm"  # noqa: S108 - a mount point in evidence
_DEFAULT_MIB = 64
_HEADING = regex(
    r"(?:Filesystem|Dateisystem|Sys\. de fichiers|S\.ficheros|File system|文件系统|Файл\.система)"
    r"\s{1,80}(?P<columns>.{8,120})$"
)
_ROW = regex(
    r"(?P<source>\S{1,300})\s{1,200}(?:(?P<type>[a-z][\w.-]{1,20})\s{1,20})?(?P<size>[\d.,]{1,20}[KMGTPE]?i?|-)\s{1,20}"
    r"(?P<used>[\d.,]{1,20}[KMGTPE]?i?|-)\s{1,20}(?P<free>-?[\d.,]{1,20}[KMGTPE]?i?|-)\s{1,20}(?P<percent>\d{1,3}%|-)"
    r"\s{1,20}(?P<mount>/\S{0,400})\s*$"
)
_MOUNTED = regex(
    r"(?:\S{1,200} on (?P<on>/dev/shm) type (?P<type1>\w{2,20}) \((?P<options1>[^)]{1,600})\)"
    r"|\S{1,200} (?P<at>/dev/shm) (?P<type2>\w{2,20}) (?P<options2>\S{1,600}) \d \d"
    r"|\d{1,9} \d{1,9} \d{1,5}:\d{1,9} \S{1,200} (?P<info>/dev/shm) (?P<flags>\S{1,200})"
    r" .{0,80}?- (?P<type3>\w{2,20}) \S{1,200} (?P<options3>\S{1,600}))\s*$"
)
_SIZE_OPTION = regex(r"(?:^|,)size=(?P<size>\d{1,15}[kKmMgG]?)(?:,|$)")
_NETWORK = frozenset(("nfs", "nfs4", "lustre", "ceph", "cifs", "glusterfs", "beegfs", "gpfs", "fuse.s3fs", "9p"))
_PSEUDO = frozenset(
    ("devtmpfs", "udev", "efivarfs", "none", "squashfs", "cgroup", "cgroup2", "proc", "sysfs", "dev")
)
_LAYERS = (
    "/snap/",
    "/var/lib/docker/",
    "/run/",
    "/sys/",
    "/proc/",
    "/boot/efi",
    "/var/lib/kubelet/pods/",
    "/media/",
)
_NOTHING_MIB = 512
"""df rounds its share up: 100 % may be far from full on a large disk."""
_MOST_FILE_SYSTEMS = 40


@dataclass(frozen=True)
class _Heading:
    """What the columns below a heading of df mean."""

    unit: str
    inodes: bool


def read(section: Section) -> Iterator[Reading]:
    """SharedMemory of /dev/shm, and FileSystem for each other that users write to."""
    shared = [*_mounts(section)]
    systems: dict[str, tuple[FileSystem, int]] = {}
    for index, row, heading in _rows(section):
        if row["mount"] == _SHM:
            shared += _shared(section, index, row, heading)
        else:
            _add(systems, index, row, heading)
    yield from shared
    for fact, index in list(systems.values())[:_MOST_FILE_SYSTEMS]:
        yield section.observe(fact, index)
    if shared or systems:
        yield section.looked(SharedMemory, complete=bool(shared), reason="not-collected")
    if systems:
        whole = command_of(section) in {"df", "df -h", "df -k", "df -m", "df -hT", "df -Th"}
        yield section.looked(FileSystem, complete=whole, reason="not-collected")


def _rows(section: Section) -> Iterator[tuple[int, dict[str, str | None], _Heading]]:
    """The rows of df, each with what its columns mean."""
    command = command_of(section)
    heading = _of_command(command) if command.startswith("df") else None
    name = ""
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        title = _HEADING.match(line)
        if title:
            heading, name = _of_columns(title["columns"]), ""
            continue
        if heading is None or not line.strip():
            name = ""
            continue
        match = _ROW.match(f"{name} {line.strip()}".strip())
        if match:
            yield index, match.groupdict(), heading
        name = line.strip() if match is None and len(line.split()) == 1 else ""


def _of_command(command: str) -> _Heading | None:
    flags = "".join(word[1:] for word in command.split() if word.startswith("-"))
    unit = "h" if "h" in flags or "H" in flags else "m" if "m" in flags else "k"
    return _Heading(unit, inodes="i" in flags)


def _of_columns(columns: str) -> _Heading:
    first = columns.split()
    inodes = any(word.lower().startswith(("inode", "inoden", "iuse")) for word in first)
    unit = "m" if any("1M-" in word for word in first) else "k" if "block" in columns.lower() else "h"
    return _Heading("k" if any(word in {"1K-blocks", "1024-blocks"} for word in first) else unit, inodes)


def _mib(text: str | None, heading: _Heading) -> int | None:
    return size_mib(text or "", "" if heading.unit == "h" else heading.unit)


def _shared(section: Section, index: int, row: dict[str, str | None], heading: _Heading) -> Iterator[Observed]:
    if heading.inodes:
        return
    size = _mib(row["size"], heading)
    fact = SharedMemory(
        size_mib=size, free_mib=_mib(row["free"], heading), default_of_containers=size == _DEFAULT_MIB
    )
    yield section.observe(fact, index)


def _add(
    systems: dict[str, tuple[FileSystem, int]], index: int, row: dict[str, str | None], heading: _Heading
) -> None:
    """Adds a row of df, or the share of inodes to a row that is there."""
    mount, source, kind = row["mount"] or "", row["source"] or "", row["type"]
    pseudo = source in _PSEUDO or kind in _PSEUDO or source.startswith("/dev/loop")
    if pseudo or mount.startswith(_LAYERS) or (source in {"tmpfs", "shm"} and mount not in {"/tmp", "/"}):  # noqa: S108
        return
    percent = int((row["percent"] or "-").rstrip("%")) if row["percent"] not in {None, "-"} else None
    if heading.inodes:
        before = systems.get(mount, (FileSystem(mount=mount, place=place_of(mount), type=kind), index))[0]
        problem = "no-inodes" if percent == 100 else before.problem
        systems[mount] = (before.model_copy(update={"inodes_used_percent": percent, "problem": problem}), index)
        return
    free = _mib((row["free"] or "").lstrip("-"), heading)
    is_full = percent is not None and percent > 90 and (free is None or free < _NOTHING_MIB)
    kind = kind or ("nfs" if ":/" in source else None)
    systems[mount] = (
        FileSystem(
            mount=mount,
            place=place_of(mount),
            type=kind,
            network=kind in _NETWORK if kind else None,
            size_mib=_mib(row["size"], heading),
            free_mib=free,
            used_percent=percent,
            problem="full" if is_full else "nearly-full" if percent is not None and percent >= 98 else "none",
        ),
        index,
    )


def _mounts(section: Section) -> Iterator[Observed]:
    """What is mounted at /dev/shm; of several mounts over each other the last one holds."""
    last: Observed | None = None
    for index, line in section.matching(_SHM):
        match = _MOUNTED.match(line[:MOST_COLUMNS].strip())
        if match is None:
            continue
        options = match["options1"] or match["options2"] or match["options3"] or ""
        size = _SIZE_OPTION.search(options)
        mib = size_mib(size["size"]) if size else None
        first = (match["flags"] or options).split(",", 1)[0]
        fact = SharedMemory(
            size_mib=mib,
            default_of_containers=mib == _DEFAULT_MIB,
            writable={"rw": True, "ro": False}.get(first),
            reported_by="mount",
        )
        last = section.observe(fact, index)
    if last:
        yield last


READER = Reader(
    "file-systems",
    read,
    markers=(_SHM, "Use%", "Mounted on", "IUse%", "% /"),
    commands=("df",),
)
