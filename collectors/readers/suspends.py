"""That the machine slept and woke: from the kernel log, or from systemd.

    [ 8912.345678] PM: suspend exit
    [12031.004113] PM: hibernation: hibernation exit
    systemd-sleep[4711]: System returned from sleep operation 'suspend'.

Follows kernel/power and drivers/acpi of Linux 3.10-6.14 and systemd-sleep of systemd 229-257.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.machine import SystemSuspend

_State = Literal["suspend", "hibernate"]


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    state: _State
    by_kernel: bool


_FORMS = (
    _Form(regex(r"PM: suspend exit\b"), "suspend", by_kernel=True),
    _Form(regex(r"PM: (?:hibernation: )?hibernation exit\b"), "hibernate", by_kernel=True),
    _Form(regex(r"System returned from sleep (?:operation 'suspend|state)"), "suspend", by_kernel=False),
    _Form(regex(r"System returned from sleep operation 'hibernate'"), "hibernate", by_kernel=False),
    _Form(regex(r"systemd-sleep\[\d{1,8}\]: System resumed\."), "suspend", by_kernel=False),
)  # fmt: skip
_SIGNS = (
    _Form(regex(r"ACPI: (?:PM: )?Waking up from system sleep state S[1-3]\b"), "suspend", by_kernel=True),
    _Form(regex(r"ACPI: (?:PM: )?Waking up from system sleep state S4\b"), "hibernate", by_kernel=True),
    _Form(regex(r"PM: (?:hibernation: )?Image restored successfully"), "hibernate", by_kernel=True),
    _Form(regex(r"PM: (?:suspend: )?[Rr]esume of devices complete after"), "suspend", by_kernel=True),
    _Form(regex(r"PM: Finishing wakeup\."), "suspend", by_kernel=True),
    _Form(regex(r"systemd\[1\]: (?:Finished|Started)\b.{0,40}? Suspend\."), "suspend", by_kernel=False),
    _Form(regex(r"systemd\[1\]: (?:Finished|Started)\b.{0,40}? Hibernate\."), "hibernate", by_kernel=False),
    _Form(regex(r"systemd\[1\]: Finished\b.{0,40}? NVIDIA system resume actions"), "suspend", by_kernel=False),
)
"""What kernels and units say on the way out of a sleep: all before Linux 4.4, and what a search may leave."""
_KERNEL_MARKERS = (
    *("PM: suspend exit", "hibernation exit", "returned from sleep", "Waking up from system sleep"),
    *(" Suspend.", " Hibernate.", "NVIDIA system resume actions"),
    *("PM: Finishing wakeup", "esume of devices complete", "Image restored successfully"),
)


def read(section: Section) -> Iterator[Reading]:
    """SystemSuspend for each kind of sleep that the log shows."""
    log = KernelLog(section)
    sums: Sums[tuple[_State, bool]] = Sums(log)
    signs: Sums[tuple[_State, bool]] = Sums(log)
    first: dict[tuple[_State, bool], _Form] = {}
    for line in log.lines(*_KERNEL_MARKERS, "System resumed."):
        for form in (*_FORMS, *_SIGNS):
            match = form.pattern.search(line.text)
            if not match or (form.by_kernel and not line.by_kernel(match.start())):
                continue
            key = (form.state, form.by_kernel)
            if form not in _SIGNS:
                sums.add(key, line, match.start())
            elif first.setdefault(key, form) is form:  # one of the lines of each sleep
                signs.add(key, line, match.start())
            break
    ended = {key for key, _ in sums}
    untold = [(key, sum_) for key, sum_ in signs if key not in ended]
    found = False
    for (state, by_kernel), sum_ in (*sums, *untold):
        found = True
        fact = SystemSuspend(
            state=state,
            reported_by="kernel" if by_kernel else "systemd",
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.last.at,
            last_s=sum_.last.at_s,
        )
        yield section.observe(fact, sum_.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, SystemSuspend, whole=whole)


READER = Reader(
    "suspends",
    read,
    markers=(*_KERNEL_MARKERS, "System resumed.", *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
)
