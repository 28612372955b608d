"""The MIG instances of each GPU by the capability files that the driver keeps for them in procfs.

    -r--r--r-- 1 root root 0 Mar  9 12:02 /proc/driver/nvidia/capabilities/gpu0/mig/gi7/access
    -r--r--r-- 1 root root 0 Mar  9 12:02 /proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0/access

Follows drivers 450 to 610. The number in `gpu0` is that of its device file, which need not be nvidia-smi's, so
that no GPU is named. The table `mig-minors` lists instances that could be, and gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu_state import MigDevices

_FOLDER = "/proc/driver/nvidia/capabilities/gpu"
_INSTANCE = regex(rf"{_FOLDER}(?P<gpu>\d{{1,3}})/mig/gi(?P<instance>\d{{1,3}})/access\b")
_MOST_GPUS = 256


def read(section: Section) -> Iterator[Reading]:
    """MigDevices for each GPU that has GPU instances."""
    found: dict[str, tuple[set[str], int]] = {}
    for index, line in section.matching(_FOLDER):
        match = _INSTANCE.search(line[:400])
        if match and (match["gpu"] in found or len(found) < _MOST_GPUS):
            found.setdefault(match["gpu"], (set(), index))[0].add(match["instance"])
    for instances, index in found.values():
        yield section.observe(MigDevices(devices=len(instances)), index)
    if found:
        yield section.looked(MigDevices, complete=False, reason="not-collected")


READER = Reader("mig-capabilities", read, markers=(_FOLDER,))
