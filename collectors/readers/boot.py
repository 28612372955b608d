"""The running kernel, from uname, /proc/version and the kernel log.

    Linux gpu-0 6.8.0-60-generic #63-Ubuntu SMP Tue Apr 15 19:04:15 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux
    Linux version 6.8.0-60-generic (buildd@host) (x86_64-linux-gnu-gcc-13 …) #63-Ubuntu SMP PREEMPT_DYNAMIC …
    [    0.000000] Linux version 6.14.11-4-pve (build@proxmox) …

Follows uname(1) and init/version.c. A log of several boots tells its last. WSL 2 shows in the release. Other lines
give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers import _kernel_log
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.machine import Boot, Uptime, VirtualMachine

_RELEASE = r"(?P<kernel>\d{1,2}\.\d{1,3}[\w.+~-]{0,100})"
_ARCHITECTURE = r"x86_64|aarch64|ppc64le|i686|armv7l|riscv64|s390x"
_UNAME = regex(
    rf"(?:uname: )?Linux (?P<host>[\w.-]{{1,253}}) {_RELEASE} \S.{{0,300}}?"
    rf" (?P<architecture>{_ARCHITECTURE})(?: \S{{1,40}}){{0,10}} GNU/Linux\s*$"
)
_VERSION = regex(rf"Linux version {_RELEASE} \(")
_BARE = regex(rf"{_RELEASE}\s*$")
_ASKS_MACHINE = regex(r"(?:uname -[mip]|arch)\s*$")
_MACHINE = regex(rf"(?P<architecture>{_ARCHITECTURE})\s*$")
_ASKS_RELEASE = regex(r"uname -r\s*$")
_UPTIME = regex(
    r"(?:\s{0,2}\d\d:\d\d:\d\d )?\s{0,2}up (?:(?P<days>\d{1,5}) days?,? {0,4})?"
    r"(?:(?P<h>\d{1,2}):(?P<m>\d\d)\b|(?P<hours>\d{1,2}) hours?(?:, (?P<and>\d{1,2}) minutes?)?"
    r"|(?P<minutes>\d{1,2}) min)?"
)
_WSL = regex(r"microsoft-standard|-Microsoft$")


def read(section: Section) -> Iterator[Reading]:
    """Boot from uname, else from the last boot of a log, else from /proc/version; one in all."""
    yield from _uptime(section)
    found = _uname(section) or _machine(section) or _logged(section)
    if found is None:
        return
    yield found
    kernel = found.fact.kernel if isinstance(found.fact, Boot) else None
    if kernel and _WSL.search(kernel):
        yield Observed(VirtualMachine(hypervisor="microsoft"), found.source)
    yield section.looked(Boot)


def _uptime(section: Section) -> Iterator[Observed]:
    """What uptime or uptime -p printed."""
    if not command_of(section).startswith("uptime"):
        return
    for index, line in enumerate(section.lines[:3]):
        match = _UPTIME.match(line[:200])
        if match:
            part = {name: int(value or 0) for name, value in match.groupdict().items()}
            hours = part["days"] * 24 + part["h"] + part["hours"]
            minutes = hours * 60 + part["m"] + part["and"] + part["minutes"]
            yield section.observe(Uptime(minutes=minutes), index)
            return


def _uname(section: Section) -> Observed | None:
    asks_release = _ASKS_RELEASE.match(command_of(section)) is not None
    for index, line in enumerate(section.lines) if asks_release else section.matching("GNU/Linux"):
        match = _UNAME.match(line[:MOST_COLUMNS].strip())
        if match:
            fact = Boot(kernel=match["kernel"], architecture=match["architecture"], host=match["host"])
            return section.observe(fact, index)
        bare = _BARE.match(line[:200].strip()) if asks_release else None
        if bare:
            return section.observe(Boot(kernel=bare["kernel"]), index)
    return None


def _machine(section: Section) -> Observed | None:
    """The architecture alone, of `uname -m`."""
    if _ASKS_MACHINE.match(command_of(section)):
        for index, line in enumerate(section.lines[:3]):
            match = _MACHINE.match(line[:40].strip())
            if match:
                return section.observe(Boot(architecture=match["architecture"]), index)
    return None


def _logged(section: Section) -> Observed | None:
    last: Observed | None = None
    of_file: Observed | None = None
    for index, line in section.matching("Linux version "):
        match = _VERSION.search(line[:MOST_COLUMNS])
        if match is None:
            continue
        observed = section.observe(Boot(kernel=match["kernel"]), index)
        if match.start() == 0:
            of_file = of_file or observed
        elif _kernel_log.starts_boot(line):
            last = observed
    return last or of_file


READER = Reader("boot", read, markers=("GNU/Linux", "Linux version "), commands=("uname", "uptime", "arch"))
