"""What stands before a message of a kernel log: when it was written, on which host, by the kernel or by a program.

    [   22.636732] NVRM: …                                  dmesg; also `<6>[ … ]`, `[ … ][  T123]`
    kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: …  dmesg -x --time-format iso
    [Fri Oct 14 14:56:49 2022] NVRM: …                       dmesg -T
    6,3964,206764307,-;NVRM: …                               /dev/kmsg
    Sep 13 09:44:22 host kernel: [   22.636732] NVRM: …      syslog; the journal without the bracket
    {"MESSAGE": "NVRM: …", "_BOOT_ID": …}                    journalctl -o json; also json-pretty and export

No reader: shared by the readers of kernel logs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._lines import is_lead, is_quoted
from collectors.readers._regex import regex
from kb.evidence import Section

MOST_LEAD = 240
MOST_JSON = 65_536
_MOST_STAMP = 160
_LATEST_WALL = 40
_MOST_FIELDS = 40
"""Lines of one journal record that are looked at before and after its message."""

_WALL = regex(
    r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|\[(?P<ctime>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]"
    r"|(?P<syslog>\b(?:[^\W\d]{3,10}\.?|\d{1,2}[月월]) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)(?=\s)"
)
_KMSG = regex(r"\d{1,3},\d{1,12},(?P<us>\d{1,18}),[^;]{0,40};$")
_HOST = regex(r"[\d Z] (?P<host>[\w.-]{1,64}) kernel:")
_PROGRAM = regex(r"[\w./@()-]\[\d{1,10}\]:\s{0,4}$")
_BY_KERNEL = regex(r"^(?P<before>.{0,200})\bkernel:\s{0,4}(?:\[\s{0,8}[\d.]{1,20}\]\s{0,4})?$")
_FIELD = regex(
    r'\s{0,8}"?(?P<key>__REALTIME_TIMESTAMP|__MONOTONIC_TIMESTAMP|_BOOT_ID|_HOSTNAME|SYSLOG_IDENTIFIER)"?'
    r'\s?[=:]\s?"?(?P<value>[^"]{1,100}?)"?,?\s*$'
)
_MESSAGE = regex(r'(?:MESSAGE=|\s{1,8}"MESSAGE" : ")(?P<text>.{1,2000}?)(?:",?)?$')


class Stamp(NamedTuple):
    """When a message was written."""

    at_s: float | None = None
    """Seconds since boot."""
    at: str | None = None
    """Wall-clock time as printed."""
    host: str | None = None


NO_STAMP = Stamp()


class Record(NamedTuple):
    """One record of the journal in a structured form."""

    text: str
    stamp: Stamp
    boot_id: str | None
    by_kernel: bool


def stamp_of(lead: str) -> Stamp:
    """The stamp in what stands before a message; empty where there is none."""
    lead = lead[-MOST_LEAD:]
    at_s = _kernel_log.stamp_s(lead)
    if at_s is None:
        kmsg = _KMSG.search(lead)
        at_s = int(kmsg["us"]) / 1_000_000 if kmsg else None
    wall = _WALL.search(lead)
    host = _HOST.search(lead)
    return Stamp(at_s, wall[wall.lastgroup or 0] if wall else None, host["host"] if host else None)


def stamp_of_line(line: str) -> Stamp:
    """The stamp at the beginning of a whole line, whose message may hold dates too."""
    lead = line[:_MOST_STAMP]
    stamp = stamp_of(lead)
    wall = _WALL.search(lead)
    return stamp._replace(at=None) if wall and wall.start() > _LATEST_WALL else stamp


def by_kernel(lead: str) -> bool:
    """Whether the kernel itself wrote a message with this before it: no program, no sentence, no quotation."""
    lead = lead[-MOST_LEAD:]
    if not is_lead(lead) or is_quoted(lead) or _PROGRAM.search(lead):
        return False
    named = _BY_KERNEL.match(lead)  # `… from my kernel: ` is a sentence: a log has a time there, or nothing
    return named is None or not named["before"].strip() or any(char.isdigit() for char in named["before"])


def is_structured(line: str) -> bool:
    """Whether the line may hold the message of a structured journal record."""
    start = line[:12].lstrip()
    return start.startswith(("MESSAGE=", '"MESSAGE"')) or (start.startswith("{") and '"MESSAGE"' in line)


def record_of(section: Section, index: int) -> Record | None:
    """The journal record whose message stands in this line; None where it is none."""
    line = section.lines[index]
    if line.lstrip().startswith("{"):
        return _of_json(line)
    message = _MESSAGE.match(line[:MOST_JSON])
    if message is None:
        return None
    fields = dict(_fields(section, index))
    return _record(message["text"], fields)


def _of_json(line: str) -> Record | None:
    try:
        fields = json.loads(line) if len(line) <= MOST_JSON else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    message = fields.get("MESSAGE")
    if isinstance(message, list):  # bytes, where the message is no plain text
        message = bytes(part for part in message if isinstance(part, int) and 0 <= part < 256).decode(
            errors="replace"
        )
    return _record(message, fields) if isinstance(message, str) else None


def _record(text: str, fields: Mapping[str, object]) -> Record:
    monotonic, realtime = _number(fields, "__MONOTONIC_TIMESTAMP"), _number(fields, "__REALTIME_TIMESTAMP")
    host, boot, program = (fields.get(key) for key in ("_HOSTNAME", "_BOOT_ID", "SYSLOG_IDENTIFIER"))
    stamp = Stamp(
        monotonic / 1_000_000 if monotonic else None,
        _iso(realtime) if realtime else None,
        host if isinstance(host, str) else None,
    )
    return Record(text, stamp, boot if isinstance(boot, str) else None, program in (None, "kernel"))


def _number(fields: Mapping[str, object], key: str) -> int | None:
    text = str(fields.get(key, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _iso(realtime_us: int) -> str | None:
    try:
        return datetime.fromtimestamp(realtime_us // 1_000_000, timezone.utc).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _fields(section: Section, index: int) -> Iterator[tuple[str, str]]:
    """The fields around a message, up to the borders of its record."""
    for step in (-1, 1):
        for offset in range(1, _MOST_FIELDS):
            at = index + step * offset
            line = section.lines[at][:200] if 0 <= at < len(section.lines) else ""
            if not line.strip() or line.startswith(("{", "}")):
                break
            match = _FIELD.match(line)
            if match:
                yield match["key"], match["value"]
