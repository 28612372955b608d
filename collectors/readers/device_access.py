"""What the kernel answers where our process asks whether it may use the device files, without opening them.

    access("/dev/nvidia0", R_OK|W_OK)       = 0
    access("/dev/nvidiactl", R_OK|W_OK)     = -1 EPERM (Operation not permitted)

Follows access(2) as strace prints it, which is the form of our own listing. The kernel asks mode and owner
(EACCES) and then the device cgroup (EPERM), as it would at opening. Other calls and files give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._device_files import ERRORS, node_class
from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.devices import DeviceAccess, DeviceOpenError, NodeClass, OpenError

_LINE = regex(
    r"(?:faccessat2?\(AT_FDCWD, |access\()\"(?P<path>/dev/(?:nvidia|dxg)[\w/-]{0,60})\", R_OK\|W_OK\)\s{1,40}= "
    r"(?:0|-1 \w{3,12} \((?P<says>[A-Z][a-z]{1,12}(?: [a-z]{1,12}){1,5})\))\s*$"
)
_REFUSALS = frozenset({"not-permitted", "permission-denied"})


def read(section: Section) -> Iterator[Reading]:
    """DeviceAccess for each class of files that may be used, DeviceOpenError for each class and refusal."""
    allowed: dict[NodeClass, list[tuple[str, int]]] = {}
    refused: dict[tuple[NodeClass, OpenError], list[tuple[str, int]]] = {}
    for index, line in section.matching("R_OK|W_OK"):
        match = _LINE.match(line[:MOST_COLUMNS].lstrip())
        node = node_class(match["path"]) if match else None
        if match is None or node is None:
            continue
        error = ERRORS.get((match["says"] or "").lower())
        if match["says"] is None:
            allowed.setdefault(node, []).append((match["path"], index))
        elif error in _REFUSALS:
            refused.setdefault((node, error), []).append((match["path"], index))
    for node, files in allowed.items():
        yield section.observe(DeviceAccess(node=node, path=files[0][0], count=len(files)), files[0][1])
    for (node, error), files in refused.items():
        fact = DeviceOpenError(node=node, path=files[0][0], error=error, tool="access", count=len(files))
        yield section.observe(fact, files[0][1])
    if allowed or refused:
        yield section.looked(DeviceAccess)
        yield section.looked(DeviceOpenError)


READER = Reader("device-access", read, markers=('access("/dev/nvidia', 'access("/dev/dxg', 'FDCWD, "/dev/nvidia'))
