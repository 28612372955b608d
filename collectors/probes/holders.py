"""Which processes hold the GPUs, from the links below /proc/PID/fd. Called inside a step's child only."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from collectors.live.run import run

_GPU = re.compile(r"/dev/nvidia(?:\d+|-uvm)")
_BYSTANDERS = frozenset(
    # As the kernel cuts names: 15 characters.
    ("nvidia-persiste", "nv-fabricmanage", "nv-hostengine", "dcgm-exporter", "dcgmproftester", "nvidia-imex")
)
_LOOK_S = 5.0


@dataclass(frozen=True)
class Held:
    """Who holds the GPUs, each in words, and of how many processes that could not be seen."""

    processes: tuple[str, ...] = ()
    unseen: int = 0
    failed: str | None = None
    """Why it could not be looked at all."""


def holders(proc: str = "/proc", stop: Callable[[], bool] = lambda: False) -> Held:
    """The processes that hold a GPU. Services of the driver that only keep or watch it don't count."""
    printed = bytearray()
    ran = run(lambda: _print(proc), printed.extend, deadline_s=_LOOK_S, stop=stop)
    if ran.exit_code != 0 or not printed:
        return Held(failed=ran.error or "looking for them did not end in time")
    found = json.loads(printed)
    return Held(tuple(found["processes"]), found["unseen"])


def _print(proc: str) -> None:
    processes, unseen = [], 0
    for name in sorted(filter(str.isdigit, os.listdir(proc)), key=int):  # noqa: PTH208 - names are what is wanted
        try:
            device = _device(f"{proc}/{name}/fd")
            comm = Path(f"{proc}/{name}/comm").read_text(errors="replace").strip()
        except PermissionError:
            unseen += 1
            continue
        except OSError:  # it has ended
            continue
        if device is not None and comm not in _BYSTANDERS:
            processes.append(f"process {name} ({comm}) holds {device}")
    os.write(1, json.dumps({"processes": processes, "unseen": unseen}).encode())


def _device(folder: str) -> str | None:
    """The first GPU among the open files of one process."""
    for name in os.listdir(folder):  # noqa: PTH208
        try:
            target = os.readlink(f"{folder}/{name}")  # noqa: PTH115
        except OSError:
            continue
        if _GPU.fullmatch(target):
            return target
    return None
