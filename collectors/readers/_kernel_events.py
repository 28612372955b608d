"""Lines of kernel logs with the log and the boot that they belong to.

A section may hold several logs (a bug report has the same events in kern.log, dmesg and the journal) and a log
several boots. A boot begins at `-- Boot … --`, at `Linux version`, or where the seconds since boot fall back;
a log begins at a heading of nvidia-bug-report.sh or at a code fence. What lies before the last boot of its log
is of an earlier one, and so is all of pstore and of `journalctl -b -1`. No reader: shared by those of kernel logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._log_stamps import (
    NO_STAMP,
    Record,
    Stamp,
    by_kernel,
    is_structured,
    record_of,
    stamp_of,
    stamp_of_line,
)
from collectors.readers._regex import regex
from kb.clock import later_by_s
from kb.evidence import Section
from kb.facts.xid import WhichBoot

LOG_MARKERS = (*_kernel_log.BOOT_MARKERS, "-- Boot ", "-- Reboot --")
"""Readers name these among their own, so that boots are told apart in files too large to be given whole."""

_BORDERS = (*LOG_MARKERS, "/var/log/", "journalctl", "dmesg:", "________", "*** /", "```", "~~~", " Part")
_HEADING = regex(
    r"\s{0,4}(?P<name>/var/log/[\w./-]{1,80}|(?:/usr)?(?:/s?bin/)?(?:dmesg|journalctl)(?: -b -?(?P<back>\d{1,3}))?"
    r"(?: _COMM=\S{1,40})?):?\s*$|_{20,}\s*$|\*\*\* (?P<file>/\S{1,200})(?:\s|$)|\s{0,3}(?:```|~~~)"
)
_BOOT_LINE = regex(r"\s{0,4}-- (?:Boot [0-9a-f]{32}|Reboot) --\s*$")
_OF_EARLIER = regex(r"journalctl .{0,200}?(?:-b ?|--boot[= ])-[1-9]")
_REVERSED = regex(r"journalctl(?:\s.{0,200}?)?\s(?:-[a-z]{0,6}r\b|--reverse)")
_CRASH_PART = regex(r"(?:Panic|Oops|Emergency|Restart|Halt|Poweroff)#\d{1,6} Part\d{1,4}\s*$")
_FILE_OF_EARLIER = regex(
    r"/pstore/|dmesg-(?:erst|efi|ramoops)-|var/log/dmesg\.\d|journalctl_.{0,80}?_(?:-b_?|--boot[_=])-[1-9]"
)
"""Of a crash, saved at an earlier boot, or the output of such a command under the name that sosreport gives it."""
_REPEATED = regex(r"message repeated (?P<times>\d{1,9}) times: \[ ?$")
_FALLS_BACK_S = 2.0
"""Lines of different CPUs may be out of order by less."""
_TOLERANCE_S = 60.0
"""A log daemon may stamp the first lines of a boot later than the kernel wrote them."""
_LOOK_BACK = 100
_LEAST_LINES_OF_RING = 400
_INSTALLER_LOGS = ("/var/log/nvidia-installer", "/var/log/nvidia-uninstall")
"""In a bug report they quote the kernel's messages of the day of the installation."""
_SAVED_AT_BOOT = regex(r"var/log/dmesg(?:\.\d)?(?:\.gz)?$")
_INHERITS = 12


class BootId(NamedTuple):
    """Which log of the section, of which host, and which of its boots there."""

    log: int
    host: str | None
    boot: int


@dataclass(slots=True)
class LogLine:
    """One line that may be an event; or one of several that stand in it (journal records, rsyslog's `#012`)."""

    index: int
    text: str
    boot: BootId
    given: Stamp | None = None
    """Its stamp, where that does not stand before the message."""
    program: bool = False

    def by_kernel(self, start: int) -> bool:
        """Whether the message that begins here was written by the kernel."""
        lead = self.text[:start]
        if self.given is not None:
            return not self.program and (not lead.strip() or by_kernel(lead))
        return by_kernel(_REPEATED.sub("", lead))

    def stamp(self, start: int) -> Stamp:
        """When the message that begins here was written."""
        return self.given if self.given is not None else stamp_of(self.text[:start])

    def times(self, start: int) -> int:
        """How often it was written: rsyslog writes repeats as a number."""
        repeated = _REPEATED.search(self.text[:start])
        return min(int(repeated["times"]), 1_000_000) if repeated else 1


@dataclass(slots=True)
class _Log:
    """One log of the section. One that was gathered from several hosts has boots of each."""

    name: str | None = None
    begin: int = 0
    earlier: bool = False
    this_boot: bool = False
    """It is the journal of the last boot, by its heading."""
    border: int = 0
    """Borders between boots that the log itself draws."""
    begun: dict[str | None, int] = field(default_factory=dict)
    """Further boots of each host, that its lines tell."""
    active: set[str | None] = field(default_factory=set)
    """Hosts with an event since their present boot began."""
    last_s: dict[str | None, float] = field(default_factory=dict)
    boot_id: str | None = None
    end: int = 0

    def boot(self, host: str | None) -> int:
        """The present boot of a host."""
        return self.border + self.begun.get(host, 0)


class KernelLog:
    """The logs of a section, read once through `lines`; which boot is the last is known after that."""

    def __init__(self, section: Section) -> None:
        self.section = section
        command = command_of(section)
        of_installer = command.startswith(tuple(f"cat {log}" for log in _INSTALLER_LOGS))
        self.all_earlier = (
            bool(_OF_EARLIER.match(command) or _FILE_OF_EARLIER.search(section.path)) or of_installer
        )
        self._reversed = _REVERSED.match(command) is not None
        self.logs: list[_Log] = [_Log()]
        self._inherited: tuple[int, Stamp] = (-_INHERITS, NO_STAMP)

    def lines(self, *markers: str) -> Iterator[LogLine]:
        """The lines that hold one of the markers, in order."""
        lines = self.section.lines
        wanted = {index for index, _ in self.section.matching(*markers)}
        for index, line in self.section.matching(*markers, *_BORDERS) if wanted else ():
            record = record_of(self.section, index) if is_structured(line) else None
            host = self._note(index, line[:MOST_COLUMNS], record)
            if index in wanted:
                log = self.logs[-1]
                log.active.add(host)
                yield from self._events(index, line, record, BootId(len(self.logs) - 1, host, log.boot(host)))
        self.logs[-1].end = len(lines)

    def _events(self, index: int, line: str, record: Record | None, boot: BootId) -> Iterator[LogLine]:
        if record is not None:
            for text in record.text.split("\n"):
                yield LogLine(index, text[:MOST_COLUMNS], boot, record.stamp, not record.by_kernel)
            return
        first, *others = line[:MOST_COLUMNS].split("#012")
        given = self._inherited[1] if self._goes_on(index, line) else None
        yield LogLine(index, first, boot, given)
        for text in others:
            yield LogLine(index, text, boot, stamp_of_line(first))

    def _goes_on(self, index: int, line: str) -> bool:
        """Whether the line continues, indented and without a stamp, the message of a line shortly before."""
        return line[:1].isspace() and index - self._inherited[0] < _INHERITS and stamp_of_line(line) == NO_STAMP

    def _note(self, index: int, line: str, record: Record | None) -> str | None:
        """Takes in where logs and boots begin; the host that wrote the line."""
        log = self.logs[-1]
        heading = _HEADING.match(line)
        if heading:
            log.end = index
            back = int(heading["back"]) if heading["back"] else None
            name = heading["name"] or heading["file"]
            past = bool(back) or (name is not None and name.startswith(_INSTALLER_LOGS))
            self.logs.append(_Log(name, index + 1, earlier=past, this_boot=back == 0))
            return None
        if _CRASH_PART.match(line):
            log.earlier = True
        stamp = record.stamp if record else stamp_of_line(line)
        if stamp == NO_STAMP and self._goes_on(index, line):
            stamp = self._inherited[1]
        elif stamp != NO_STAMP:
            self._inherited = (index, stamp)
        self._note_boot(log, line, stamp, record)
        return stamp.host

    def _note_boot(self, log: _Log, line: str, stamp: Stamp, record: Record | None) -> None:
        host, boot_id = stamp.host, record.boot_id if record else None
        if _BOOT_LINE.match(line) or (boot_id and log.boot_id and boot_id != log.boot_id):
            if log.active:
                log.border += 1
                log.active.clear()
            log.last_s.clear()
        elif host in log.active and not self._reversed and self._begins_boot(log, line, stamp):
            log.begun[host] = log.begun.get(host, 0) + 1
            log.active.discard(host)
        log.boot_id = boot_id or log.boot_id
        if stamp.at_s is not None and not log.earlier:
            log.last_s[host] = stamp.at_s

    def _begins_boot(self, log: _Log, line: str, stamp: Stamp) -> bool:
        before = log.last_s.get(stamp.host)
        if stamp.at_s is not None and before is not None and stamp.at_s < before - _FALLS_BACK_S:
            return True
        return "Linux version " in line and _kernel_log.starts_boot(line)

    def which(self, boot: BootId, stamp: Stamp) -> WhichBoot:
        """Whether an event of that boot and time is of the last boot. To be asked after `lines`."""
        log = self.logs[boot.log]
        last = 0 if self._reversed else log.boot(boot.host)
        if self.all_earlier or log.earlier or boot.boot != last:
            return "earlier"
        ring, begin = self._ring_end_s, self._journal_begin
        if stamp.at_s is not None and ring is not None and stamp.at_s > ring + _TOLERANCE_S:
            return "earlier"
        after = later_by_s(begin, stamp.at)
        return "earlier" if after is not None and after < -_TOLERANCE_S else "this"

    @cached_property
    def _ring_end_s(self) -> float | None:
        """The last second of a whole ring buffer beside other logs: what is later there is of a boot before."""
        ends = (self.ring_end_s(log) for log in range(len(self.logs))) if len(self.logs) > 1 else ()
        return max((end for end in ends if end is not None), default=None)

    def ring_end_s(self, log: int) -> float | None:
        """The last second of a log, where it is a whole ring buffer: no excerpt, and not the one saved at boot."""
        one = self.logs[log]
        whole = (one.end or len(self.section.lines)) - one.begin >= _LEAST_LINES_OF_RING
        if not whole or one.name not in {None, "dmesg"} or _SAVED_AT_BOOT.search(self.section.path):
            return None
        end = self.last_stamp(log)
        return end.at_s if end.at is None and end.host is None else None

    @cached_property
    def _journal_begin(self) -> str | None:
        """When the journal of this boot begins, where it stands beside other logs."""
        begins = (range(one.begin, min(one.begin + _LOOK_BACK, one.end)) for one in self.logs if one.this_boot)
        return next((stamp.at for stamp in map(self._stamp_in, begins) if stamp.at), None)

    def last_stamp(self, log: int) -> Stamp:
        """The stamp of the last stamped line of a log."""
        begin, end = self.logs[log].begin, self.logs[log].end or len(self.section.lines)
        return self._stamp_in(range(end - 1, max(end - _LOOK_BACK, begin) - 1, -1))

    def _stamp_in(self, indexes: range) -> Stamp:
        stamps = (stamp_of_line(self.section.lines[index][:MOST_COLUMNS]) for index in indexes)
        return next((stamp for stamp in stamps if stamp != NO_STAMP), NO_STAMP)
