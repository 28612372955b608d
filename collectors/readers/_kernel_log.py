"""What readers of the kernel log share: time stamps, and whether a log shows a boot from its first line on."""

from __future__ import annotations

from collectors.readers._lines import command_of, is_lead
from collectors.readers._regex import regex
from kb.evidence import Looked, Section
from kb.facts import Fact

BOOT_MARKERS = ("[    0.000000]", "Linux version ")
"""One of them stands near the first line of a boot."""

COMMANDS = ("dmesg", "journalctl")

_STAMP = regex(r"\[\s{0,8}(\d{1,9}\.\d{6})\]")
_SELECTED = regex(
    r"\|\s{0,4}(?!tee\b|cat\b|less\b|more\b|tail\b)\w"
    r"|\s(?:--since|-S|--until|-U|--grep|-g|--unit|-u|-t|--identifier|--priority|-p|--level|-l|--facility|-f)\b"
)
_REFUSED = regex(r"dmesg: read kernel buffer failed: |klogctl: Operation not permitted")


_OF_A_SERVICE = regex(r"journalctl .{0,200}?(?:-u|--unit|-t|--identifier)\b")


def is_asked_for(section: Section) -> bool:
    """Whether the command prints the kernel log, if only a part of it."""
    command = command_of(section)
    return command.startswith(COMMANDS) and not _OF_A_SERVICE.match(command)


def stamp_s(lead: str) -> float | None:
    """Seconds since boot in the text before a message, where it carries such a stamp."""
    match = _STAMP.search(lead)
    return float(match[1]) if match else None


def starts_boot(line: str) -> bool:
    """Whether this is the first line of a boot in a kernel log; /proc/version, without a prefix, is not."""
    if BOOT_MARKERS[0] in line[:200]:
        return True
    index = line.find(BOOT_MARKERS[1], 0, 300)
    return index > 0 and bool(line[:index].strip()) and is_lead(line[:index])


def is_whole(section: Section) -> bool:
    """Whether the section shows a boot from its first line on, and its command selected nothing from it."""
    if _SELECTED.search(command_of(section)):
        return False
    first, banner = BOOT_MARKERS
    return any(starts_boot(line) for line in section.lines if first in line or banner in line)


def looked(section: Section, fact_type: type[Fact], *, whole: bool) -> Looked:
    """That the kernel log was searched for facts of this type; a wrapped or selected one proves no absence."""
    if whole:
        return section.looked(fact_type)
    refused = any(_REFUSED.search(line[:200]) for line in section.lines[:3])
    return section.looked(fact_type, complete=False, reason="no-permission" if refused else "truncated")
