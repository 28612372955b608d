"""Signs that the driver lets GPUs go between clients: slow tools, settings that are not kept, hooks that give up.

    Warning: persistence mode is disabled on device 00000000:41:00.0. See the Known Issues section of …
    nvidia-container-cli: initialization error: driver error: timed out
    real    0m31.204s

Follows nvidia-smi 346-610, libnvidia-container and the `time` of shells. `real` counts only below an nvidia-smi
that the transcript shows, and from 8 seconds on. Sentences give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import BDF, is_lead, is_quoted
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import DriverTeardown

SLOW_S = 8
_OFF = regex(rf"\s{{0,4}}Warning: persistence mode is disabled on (?:this )?device(?: {BDF})?\.? ")
_HOOK = regex(r"nvidia-container-cli(?:\.real)?: (?:initialization error: )?driver(?: rpc)? error: timed out")
_REAL = regex(r"real\s{1,8}(?P<minutes>\d{1,3})m(?P<seconds>\d{1,2})[.,]\d{1,3}s\s*$")
_ELAPSED = regex(r".{0,200}\s(?P<minutes>\d{1,3}):(?P<seconds>\d{2})[.,]\d{1,2}\s?elapsed")
_TOTAL = regex(r".{0,200} cpu (?:(?P<minutes>\d{1,3}):)?(?P<seconds>\d{1,3})[.,]\d{1,3} total\s*$")
_TOOLS = ("nvidia-smi", "deviceQuery", "torch.cuda.")
_TIMED = regex(
    r"(?:time|/usr/bin/time(?: -p)?) (?:sudo )?"
    r"(?:(?:\S{1,60}/)?nvidia-smi\b(?!.{0,80}(?:-l\b|--loop|-lms|dmon|pmon))|(?:\S{1,60}/)?deviceQuery\b"
    r"|\S{0,60}python[\d.]{0,5} -c [\"']import torch; ?torch\.cuda\.(?:init|is_available|device_count)"
    r"\(\)[\"'])"
)


def read(section: Section) -> Iterator[Reading]:
    """DriverTeardown for each sign once; of several slow queries the slowest."""
    found: dict[str, tuple[DriverTeardown, int]] = {}
    for index, line in section.matching("persistence mode is disabled on", "error: timed out"):
        said = without_launcher(line[:600]).text
        if _OFF.match(said):
            fact = DriverTeardown(sign="settings-not-kept", text=said.strip()[:200])
            found.setdefault("settings-not-kept", (fact, index))
        match = _HOOK.search(line[:4000])
        if match and not is_quoted(line[: match.start()]):
            fact = DriverTeardown(sign="start-timed-out", text=match[0])
            found.setdefault("start-timed-out", (fact, index))
    slow = _slowest(section)
    if slow:
        seconds, index = slow
        text = section.lines[index].strip()[:200]
        found["slow-tool"] = DriverTeardown(sign="slow-tool", seconds=seconds, text=text), index
    for fact, index in found.values():
        yield section.observe(fact, index)
    if found:
        yield section.looked(DriverTeardown, complete=False, reason="not-collected")


def _slowest(section: Section) -> tuple[int, int] | None:
    """The longest query of nvidia-smi that was timed, in seconds, and its line."""
    timed = _TIMED.match((section.command or "").strip()[:300]) is not None
    longest: tuple[int, int] | None = None
    for index, line in enumerate(section.lines):
        if any(tool in line[:300] for tool in _TOOLS):
            lead, _, rest = line[:300].partition("time ")
            after_prompt = is_lead(lead) or lead.rstrip().endswith(("$", "#", "%"))
            if rest and after_prompt:
                timed = _TIMED.match(f"time {rest}") is not None
            continue
        match = (
            (_REAL.match(line[:300]) or _ELAPSED.match(line[:300]) or _TOTAL.match(line[:300])) if timed else None
        )
        if match:
            seconds = int(match["minutes"] or 0) * 60 + int(match["seconds"])
            if seconds >= SLOW_S and (longest is None or seconds > longest[0]):
                longest = seconds, index
    return longest


READER = Reader(
    "driver-teardown",
    read,
    markers=("persistence mode is disabled on", "error: timed out", "time nvidia-smi", "time sudo nvidia-smi"),
    commands=("time nvidia-smi", "time sudo nvidia-smi", "/usr/bin/time", "time ./deviceQuery", "time python"),
)
