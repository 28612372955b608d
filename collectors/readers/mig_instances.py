"""The MIG devices of each GPU: `nvidia-smi -L`, `nvidia-smi mig -lgi`, and the table's box `MIG devices`.

      MIG 3g.40gb     Device  0: (UUID: MIG-5d2c1a40-77a1-5c8b-a1e9-03bb0e3d1c01)
    |   0  MIG 3g.20gb          9        1          4:4     |
    |  0    3   0   1  |              17MiB / 20096MiB    | 32      0 |  2   0    2    0    2 |

Follows drivers 450 to 610. A GPU in MIG mode of which none was made shows as 0 where the listing says so. Lines
without their GPU, and other tables, give nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu_state import MigDevices

_GPU = regex(r"\s{0,8}GPU (?P<index>\d{1,3}): .{1,80} \(UUID: GPU-")
_DEVICE = regex(
    r"\s{1,12}MIG (?P<profile>[\w.+]{3,20})\s{1,12}Device\s{1,4}\d{1,3}: \(UUID: MIG-[\w/-]{4,80}\)\s*$"
)
_INSTANCE = regex(
    r"\|\s{1,4}(?P<index>\d{1,3})\s{1,4}MIG (?P<profile>[\w.+]{3,20})\s{1,14}\d{1,4}\s{1,14}\d{1,4}\s{1,14}"
    r"\d{1,3}:\d{1,3}\s{1,8}\|\s*$"
)
_ROW = regex(
    r"\|\s{1,4}(?P<index>\d{1,3})\s{1,5}\d{1,4}\s{1,5}\d{1,4}\s{1,5}\d{1,4}\s{1,4}\|"
    r"\s{1,24}\d{1,9}MiB\s{0,4}/\s{0,4}\d{1,9}MiB\s{1,12}\|"
)
_NONE = regex(r"No GPU instances found: Not Found\s*$")
_MARKERS = ("(UUID: MIG-", "| GPU instances:", "| MIG devices:", "No GPU instances found")
_MOST_GPUS = 256


@dataclass
class _Gpu:
    first: int
    last: int
    profiles: Counter[str] = field(default_factory=Counter)


def read(section: Section) -> Iterator[Reading]:
    """MigDevices of each GPU that has some; of several listings in one section the one with names counts."""
    named, plain = _named(section), _plain(section)
    for index, gpu in (named or plain).items():
        count = sum(gpu.profiles.values())
        words = ", ".join(f"{number} of {name}" for name, number in sorted(gpu.profiles.items()) if name)
        yield section.observe(MigDevices(index=index, devices=count, profiles=words or None), gpu.first, gpu.last)
    if (
        named
        or plain
        or (any(_NONE.match(line[:200]) for line in section.lines) and "mig " in command_of(section))
    ):
        yield section.looked(MigDevices, complete=not _is_cut(section))


def _is_cut(section: Section) -> bool:
    """Whether the last line of a box is only the beginning of one."""
    last = next((line[:200].rstrip() for line in reversed(section.lines) if line.strip()), "")
    return last.startswith(("+--", "|")) and not (len(last) > 1 and last.endswith(("+", "|")))


def _named(section: Section) -> dict[int, _Gpu]:
    """Of a listing with profiles."""
    gpus: dict[int, _Gpu] = {}
    current: int | None = None
    for index, whole in section.matching("GPU ", "MIG "):
        line = whole[:300]
        gpu, device, instance = _GPU.match(line), _DEVICE.match(line), _INSTANCE.match(line)
        if gpu:
            current = int(gpu["index"])
            gpus.pop(current, None)  # a listing begins again
        elif device and current is not None:
            _add(gpus, current, device["profile"], index)
        elif instance:
            _add(gpus, int(instance["index"]), instance["profile"], index)
    return gpus


def _plain(section: Section) -> dict[int, _Gpu]:
    """Of the last table, which names no profiles."""
    gpus: dict[int, _Gpu] = {}
    inside = False
    for index, whole in section.matching("| MIG devices:", "| Processes:", "MiB "):
        line = whole[:200]
        if "| MIG devices:" in line:
            gpus, inside = {}, True
        elif "| Processes:" in line:
            inside = False
        elif inside and (match := _ROW.match(line)):
            _add(gpus, int(match["index"]), "", index)
    return gpus


def _add(gpus: dict[int, _Gpu], number: int, profile: str, index: int) -> None:
    if len(gpus) < _MOST_GPUS or number in gpus:
        gpu = gpus.setdefault(number, _Gpu(index, index))
        gpu.profiles[profile] += 1
        gpu.last = index


READER = Reader(
    "mig-instances",
    read,
    markers=_MARKERS,
    commands=("nvidia-smi mig",),
)
