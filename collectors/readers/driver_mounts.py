"""What of the host's driver is mounted into a container, from its list of mounts.

    /dev/sda2 /usr/lib/x86_64-linux-gnu/libcuda.so.396.44 ext4 ro,nosuid,nodev 0 0
    devtmpfs on /dev/nvidia0 type devtmpfs (ro,nosuid,noexec,size=65767576k,mode=755)
    1190 1170 8:2 /usr/lib64/libcuda.so.550.54//deleted /usr/lib64/libcuda.so.550.54 ro - ext4 /dev/sda2 rw

Follows proc(5) (mounts, mountinfo) and mount(8), and how libnvidia-container and CDI mount libraries one by one.
A list without any such mount gives nothing: the driver may be in the image, or this is no container.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._device_files import gpu_minor
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.base import version_key
from kb.facts.containers import InjectedDriver

_INFO = regex(r"\d{1,9} \d{1,9} \d{1,5}:\d{1,9} (?P<root>/\S{0,400}) (?P<path>/\S{1,400}) r[ow]\b")
_MOUNT = regex(r"\S{1,200} on (?P<path>/\S{1,400}) type \S{1,30} \(r[ow]\b")
_MOUNTS = regex(r"\S{1,200} (?P<path>/\S{1,400}) [\w.-]{2,30} r[ow],?\S{0,2000} \d \d\s*$")
_LIBRARY = regex(
    r"/\S{0,300}/(?P<stem>lib(?:cuda|nvidia-[\w-]{1,40}|nvcuvid))\.so\.(?P<version>\d{3}(?:\.\d{1,4}){1,2})$"
)
_DELETED = "//deleted"
_SELECTS = regex(r"(?:^|\|\s{0,4})(?:grep|egrep|awk|rg|sed)\b(?P<pattern>.{0,200})")


@dataclass
class _Found:
    """Mounts of the driver so far."""

    stems: set[str] = field(default_factory=set)
    versions: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    deleted: bool = False
    tools: bool = False
    first: int = -1
    last: int = 0

    def at(self, index: int) -> None:
        """Remembers that this line counts."""
        self.first = index if self.first < 0 else self.first
        self.last = index


def read(section: Section) -> Iterator[Reading]:
    """InjectedDriver, where libraries, tools or nodes of the driver are mounted one by one."""
    found = _Found()
    for index, line in enumerate(section.lines):
        if "nvidia" in line or "libcuda" in line:
            _take(found, line[:MOST_COLUMNS].strip(), index)
    if found.first < 0 or not (found.stems or found.tools or "/dev/nvidiactl" in found.devices):
        return
    selects = _SELECTS.search(command_of(section))
    shows_cuda = selects is None or "cuda" in selects["pattern"]
    shows_nvidia = selects is None or "nvi" in selects["pattern"]
    fact = InjectedDriver(
        libraries=len(found.stems),
        cuda=True if "libcuda" in found.stems else False if shows_cuda else None,
        nvml=True if "libnvidia-ml" in found.stems else False if shows_nvidia else None,
        ptx=True if "libnvidia-ptxjitcompiler" in found.stems else False if shows_nvidia else None,
        version=max(found.versions, key=lambda version: version_key(version) or 0, default=None),
        deleted=found.deleted,
        gpus=sum(gpu_minor(path) is not None for path in found.devices) if found.devices else None,
        uvm="/dev/nvidia-uvm" in found.devices if found.devices else None,
    )
    yield section.observe(fact, found.first, found.last)
    yield section.looked(InjectedDriver, complete=selects is None, reason="not-collected")


def _take(found: _Found, text: str, index: int) -> None:
    """Adds what one line mounts."""
    info = _INFO.match(text)
    match = info or _MOUNT.match(text) or _MOUNTS.match(text)
    if match is None:
        return
    path = match["path"]
    library = _LIBRARY.match(path)
    if library:
        found.stems.add(library["stem"])
        found.versions.add(library["version"])
        found.deleted = found.deleted or (info is not None and info["root"].endswith(_DELETED))
    elif path.startswith("/dev/nvidia"):
        found.devices.add(path)
    elif path in {"/usr/bin/nvidia-smi", "/proc/driver/nvidia"}:
        found.tools = True
    else:
        return
    found.at(index)


READER = Reader(
    "driver-mounts",
    read,
    markers=("/dev/nvidiactl", "libnvidia-ml.so.", "/usr/bin/nvidia-smi", "/proc/driver/nvidia ", "//deleted "),
    commands=(
        "mount",
        "grep libcuda /proc/self/mountinfo",
        "grep nvidia /proc/self/mountinfo",
        "cat /proc/self/mountinfo",
        "cat /proc/mounts",
        "cat /proc/self/mounts",
    ),
)
