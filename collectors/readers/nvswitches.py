"""The NVSwitches that the NVIDIA driver has taken: the folder that it keeps for them in procfs.

    dr-xr-xr-x 2 root root 0 Mar  9 12:02 /proc/driver/nvidia-nvswitch/devices/0000:07:00.0
    0000:07:00.0  0000:08:00.0

Follows `ls` of coreutils on /proc/driver/nvidia-nvswitch/devices of drivers 450 to 610. The folder is there and
empty where there is no NVSwitch, or only such of NVLink 5. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import BDF, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.fabric import NvswitchOnBus

_FOLDER = "/proc/driver/nvidia-nvswitch/devices"
_PATH = regex(rf"{_FOLDER}/(?P<bdf>{BDF})(?=[/:\s]|$)")
_NAMES = regex(rf"\s{{0,4}}{BDF}(?:\s{{1,8}}{BDF}){{0,63}}\s*$")
_BDF = regex(BDF)
_LISTS = regex(rf"ls (?:-\S{{1,12}} ){{0,4}}{_FOLDER}(?:/\*?)?\s*$")
_MOST = 64


def read(section: Section) -> Iterator[Reading]:
    """NvswitchOnBus for each folder."""
    command = command_of(section)
    listed = _LISTS.match(command) is not None
    found: dict[str, int] = {}
    for index, line in enumerate(section.lines):
        path = _PATH.search(line[:400]) if _FOLDER in line else None
        names = [path["bdf"]] if path else []
        if listed and _NAMES.match(line[:1000]):
            names = _BDF.findall(line[:1000])
        for name in names[:_MOST]:
            found.setdefault(name.lower(), index)
    for bdf, index in list(found.items())[:_MOST]:
        fact = NvswitchOnBus(bdf=bdf, driver="nvidia-nvswitch", reported_by="procfs")
        yield section.observe(fact, index)
    refused = any(line.startswith("ls: ") for line in section.lines)
    if found or (listed and not refused):
        yield section.looked(NvswitchOnBus, complete=False, reason="not-collected")


READER = Reader("nvswitches", read, markers=(f"{_FOLDER}/",), commands=(f"ls -ld {_FOLDER}", f"ls {_FOLDER}"))
