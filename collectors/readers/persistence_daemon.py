"""What nvidia-persistenced logs of itself, and what `nvidia-smi -pm` answers.

    May 31 05:33:40 host nvidia-persistenced[19176]: Started (19176)
    May 31 05:33:40 host nvidia-persistenced[19176]: Failed to query NVIDIA devices. Please ensure that the …
    Enabled persistence mode for GPU 00000000:41:00.0.

Follows nvidia-persistenced and nvidia-smi of drivers 361 to 610, in syslog and in the journal. Of several starts
the last one counts, and logs of earlier boots do not. Sentences about the daemon give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._kernel_events import LOG_MARKERS, BootId, KernelLog
from collectors.readers._lines import BDF, MOST_COLUMNS, command_of
from collectors.readers._log_stamps import Stamp
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import PersistenceDaemon
from kb.facts.gpu_state import GpuModes

_Problem: TypeAlias = Literal["devices", "permission", "already-running", "library", "other"]

_LINE = regex(r"(?:^|\d:\d\d\S{0,30} \S{1,64} )nvidia-persistenced(?:\[\d{1,10}\])?: (?P<what>\S.{0,400}?)\s*$")
_DEVICE = regex(
    r"device (?P<bdf>[0-9a-fA-F:.]{7,20}) - (?P<what>registered|persistence mode (?:enabled|disabled))"
)
_MODE = regex(
    rf"\s{{0,4}}(?:(?P<what>Enabled|Disabled)(?: Legacy)? persistence mode"
    rf"|Persistence mode is already (?P<is>Enabled|Disabled)) for GPU (?P<bdf>{BDF})\.?\s*$"
)
_PROBLEMS: tuple[tuple[str, _Problem], ...] = (
    ("Failed to query NVIDIA devices", "devices"),
    ("Failed to open libnvidia-cfg", "library"),
    ("Failed to lock PID file", "already-running"),
    ("already running", "already-running"),
    ("ermission", "permission"),
    ("nvidia-persistenced failed to initialize", "other"),
    ("Failed to ", "other"),
    ("Unable to ", "other"),
)
_HARMLESS = "The daemon no longer has permission to remove"
_BEGINS = "Verbose syslog connection opened"
_COMMANDS = ("nvidia-smi -pm", "nvidia-smi --persistence-mode")


class _Line(NamedTuple):
    """One line of the daemon."""

    at: int
    what: str
    boot: BootId
    stamp: Stamp


@dataclass
class _Start:
    """The last start, as far as its lines go."""

    first: int = -1
    last: int = -1
    state: Literal["running", "failed", "stopped"] | None = None
    problem: _Problem | None = None
    text: str | None = None
    devices: dict[str, bool] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """PersistenceDaemon of the last start; GpuModes for each GPU whose mode nvidia-smi set."""
    yield from _daemon(section)
    modes: dict[str, tuple[bool, int]] = {}
    for index, line in section.matching("ersistence mode"):
        match = _MODE.match(line[:200])
        if match:
            modes[match["bdf"].lower()] = (match["what"] or match["is"]) == "Enabled", index
    for bdf, (mode, index) in modes.items():
        yield section.observe(GpuModes(bdf=bdf, persistence=mode), index)
    if modes:
        yield section.looked(GpuModes, complete=False, reason="not-collected")


def _daemon(section: Section) -> Iterator[Reading]:
    log = KernelLog(section)
    lines: list[_Line] = []
    for line in log.lines("nvidia-persistenced"):
        match = _LINE.search(line.text[:MOST_COLUMNS])
        if match:
            lines.append(_Line(line.index, match["what"], line.boot, line.stamp(match.start("what"))))
    present = [line for line in lines if log.which(line.boot, line.stamp) == "this"]
    start = _last_start([line for line in present if line.boot.log == present[-1].boot.log])
    if start.state is not None:
        running = start.state == "running"
        fact = PersistenceDaemon(
            state=start.state,
            problem=start.problem,
            text=start.text,
            gpus=len(start.devices) if start.devices else None,
            persistence_off=sum(not is_on for is_on in start.devices.values()) if running else 0,
        )
        yield section.observe(fact, start.first, start.last)
    if lines or command_of(section).startswith("systemctl status nvidia-persistenced"):
        yield section.looked(PersistenceDaemon, complete=start.state is not None)


def _last_start(lines: Sequence[_Line]) -> _Start:
    start = _Start()
    for line in lines:
        if line.what.startswith(_BEGINS):
            start = _Start(first=line.at)
        start.first = line.at if start.first < 0 else start.first
        if _note(start, line.what):
            start.last = line.at
    return start


def _note(start: _Start, what: str) -> bool:
    """Takes in what a line says; whether it counts."""
    device = _DEVICE.match(what)
    if device:
        start.devices[device["bdf"]] = device["what"].endswith("enabled")
        return True
    if what.startswith("Started ("):
        start.state = "running"
    elif what.startswith(("Shutdown (", "Received signal")):
        start.state = "failed" if start.state == "failed" else "stopped"
    elif not what.startswith(_HARMLESS):
        problem = next((name for words, name in _PROBLEMS if words in what), None)
        if problem is None:
            return False
        if start.problem in {None, "other"}:
            start.problem, start.text = problem, what[:300]
        if "failed to initialize" in what or problem in {"devices", "library", "already-running"}:
            start.state = "failed"
    return True


READER = Reader(
    "persistence-daemon",
    read,
    markers=(
        "nvidia-persistenced[",
        "nvidia-persistenced: ",
        "ersistence mode for GPU",
        "ersistence mode is already",
    ),
    commands=(*_COMMANDS, "systemctl status nvidia-persistenced", "journalctl -u nvidia-persistenced"),
    lines=("nvidia-persistenced[", "nvidia-persistenced: ", *LOG_MARKERS),
)
