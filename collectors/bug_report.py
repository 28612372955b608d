"""What printed each stretch of a report of nvidia-bug-report.sh, which is one text of some forty to two hundred.

    ____________________________________________
    (an empty line)
    *** /proc/cmdline                                   or   /usr/bin/nvidia-smi --query   or   journalctl -b -0 …
    *** ls: -r--r--r-- 1 root root 0 2023-09-07 11:30:29.156000000 +0000 /proc/cmdline

Follows the script of drivers 304 to 610. What it writes itself is English in every locale; what it quotes is not,
and is not looked at. The excerpts of the kernel's logs, and dmesg after them, are one stretch with the command
`dmesg`: readers of kernel logs tell the boots apart by their headings and by setting them beside each other. Text
that is no such report gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BANNER = "_" * 44
FIRST_WORDS = "Start of NVIDIA bug report log file."
"""Of the heading of the first stretch."""
_LOOKED_AT_FIRST = 200
_MOST_COLUMNS = 1000

_FILE = re.compile(r"\*\*\* (?P<path>/[^\n]{1,400}?)(?P<missing> does not exist| is not readable)?\s*$")
_LISTED = "*** ls: "
_PROGRAM = re.compile(r"(?P<folder>(?:/[\w.+-]{1,80}){0,12}/s?bin/)(?P<command>[\w.+-]{1,60}(?: .{1,400})?)$")
_KNOWN = re.compile(r"(?:journalctl|ldd|timeout|mst|coredumpctl|nvidia-smi|ibstat|base64|dmesg) ?.{0,400}[^:]$")
_NAMED = re.compile(r"(?P<command>[a-z][\w-]{1,40}(?: -{0,2}[\w-]{1,40}){0,6}):$")
_PARAMETER = re.compile(r"(?P<folder>/sys/module/nvidia\w{0,20}/parameters/)\w{1,80}:")
_KERNEL_LOGS = "Scanning kernel log files for "
_INSIDE = ("modinfo", "nvidia-smi", "ibstat", "ibnetdiscover", "mst", "mlxlink", "flint")
"""Programs of which a stretch may show several commands, each after an empty line and before one."""
_ROOT_OF_HOST = "/.bottlerocket/rootfs"


class Part(NamedTuple):
    """One stretch: lines[first:end] are what `command` printed; None where no command of it is known."""

    first: int
    end: int
    command: str | None


def is_bug_report(lines: Sequence[str]) -> bool:
    """Whether the text is a report of nvidia-bug-report.sh, perhaps after some lines of a mail."""
    head = [line.strip() for line in lines[:_LOOKED_AT_FIRST]]
    return BANNER in head and any(line.startswith(FIRST_WORDS) for line in head)


def split(lines: Sequence[str]) -> Iterator[Part]:
    """The stretches in order; nothing where the text is no report. Headings and banners belong to none."""
    if not is_bug_report(lines):
        return
    borders = [index for index, line in enumerate(lines) if line[:45].rstrip() == BANNER]
    if borders[0]:
        yield Part(0, borders[0], None)
    ends = [*borders[1:], len(lines)]
    blocks = [_block(lines, start + 1, end) for start, end in zip(borders, ends, strict=True)]
    filled = [(heading, end) for heading, end in blocks if heading < end]
    number = 0
    while number < len(filled):
        heading, end = filled[number]
        number += 1
        if lines[heading].startswith(_KERNEL_LOGS) and number < len(filled):
            command = None
            if lines[filled[number][0]].startswith("dmesg:"):
                end, command = filled[number][1], "dmesg"
                number += 1
            yield Part(heading + 1, end, command)
        else:
            yield from _parts(lines, heading, end)


def _block(lines: Sequence[str], first: int, end: int) -> tuple[int, int]:
    """The lines between two banners without empty ones at either end."""
    while first < end and not lines[first].strip():
        first += 1
    while end > first and not lines[end - 1].strip():
        end -= 1
    return first, end


def _parts(lines: Sequence[str], heading: int, end: int) -> Iterator[Part]:
    """The stretches between two banners: one, or one for each of several commands."""
    start, command = _heading(lines, heading, end)
    if command and command.startswith(_INSIDE):
        for index in range(start + 1, end - 1):
            alone = lines[index][:1] == "/" and not lines[index - 1].strip() and not lines[index + 1].strip()
            inside = _program(lines[index]) if alone else None
            if inside and inside.startswith(_INSIDE):
                yield Part(start, index, command)
                start, command = index + 1, inside
    yield Part(start, end, command)


def _heading(lines: Sequence[str], heading: int, end: int) -> tuple[int, str | None]:
    """Where what was printed begins, and the command that printed it."""
    line = lines[heading][:_MOST_COLUMNS].rstrip()
    of_file = _FILE.match(line)
    if of_file:
        command = f"cat {_path(of_file['path'])}"
        if of_file["missing"]:
            return heading, command
        is_listed = heading + 1 < end and lines[heading + 1].startswith(_LISTED)
        return heading + (2 if is_listed else 1), command
    parameter = _PARAMETER.match(line)
    if parameter:
        return heading, f"grep -H . {parameter['folder']}*"
    known = _program(line) or (line if _KNOWN.match(line) else None)
    if known:
        return heading + 1, known
    named = _NAMED.match(line)
    return (heading + 1, named["command"]) if named else (heading, None)


def _program(line: str) -> str | None:
    """The command in a line that is one, without the folder of the program."""
    match = _PROGRAM.match(line[:_MOST_COLUMNS].rstrip())
    return match["command"] if match else None


def _path(path: str) -> str:
    return path.removeprefix(_ROOT_OF_HOST).replace("/./", "/")
