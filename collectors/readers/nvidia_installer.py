"""Runs of NVIDIA's own installer (the .run file), which goes past the package manager, from its log.

    nvidia-installer log file '/var/log/nvidia-installer.log'
    ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when this kernel module …
    -> Installation of the NVIDIA Accelerated Graphics Driver for Linux-x86_64 (version: 525.116.04) is now …

Follows /var/log/nvidia-installer.log and nvidia-uninstall.log of drivers 304 to 610, in English in every locale. A
log without its first line, as a cut one, and what other programs say of the installer give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._lines import VERSION
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import RunfileInstall

_Problem: TypeAlias = Literal["module-build", "module-load", "module-signature", "nouveau", "in-use", "other"]

_HEAD = regex(r"nvidia-installer log file '(?P<path>/\S{1,200})'\s*$")
_TIME = regex(r"creation time: (?P<time>\S.{5,40}?)\s*$")
_VERSION = regex(rf"installer version: (?P<version>{VERSION})\s*$")
_ARGUMENT = regex(r"\s{2,8}(?P<argument>\S{1,200})\s*$")
_REPLACED = regex(
    rf"-> There appears to already be a driver installed on your system \(version: ?(?P<version>{VERSION})"
)
_DONE = regex(
    r"-> .{0,200}Installation of the (?:NVIDIA Accelerated Graphics Driver|kernel module) .{0,200}is now complete"
    r"|-> Uninstallation of existing driver: .{0,200}is complete"
)
_FAILED = regex(r"ERROR: (?:Installation|Uninstallation|Failed to uninstall).{0,200}?(?:failed|aborted)")
_ERROR = regex(r"ERROR: (?!modpost)(?P<text>\S.{4,400})")
_KEY = regex(
    r"-> Kernel module load error: (?:Required key not available|Key was rejected|Operation not permitted)"
)
# What an error is about, in lower case; the first that occurs counts.
_WORDS: tuple[tuple[str, _Problem], ...] = (
    ("the nouveau kernel driver is currently in use", "nouveau"),
    ("already loaded in your kernel", "in-use"),
    ("already be loaded in your kernel", "in-use"),
    ("running an x server", "in-use"),
    ("unable to load the", "module-load"),
    ("failed to build", "module-build"),
    ("was not created", "module-build"),
    ("unable to build", "module-build"),
    ("building kernel modules", "module-build"),
    ("kernel source", "module-build"),
    ("kernel header", "module-build"),
    ("compiler", "module-build"),
    ("dkms", "module-build"),
    ("sign the kernel module", "module-signature"),
    ("module signing", "module-signature"),
)
_NO_MODULE = regex(r"--?no-kernel-modules?$")
_MARKER = "nvidia-installer log file '"
_BANNER = "________"
_MOST_TEXT = 300


@dataclass
class _Run:
    """One log, as far as it has been read."""

    first: int
    last: int
    action: Literal["install", "uninstall"]
    outcome: Literal["succeeded", "failed", "unfinished"] = "unfinished"
    version: str | None = None
    time: str | None = None
    replaced: str | None = None
    text: str | None = None
    problem: _Problem | None = None
    userspace_only: bool = False
    in_arguments: bool = False

    def fact(self) -> RunfileInstall:
        """What is known of the run."""
        failed = self.outcome != "succeeded"
        return RunfileInstall(
            action=self.action,
            outcome=self.outcome,
            version=self.version,
            problem=self.problem if failed else None,
            text=self.text if failed else None,
            time=self.time,
            replaced=self.replaced,
            userspace_only=self.userspace_only,
        )


def read(section: Section) -> Iterator[Reading]:
    """One RunfileInstall for each log."""
    run: _Run | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:600]
        head = _HEAD.match(line) if _MARKER in line else None
        if run is not None and (head or line.startswith(_BANNER)):
            yield section.observe(run.fact(), run.first, run.last)
            run = None
        if head:
            run = _Run(index, index, "uninstall" if "uninstall" in head["path"] else "install")
        elif run is not None and line.strip() and _note(run, line):
            run.last = index
    if run is not None:
        yield section.observe(run.fact(), run.first, run.last)
    if any(_HEAD.match(line[:300]) for _, line in section.matching(_MARKER)):
        yield section.looked(RunfileInstall)


def _note(run: _Run, line: str) -> bool:
    """Takes in what a line says; whether it says something."""
    for form in (_TIME, _VERSION, _REPLACED):
        match = form.match(line)
        if match:
            run.time = match["time"] if form is _TIME else run.time
            run.version = match["version"] if form is _VERSION else run.version
            run.replaced = match["version"] if form is _REPLACED else run.replaced
            return True
    argument = _ARGUMENT.match(line) if run.in_arguments else None
    run.in_arguments = line.startswith("nvidia-installer command line:") or argument is not None
    if argument:
        run.userspace_only = run.userspace_only or _NO_MODULE.match(argument["argument"]) is not None
        if argument["argument"].lstrip("-") == "uninstall" or argument["argument"].endswith("/nvidia-uninstall"):
            run.action = "uninstall"
        return False
    return _note_end(run, line)


def _note_end(run: _Run, line: str) -> bool:
    """What went wrong, and how it ended."""
    if _DONE.match(line):
        run.outcome = "succeeded"
        return True
    if _KEY.match(line):
        run.problem = "module-signature"
        return True
    error = _ERROR.match(line)
    if error is None:
        return False
    if _FAILED.match(line):
        run.outcome = "failed"
    if run.text is None:
        text = error["text"].strip()
        other: _Problem = "other"
        run.problem = next((name for words, name in _WORDS if words in text.lower()), other)
        run.text = text[:_MOST_TEXT]
    return True


READER = Reader(
    "nvidia-installer",
    read,
    markers=(_MARKER,),
    commands=("cat /var/log/nvidia-installer.log", "cat /var/log/nvidia-uninstall.log"),
    lines=(_MARKER, "creation time: ", "installer version: ", "is now complete", "ERROR: "),
)
