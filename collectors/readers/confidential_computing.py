"""Confidential computing of the GPUs, from `nvidia-smi conf-compute` and NVIDIA's tool for hosts.

    CC status: ON
    Confidential Compute GPUs Ready state: not-ready
        CC GPUs Ready State        : Not Ready
    2025-03-04,09:12:10.310 INFO     GPU 0000:21:00.0 H100-SXM 0x2330 BAR0 0xd0042000000 CC mode set to on. …

Follows gpu_cc_tool.py and nvidia_gpu_tools.py of 2023 to 2025, and drivers 535 to 610: the single answers of
-f, -e, -grs and -mgm, and the report of -q. Each answer may come alone, and is a fact of its own then. Other
lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.fabric import ConfidentialComputing

_LINE = regex(
    r"\s{0,8}(?P<what>CC [sS]tat(?:us|e)|DevTools [mM]ode|CC Environment|CC GPUs Ready [sS]tate"
    r"|Confidential Compute GPUs Ready state|Multi-GPU [mM]ode)\s{0,40}: (?P<value>[\w -]{2,40}?)\s*$"
)
_TOOL = regex(r".{0,80}\bGPU \S{5,16} .{0,60}? (?:has )?CC mode (?:set to |is )?(?P<value>on|off|devtools)\b")
_REPORT = "NVSMI CONF-COMPUTE LOG"
_STATES: dict[str, Literal["on", "off", "devtools"]] = {"on": "on", "off": "off", "devtools": "devtools"}


def read(section: Section) -> Iterator[Reading]:
    """ConfidentialComputing: the answers of a section together, the last of each."""
    answers: dict[str, Any] = {}
    lines: list[int] = []
    for index, line in section.matching(" CC mode "):
        match = _TOOL.match(line[:300])
        if match:
            answers["state"] = _STATES[match["value"]]
            lines.append(index)
    for index, line in section.matching("CC ", "Confidential Compute GPUs", "Multi-GPU ", "DevTools "):
        match = _LINE.match(line[:200])
        answer = _answer(match["what"].lower(), match["value"].lower()) if match else {}
        if answer:
            answers |= answer
            lines.append(index)
    if answers.get("state") == "off":
        answers.pop("ready", None)  # it is always `Not Ready` then
    if answers:
        yield section.observe(ConfidentialComputing(**answers), min(lines), max(lines))
    if answers or command_of(section).startswith("nvidia-smi conf-compute"):
        asked_all = any(_REPORT in line for line in section.lines)
        yield section.looked(ConfidentialComputing, complete=asked_all, reason="not-collected")


def _answer(what: str, value: str) -> dict[str, Any]:
    """The field that a line fills."""
    if what in {"cc status", "cc state"}:
        return {"state": _STATES[value]} if value in _STATES else {}
    if what == "devtools mode":
        return {"state": "devtools"} if value == "on" else {}
    if what == "cc environment":
        return {"environment": value.upper()}
    if what == "multi-gpu mode":
        name = "none" if value == "none" else "protected-pcie" if "protected" in value else "other"
        return {"multi_gpu": name}
    ready = value.replace(" ", "-")
    return {"ready": ready == "ready"} if ready in {"ready", "not-ready"} else {}


READER = Reader(
    "confidential-computing",
    read,
    markers=(
        "CC status",
        "CC State",
        "CC Environment",
        "Confidential Compute GPUs Ready",
        "CC GPUs Ready",
        " CC mode ",
    ),
    commands=("nvidia-smi conf-compute",),
)
