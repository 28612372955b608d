"""Programs that crashed, as the kernel logs it.

    python3[1234]: segfault at 7f797fe00000 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in libnccl.so.2[7f7c7…]
    traps: python3[1234] general protection fault ip:7f3e31a6adb1 sp:7f303d0a7fe0 error:0 in libcuda.so.1[7f3e3…]
    traps: app[77] trap invalid opcode ip:55d0 sp:7ffd error:0 in app[55d0c000+1000]

Follows arch/x86/mm/fault.c, arch/x86/kernel/traps.c and arch/arm64/kernel/traps.c of Linux 3.10-6.14. Other lines
give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kernel import ProcessCrash

Crash: TypeAlias = Literal["segfault", "general-protection", "invalid-opcode", "other-trap"]

_LIBRARY = r"(?: in (?P<library>[^\s\[\],]{1,120})\[[0-9a-f,]{1,40}\+[0-9a-f]{1,16}\])?"
_REGISTERS = r"[0-9a-f]{1,16} ip:? ?[0-9a-f(null)]{1,16} sp:? ?[0-9a-f(null)]{1,16} error:? ?[0-9a-f]{1,8}"
_NAME = r"(?P<process>[^\s\[\]]{1,32})"
_NAME_WITH_BLANK = r"(?P<process>\w[^\s\[\]]{0,15}(?: \w[^\s\[\]]{0,15}){1,2})"
_REST = rf"\[(?P<pid>\d{{1,10}})\]: segfault at {_REGISTERS}{_LIBRARY}"
_FORMS = (
    regex(_NAME + _REST),
    regex(_NAME_WITH_BLANK + _REST),
    regex(
        r"traps: (?P<process>[^\[\]]{1,40})\[(?P<pid>\d{1,10})\] "
        r"(?P<trap>general protection fault|general protection|trap [\w ]{3,30}?) "
        rf"ip:[0-9a-f]{{1,16}} sp:[0-9a-f]{{1,16}} error:[0-9a-f]{{1,8}}{_LIBRARY}"
    ),
    regex(
        r"(?P<process>[^\s\[\]]{1,32})\[(?P<pid>\d{1,10})\]: unhandled (?P<trap>[\w ()-]{3,60}), "
        r"(?:ESR|esr):? [^\s]{1,20},?.{0,60}?(?: in (?P<library>[^\s\[\],]{1,120})\[)"
    ),
)


def read(section: Section) -> Iterator[Reading]:
    """ProcessCrash for each program, kind and library."""
    log = KernelLog(section)
    sums: Sums[tuple[str, Crash, str | None]] = Sums(log)
    for line in log.lines(": segfault at ", "traps: ", "]: unhandled "):
        for pattern in _FORMS:
            match = pattern.search(line.text)
            # A name with blanks and nothing before it may be a sentence.
            is_log = match is not None and (" " not in match["process"] or match.start() > 0)
            if match and is_log and line.by_kernel(match.start()):
                named = match.groupdict()
                key = (named["process"], _kind(named.get("trap")), named.get("library"))
                sums.add(key, line, match.start()).said.setdefault("pid", int(named["pid"]))
                break
    found = False
    for (process, crash, library), sum_ in sums:
        found = True
        fact = ProcessCrash(
            process=process,
            pid=sum_.said["pid"],
            crash=crash,
            library=library,
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
        )
        yield section.observe(fact, sum_.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, ProcessCrash, whole=whole)


def _kind(trap: str | None) -> Crash:
    if trap is None or "translation fault" in trap or "permission fault" in trap:
        return "segfault"
    if "general protection" in trap:
        return "general-protection"
    return "invalid-opcode" if "invalid opcode" in trap else "other-trap"


READER = Reader(
    "process-crashes",
    read,
    markers=(": segfault at ", "traps: ", "]: unhandled ", *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
)
