"""The driver does not answer: error texts of nvidia-smi, NVML's bindings and nvidia-container-cli.

    Failed to initialize NVML: Driver/library version mismatch
    NVML library version: 565.57
    Unable to determine the device handle for GPU0000:91:00.0: Unknown Error

Follows the texts of nvidia-smi 304-610, nvidia-ml-py and libnvidia-container. Each problem is told once. Texts
that other tools print too count only where nothing but the text is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._lines import BDF, MOST_COLUMNS, command_of, is_lead, is_quoted
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.driver import NvidiaSmi, NvmlError
from kb.facts.gpu import Gpu

Problem = Literal[
    "version-mismatch",
    "driver-not-loaded",
    "no-devices",
    "unknown-error",
    "no-permission",
    "library-not-found",
    "gpu-lost",
    "reset-required",
    "function-not-found",
]

# Without case; the longest texts that all releases share. What nothing fits is an unknown error.
_TEXTS: tuple[tuple[str, Problem], ...] = (
    ("driver/library version mismatch", "version-mismatch"),
    ("libraryrmversionmismatch", "version-mismatch"),
    ("librmversionmismatch", "version-mismatch"),
    ("lib_rm_version_mismatch", "version-mismatch"),
    ("function not found", "function-not-found"),
    ("functionnotfound", "function-not-found"),
    ("function_not_found", "function-not-found"),
    ("driver not loaded", "driver-not-loaded"),
    ("drivernotloaded", "driver-not-loaded"),
    ("driver_not_loaded", "driver-not-loaded"),
    ("insufficient permissions", "no-permission"),
    ("gpu access blocked", "no-permission"),
    ("nopermission", "no-permission"),
    ("no_permission", "no-permission"),
    ("operating_system", "no-permission"),
    ("library not found", "library-not-found"),
    ("librarynotfound", "library-not-found"),
    ("library_not_found", "library-not-found"),
    ("could not load nvml", "library-not-found"),
    ("no supported gpus", "no-devices"),
    ("requires reset", "reset-required"),
    ("resetrequired", "reset-required"),
    ("reset_required", "reset-required"),
    ("gpu is lost", "gpu-lost"),
    ("gpuislost", "gpu-lost"),
    ("gpu_is_lost", "gpu-lost"),
)
_INIT = regex(r"Failed to initialize NVML: (?P<text>[\w/ .:-]{1,80}?)\.?\s*$")
_LIBRARY = regex(r"\s{0,8}NVML library version: (?P<version>\d{1,4}(?:\.\d{1,4}){1,3})\s*$")
_NOT_LOADED = regex(r"NVIDIA-SMI has failed because it couldn't communicate with (?:the )?NVIDIA driver\.")
_NO_LIBRARY = regex(r"NVIDIA-SMI couldn't find libnvidia-ml\.so library")
_NO_DEVICES = regex(r"(?:[\s|]{0,60}Failed: )?No devices were found\.?\s*$")
_HANDLE = regex(
    rf"Unable to determine the device handle for (?:GPU|gpu)\s?(?P<bdf>{BDF})?\S{{0,30}}: (?P<text>.{{1,120}})$"
)
_CONTAINER = regex(r"nvidia-container-cli: (?:initialization error: )?nvml error: (?P<text>[\w/ ]{1,60})")
_CONTAINER_LIBRARY = regex(
    r"nvidia-container-cli: (?:initialization error: )?load library failed: libnvidia-ml\.so"
)
_BINDING = regex(r"(?:\w{1,20}\.){0,3}NVMLError_(?P<text>[A-Z]\w{2,40}): ")
_WHOLE: tuple[tuple[re.Pattern[str], Problem], ...] = (
    (_NOT_LOADED, "driver-not-loaded"),
    (_NO_LIBRARY, "library-not-found"),
)
_SAYS_ERROR = regex(r"\b(?:ERROR|Error|error): $")
_MARKERS = (
    "Failed to initialize NVML",
    "NVIDIA-SMI has failed",
    "NVIDIA-SMI couldn't find",
    "No devices were found",
    "No devices found",
    "Unable to determine the device handle",
    "nvidia-container-cli: ",
    "NVMLError_",
)


def read(section: Section) -> Iterator[Reading]:
    """NvmlError for each problem, from its first line."""
    seen: set[NvmlError] = set()
    for index, line in section.matching(*_MARKERS):
        fact = _error(section, index, line[:MOST_COLUMNS])
        if fact and fact not in seen:
            seen.add(fact)
            end = index + 1 if fact.library_version else index
            yield section.observe(fact, index, end)
    if seen:
        yield section.looked(NvmlError)
        no_gpu = all(fact.problem == "no-devices" for fact in seen)
        if any(fact.tool == "nvidia-smi" for fact in seen):
            yield section.looked(Gpu, complete=no_gpu, reason="unreadable")
            # NVML refuses its own tool: no header can be there. Elsewhere a later run may have shown one.
            refused = any(fact.problem == "version-mismatch" for fact in seen)
            yield section.looked(NvidiaSmi, complete=refused, reason="unreadable")


def _error(section: Section, index: int, line: str) -> NvmlError | None:
    match = _INIT.search(line)
    lead = line[: match.start()] if match else ""
    if match and (is_lead(lead) or _SAYS_ERROR.search(lead[-20:])):
        problem = _problem(match["text"])
        library = _LIBRARY.match(section.lines[index + 1][:200]) if index + 1 < len(section.lines) else None
        version = library["version"] if library and problem == "version-mismatch" else None
        return NvmlError(problem=problem, tool="nvidia-smi", library_version=version)
    return _of_nvidia_smi(section, line) or _of_others(line)


def said_by(line: str) -> Problem | None:
    """The problem that a line of nvidia-smi names; None for a refusal by Windows, and for other lines."""
    match = _INIT.search(line)
    if match and "operating system" not in match["text"]:
        return _problem(match["text"])
    whole = next((problem for pattern, problem in _WHOLE if pattern.search(line)), None)
    return "no-devices" if whole is None and _NO_DEVICES.match(line) else whole


def _of_nvidia_smi(section: Section, line: str) -> NvmlError | None:
    for pattern, problem in _WHOLE:
        match = pattern.search(line)
        if match and is_lead(line[: match.start()]):
            return NvmlError(problem=problem, tool="nvidia-smi")
    if _NO_DEVICES.match(line) or _is_only_line(section, line, "No devices found"):
        return NvmlError(problem="no-devices", tool="nvidia-smi")
    match = _HANDLE.search(line)
    if match and is_lead(line[: match.start()]):
        lost = re.match(r"unknown error|gpu is lost|not found", match["text"].strip(), re.IGNORECASE)
        return NvmlError(
            problem="gpu-lost" if lost else _problem(match["text"]),
            tool="nvidia-smi",
            bdf=match["bdf"],
            vague=True if lost is not None and "lost" not in lost[0].lower() else None,
        )
    return None


def _of_others(line: str) -> NvmlError | None:
    match = _CONTAINER.search(line) or _CONTAINER_LIBRARY.search(line)
    if match and not is_quoted(line[: match.start()]):
        problem = _problem(match["text"]) if match.re.pattern == _CONTAINER.pattern else "library-not-found"
        return NvmlError(problem=problem, tool="nvidia-container-cli")
    match = _BINDING.search(line)
    if match and is_lead(line[: match.start()]):
        problem = _problem(match["text"])
        if problem != "unknown-error" or match["text"] == "Unknown":
            return NvmlError(problem=problem, tool="pynvml")
    return None


def _is_only_line(section: Section, line: str, text: str) -> bool:
    """Whether this text is all that nvidia-smi, or whatever wrote this file, had to say."""
    if line.strip().rstrip(".") != text:
        return False
    is_smi = command_of(section).startswith("nvidia-smi")
    return is_smi or (section.command is None and sum(bool(one.strip()) for one in section.lines) == 1)


def _problem(text: str) -> Problem:
    plain = text.casefold()
    return next((problem for part, problem in _TEXTS if part in plain), "unknown-error")


READER = Reader("nvml-error", read, markers=_MARKERS)
