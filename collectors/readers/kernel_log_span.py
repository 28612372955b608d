"""Where the last boot of a kernel log begins and ends.

    [    0.000000] Linux version 6.8.0-60-generic (buildd@host) …
    Sep 13 09:44:11 host kernel: Linux version 5.15.0-153-generic (buildd@host) …
    -- Boot 91c5e0d74a3b4f6c8d20b7e9a4f1c635 --

Follows dmesg(1), journalctl(1) and rsyslog. A log of an earlier boot, and one that shows neither a beginning nor
an end of its own, gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers import _kernel_log
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._lines import command_of
from collectors.readers._log_stamps import Stamp, stamp_of_line
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kernel import KernelLogSpan

_SELECTS = regex(r"\|")
_MOST_LOGS = 1000


def read(section: Section) -> Iterator[Reading]:
    """KernelLogSpan of each log that shows where its last boot begins, or that is a ring buffer."""
    log = KernelLog(section)
    begins: dict[int, tuple[int, Stamp]] = {}
    for line in log.lines(*_kernel_log.BOOT_MARKERS):
        starts = _kernel_log.starts_boot(line.text) or line.given is not None
        if starts and (line.boot.log not in begins or "Linux version " in line.text):
            begins[line.boot.log] = (line.index, line.given or stamp_of_line(line.text))
    selected = _SELECTS.search(command_of(section)) is not None
    for number, one in enumerate(log.logs[:_MOST_LOGS]):
        index, begin = begins.get(number, (one.begin, Stamp()))
        fact = KernelLogSpan(
            log=one.name,
            begin_time=begin.at,
            ring_end_s=None if selected else log.ring_end_s(number),
            host=begin.host,
        )
        known = fact.begin_time is not None or fact.ring_end_s is not None
        if known and not one.earlier and not log.all_earlier and index < len(section.lines):
            yield section.observe(fact, index)


READER = Reader("kernel-log-span", read, markers=LOG_MARKERS, commands=("dmesg",))
