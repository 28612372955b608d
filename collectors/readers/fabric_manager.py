"""How far NVIDIA's fabric manager came, and what it found wrong: its log, its unit's journal, its start script.

    [Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci …
    host nv-fabricmanager[1507]: fabric manager NVIDIA GPU driver interface version 535.183.01 don't match with …
    host systemd[1]: Started NVIDIA fabric manager service.
    nvlsm: ibwarn: [15] umad_init: can't read ABI version from … (No such file …): is ib_umad module loaded?

Follows fabric manager 450 to 610, systemd 219 to 257, libibumad 1.3 to 61, and the wrapper and services of Talos
1.4 to 1.13. Lines of one kind are told together. A sentence that quotes a message, and other programs' lines, give
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from collectors.readers._lines import BDF, MOST_COLUMNS, VERSION, command_of, is_lead
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.fabric import FabricManagerProblem, FabricManagerRun, FabricProblem

_VERSIONS = regex(
    rf"fabric manager NVIDIA GPU driver interface version (?P<fm>{VERSION}) do(?:n't|esn't) match with "
    rf"driver version (?P<driver>{VERSION})"
)
_SWITCH = regex(
    r"detected NVSwitch (?P<kind>fatal|non-fatal) error (?P<code>\d{1,6}) on fid \d{1,4} on NVSwitch "
    rf"pci bus id (?P<bdf>{BDF})"
)
_UMAD = regex(
    r"(?:ibwarn: \[\d{1,10}\] )?(?:\w{1,40}: )?can't read ABI version from \S{1,200} \(.{1,120}\): "
    r"is (?:ib_umad|ibcore) module loaded\?"
)
"""Of whatever uses InfiniBand; it is about NVLink where nvlsm or fabric manager says it."""
_FORMS: tuple[tuple[re.Pattern[str], FabricProblem], ...] = (
    (_VERSIONS, "version-mismatch"),
    (
        regex(
            r"request to query NVSwitch device information from NVSwitch driver failed with error: ?"
            r"WARNING Nothing to do \[NV_WARN_NOTHING_TO_DO\]"
        ),
        "no-nvswitch",
    ),
    (regex(r"detected number of NVSwitches don't match with any supported system topology"), "topology-mismatch"),
    (regex(r"failed to find the GPU handle \d{1,24} in the multicast team"), "multicast"),
    (regex(r"Unknown option: \S{1,200}$"), "start-script"),
    (regex(r"\S{0,120}\bnvlsm does not exist\b"), "management-path"),
    (
        regex(r"(?:dpkg-query: )?no packages found matching nvlsm|package nvlsm is not installed"),
        "management-path",
    ),
    (regex(r"modprobe: FATAL: Module (?:ib_umad|mlx5_ib|ib_core|mlx5_core) not found"), "management-path"),
    (_UMAD, "management-path"),
    (
        regex(r"failed to (?:initialize libibumad|find a NVSwitch management port)\b"),
        "management-path",
    ),
)
_ERROR = regex(r"\d:\d\d\] \[(?:ERROR|CRITICAL)\] (?:\[tid \d{1,10}\] )?(?P<text>\S.{4,400})")
# What an error of its log is about, in lower case; the first that occurs counts.
_WORDS: tuple[tuple[str, FabricProblem], ...] = (
    ("multicast", "multicast"),
    ("subnet manager", "management-path"),
    ("nvlsm", "management-path"),
    ("infiniband", "management-path"),
    ("umad", "management-path"),
    ("training", "training"),
    ("to train", "training"),
    ("not trained", "training"),
    ("routing", "routing"),
    ("route", "routing"),
)
_LOG_LEAD = regex(r"(?:^|[\]>;|:]\s{1,4})\[[A-Z][a-z]{2} [ \d]?\d \d{4} \d\d:\d$")
_PROGRAM = regex(
    r"(?:nv-fabricmanager|nvidia-fabricmanager(?:-start\.sh|-wrapper)?|\bnvlsm)(?:\[\d{1,10}\])?"
    r": ?(?:infiniband: )?$"
)
_UNIT = r"(?:nvidia-fabricmanager\.service(?: - |\b))?(?:NVIDIA )?(?:[Ff]abric [Mm]anager)?"
_EVENTS = regex(
    rf"systemd\[\d{{1,10}}\]: (?:(?P<verb>Started|Stopping|Stopped|Failed to start) {_UNIT}"
    r"|nvidia-fabricmanager\.service: "
    r"(?P<what>Failed with result|Deactivated successfully"
    r"|Control process exited, code=(?:exited, status=[1-9]|killed)))"
)
# Talos has no systemd: its service manager says so, in the log of the machine and in lists of services.
_OF_TALOS = regex(
    r"Error running Containerd\((?:ext-)?nvidia-fabricmanager\), going to restart forever: .{0,200}"
    r"failed: exit code [1-9]"
)
_OF_UNIT = regex(r"fabric ?manager", re.IGNORECASE)
_CONFIGURED = regex(r"Successfully configured all the available (?:GPUs and )?NVSwitches")
_BEGUN = regex(rf"Fabric Manager version (?P<version>{VERSION}) is running|Starting NVIDIA fabric manager daemon")
_SYSTEM = regex(
    r"Detected (?P<system>Pre-NVL5|NVL5\+) system|fabric manager daemon for (?P<nvlink5>NVLink5\+)"
    r"|found NVSwitch LPF(?: device)?: "
)
_TIME = regex(
    r"\[(?P<log>[A-Z][a-z]{2} [ \d]?\d \d{4} \d\d:\d\d:\d\d)\]"
    r"|(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)|(?P<syslog>\b[^\W\d]{3,10}\.? [ \d]\d \d\d:\d\d:\d\d)(?=\s)"
)
_WHOLE = regex(
    r"journalctl .{0,100}-u ?nvidia-fabricmanager(?!.*\||.* (?:-n|--lines|--since|-g)\b)|cat .*fabricmanager\.log"
)
_MARKERS = (
    *("nv-fabricmanager", "nvidia-fabricmanager", "fabric manager", "Fabric Manager", "NVSwitch"),
    *("NV_WARN_NOTHING", "[ERROR] [tid", "[CRITICAL] [tid", "multicast team", "nvlsm does not exist"),
    *("no packages found matching nvlsm", "package nvlsm is not"),
    *("Module ib_umad not found", "can't read ABI version from"),
)
_LINES = (
    *("fabric manager ", "NVIDIA fabric manager", "nvidia-fabricmanager.service"),
    *("Successfully configured all the", "NV_WARN_NOTHING_TO_DO", "detected NVSwitch", "number of NVSwitches"),
    *("multicast team request", "NVL5", "[ERROR] [tid", "Fabric Manager version"),
)
_ALSO = ("Unknown option", "modprobe: FATAL", "Detected ", "Stopp")
_BY_HAND = ("modprobe: FATAL: Module ib_umad not found", "packages found matching nvlsm", "package nvlsm is not")
"""Tell of the way to the switches also where a person tried it by hand, with no word of fabric manager."""
_MOST_PROBLEMS = 64
_MOST_TEXT = 300


@dataclass
class _Problem:
    """Lines of one kind."""

    fact: FabricManagerProblem
    line: int


@dataclass
class _Run:
    """What the lines say of its starts and stops."""

    first: int = -1
    last: int = -1
    state: Literal["configured", "started", "stopped", "failed"] | None = None
    starts: int = 0
    begun: int = 0
    stops: int = 0
    failures: int = 0
    system: Literal["pre-nvlink5", "nvlink5"] | None = None
    version: str | None = None
    time: str | None = None


def read(section: Section) -> Iterator[Reading]:
    """FabricManagerProblem for each kind of problem, and one FabricManagerRun."""
    problems: dict[tuple[object, ...], _Problem] = {}
    run = _Run()
    is_of_it = (
        any(_OF_UNIT.search(line[:MOST_COLUMNS]) for line in section.lines) or "fabric" in section.path.lower()
    )
    for index, whole in section.matching(*_MARKERS, *_ALSO):
        line = whole[:MOST_COLUMNS]
        if is_of_it or any(words in line for words in _BY_HAND):
            _note(problems, line, index)
        _event(run, line, index)
    for problem in problems.values():
        yield section.observe(problem.fact, problem.line)
    if run.state is not None:
        fact = FabricManagerRun(
            state=run.state,
            nothing_to_do=True
            if run.state == "failed" and any(key[0] == "no-nvswitch" for key in problems)
            else None,
            starts=max(run.starts, run.begun, 1 if run.state != "stopped" else 0),
            stops=run.stops,
            failures=run.failures,
            system=run.system,
            version=run.version,
            last=run.time,
        )
        yield section.observe(fact, run.last)
    if problems or run.state is not None:
        complete = _WHOLE.match(command_of(section)) is not None
        yield section.looked(FabricManagerProblem, complete=complete)
        yield section.looked(FabricManagerRun, complete=complete)


def _note(problems: dict[tuple[object, ...], _Problem], line: str, index: int) -> None:
    found = _problem(line)
    if found is None:
        return
    text = found.text if found.problem == "other" else None
    key = (found.problem, found.code, found.bdf, found.fabric_manager_version, found.driver_version, text)
    time = _time(line)
    known = problems.get(key)
    if known is not None:
        changes = {"count": known.fact.count + 1, "last": time or known.fact.last}
        known.fact = known.fact.model_copy(update=changes)
    elif len(problems) < _MOST_PROBLEMS:
        problems[key] = _Problem(found.model_copy(update={"first": time, "last": time}), index)


def _problem(line: str) -> FabricManagerProblem | None:
    """What one line says is wrong."""
    switch = _SWITCH.search(line)
    if switch and _is_own(line[: switch.start()]):
        return FabricManagerProblem(
            problem="nvswitch-fatal" if switch["kind"] == "fatal" else "nvswitch-nonfatal",
            text=line[switch.start() :].strip()[:_MOST_TEXT],
            code=int(switch["code"]),
            bdf=switch["bdf"],
        )
    for form, problem in _FORMS:
        match = form.search(line)
        if match and _is_own(line[: match.start()], by_name=form is _UMAD):
            named = match.groupdict()
            return FabricManagerProblem(
                problem=problem,
                text=line[match.start() :].strip()[:_MOST_TEXT],
                fabric_manager_version=named.get("fm"),
                driver_version=named.get("driver"),
            )
    error = _ERROR.search(line)
    if error and "nvidia-imex[" not in line and _LOG_LEAD.search(line[: error.start()]):
        text = error["text"].strip()[:_MOST_TEXT]
        other: FabricProblem = "other"
        about = next((name for words, name in _WORDS if words in text.lower()), other)
        return FabricManagerProblem(problem=about, text=text)
    return None


def _is_own(lead: str, *, by_name: bool = False) -> bool:
    """Whether a message with this before it is a line of a log or of a terminal, or must name the program."""
    return (not by_name and is_lead(lead)) or _PROGRAM.search(lead[-80:]) is not None


def _event(run: _Run, line: str, index: int) -> None:
    system = _SYSTEM.search(line)
    if system and _is_own(line[: system.start()].removesuffix("Starting NVIDIA ")):
        run.system = "pre-nvlink5" if system["system"] == "Pre-NVL5" else "nvlink5"
    configured, begun, event = _CONFIGURED.search(line), _BEGUN.search(line), _EVENTS.search(line)
    if configured and _is_own(line[: configured.start()]):
        run.state = "configured"
    elif begun and _is_own(line[: begun.start()]):
        run.state, run.begun, run.version = "started", run.begun + 1, begun["version"] or run.version
    elif event and _OF_UNIT.search(line[event.start() :]):
        _unit_event(run, event["verb"] or event["what"])
    elif _OF_TALOS.search(line):
        run.state, run.failures = "failed", run.failures + 1
    else:
        return
    run.last, run.time = index, _time(line) or run.time


def _unit_event(run: _Run, what: str) -> None:
    """What systemd says of the unit."""
    if what == "Started":
        run.starts += 1
        run.state = run.state if run.state == "configured" else "started"
    elif what.startswith(("Failed", "Control")):
        run.failures += what == "Failed with result"
        run.state = "failed"
    else:
        run.stops += run.state != "stopped"
        run.state = "stopped"


def _time(line: str) -> str | None:
    match = _TIME.search(line[:120])
    return match[match.lastgroup or 0] if match else None


READER = Reader(
    "fabric-manager",
    read,
    markers=_MARKERS,
    commands=("journalctl -u nvidia-fabricmanager", "systemctl status nvidia-fabricmanager"),
    lines=_LINES,
)
