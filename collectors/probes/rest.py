"""What is left to copy after a pair that hung, crashed or failed: all but its two GPUs, in a new process.

The two are hidden from that process altogether, for nobody knows in which state they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def rest_of(
    asked: Mapping[str, Any], records: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """What is to be asked of the next process; None where nothing is left, or where no pair is known.

    `asked` is what was asked of the last one, `records` are its journal, `steps` those in which it stopped.
    """
    step = next((one for one in steps if "src" in one and "dst" in one), None)
    ways = list(asked.get("ways", ()))
    if step is None or step["step"] not in ways:
        return None
    gone = {step["src"], step["dst"]}
    numbers = [number for number in _numbers(records) if number not in gone]
    after = [step["src"], step["dst"]]
    ways = ways[ways.index(step["step"]) :]
    if not any((src, dst) > tuple(after) for src in numbers for dst in numbers if src != dst):
        ways, after = ways[1:], [-1, -1]  # all other pairs have had this way
    if len(numbers) < 2 or not ways:
        return None
    without = sorted({*asked.get("without", ()), *gone})
    return {"ways": ways, "numbers": numbers, "without": without, "after": after}


def environ_of(
    rest: Mapping[str, Any], records: Sequence[Mapping[str, Any]], environ: Mapping[str, str]
) -> dict[str, str]:
    """The variable that shows the next process no other GPUs; `environ` is that of the last one."""
    devices = _devices(records)
    names = [name.strip() for name in environ.get(_VISIBLE, "").split(",") if name.strip()]
    if len(names) != len(devices):
        names = [str(device.get("uuid", device["index"])) for device in devices]
    by_number = {device["index"]: name for device, name in zip(devices, names)}  # noqa: B905 - of one length
    return {_VISIBLE: ",".join(by_number[number] for number in rest["numbers"])}


def _numbers(records: Sequence[Mapping[str, Any]]) -> list[int]:
    return [device["index"] for device in _devices(records)]


def _devices(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The GPUs that the last process saw."""
    ends = (record for record in records if (record.get("event"), record.get("step")) == ("end", "devices"))
    found: list[dict[str, Any]] = next(ends, {}).get("devices", [])
    return found
