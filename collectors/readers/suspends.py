"""That the machine slept and woke: from the kernel log, from systemd, or as its user tells it.

    [ 8912.345678] PM: suspend exit
    [12031.004113] PM: hibernation: hibernation exit
    systemd-sleep[4711]: System returned from sleep operation 'suspend'.

Follows kernel/power and drivers/acpi of Linux 3.10-6.14 and systemd-sleep of systemd 229-257. A sentence counts
only where it says that something came after it (`After resuming from suspend CUDA fails`), and names no checkpoint
or training.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._log_stamps import NO_STAMP, stamp_of_line
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
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
_SLEEP = r"(?:suspend(?:ed|ing|s)?|suspension|hibernat\w{1,4}|standby|sleep mode)\b"
_AFTER = regex(rf"\b(?:after|since|following|upon)\s(?:[\w'/-]{{1,20}}\s){{0,5}}?{_SLEEP}", re.IGNORECASE)
_WOKEN = regex(
    rf"\b(?:wak(?:e|es|ing|ed)|woke|resum(?:e|es|ed|ing)|return(?:s|ed|ing)?|back)\s(?:[\w'-]{{1,20}}\s){{0,4}}?"
    rf"(?:from|after)\s(?:[\w'-]{{1,20}}\s){{0,2}}?(?:{_SLEEP}|sleep\b)",
    re.IGNORECASE,
)
_CYCLE = regex(r"\b(?:suspend|sleep)[ /-](?:and[ -])?(?:resume|wake)(?: cycles?)?\b", re.IGNORECASE)
_DENIED = regex(
    r"\b(?:no|not|never|without|disabled?|neither|nor|isn't|wasn't|didn't|doesn't|don't|won't)\b", re.IGNORECASE
)
_OTHER = regex(r"checkpoint|training run|subscription|thread|\bjob\b|container|sandbox|coroutine", re.IGNORECASE)
_PROSE = regex(r"[>*\s#-]{0,8}[A-Za-z\"'(].{10,}$")
_KERNEL_MARKERS = (
    *("PM: suspend exit", "hibernation exit", "returned from sleep", "Waking up from system sleep"),
    *(" Suspend.", " Hibernate.", "NVIDIA system resume actions"),
    *("PM: Finishing wakeup", "esume of devices complete", "Image restored successfully"),
)
_TOLD_MARKERS = ("suspend", "Suspend", "hibernat", "Hibernat", "standby", "sleep")
_MOST_TOLD = 400


def read(section: Section) -> Iterator[Reading]:
    """SystemSuspend for each kind of sleep that the log shows; else one where the user tells of it."""
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
    told = None if found else _told(section)
    if told:
        yield told
    whole = _kernel_log.is_whole(section)
    if whole or found or told or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, SystemSuspend, whole=whole)


def _told(section: Section) -> Observed | None:
    """The first sentence that says that something came after a sleep."""
    if section.command is not None:
        return None
    for tried, (index, whole) in enumerate(section.matching(*_TOLD_MARKERS)):
        line = whole[:600]
        if tried >= _MOST_TOLD:
            return None
        if not _PROSE.match(line) or stamp_of_line(line) != NO_STAMP or _OTHER.search(line):
            continue
        match = _AFTER.search(line) or _WOKEN.search(line) or _CYCLE.search(line)
        if match and not _DENIED.search(line[max(match.start() - 30, 0) : match.end()]):
            state: _State = "hibernate" if "hibernat" in match[0].lower() else "suspend"
            return section.observe(SystemSuspend(state=state, reported_by="user"), index)
    return None


READER = Reader(
    "suspends",
    read,
    markers=(*_KERNEL_MARKERS, "System resumed.", *_TOLD_MARKERS, *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
)
