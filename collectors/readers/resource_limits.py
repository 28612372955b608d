"""Limits of shells and processes: ulimit, /proc/PID/limits, limits.conf, systemd units.

    max locked memory           (kbytes, -l) 64
    Max locked memory         67108864             67108864             bytes
    LimitMEMLOCK=infinity
    libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.

Follows ulimit of bash, zsh and dash, proc(5), limits.conf(5) and systemd.exec(5). Comments and lines that don't
fit give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.storage import ResourceLimit

_Name: TypeAlias = Literal["memlock", "nofile", "nproc", "stack", "core", "as", "data", "fsize", "cpu"]

_BY_LETTER: dict[str, _Name] = {
    "l": "memlock",
    "n": "nofile",
    "u": "nproc",
    "s": "stack",
    "c": "core",
    "v": "as",
    "d": "data",
    "f": "fsize",
    "t": "cpu",
}
_NAMES: dict[str, _Name] = {name: name for name in _BY_LETTER.values()}
_BY_TITLE: dict[str, _Name] = {
    "locked memory": "memlock",
    "open files": "nofile",
    "processes": "nproc",
    "stack size": "stack",
    "core file size": "core",
    "address space": "as",
    "data size": "data",
    "file size": "fsize",
    "cpu time": "cpu",
}
_IN_BYTES = frozenset(("memlock", "stack", "as", "data", "core", "fsize"))
_BASH = regex(
    r"(?P<title>[a-z][a-z -]{3,40}?)\s{1,40}\((?:[a-z0-9-]{1,20}(?: [a-z]{1,10})?, )?-(?P<letter>[a-zA-Z])\)"
    r"\s{1,8}(?P<value>unlimited|\d{1,20})\s*$"
)
_ZSH = regex(r"-(?P<letter>[a-z]): [a-z][\w ()-]{3,60}?\s{1,40}(?P<value>unlimited|\d{1,20})\s*$")
_PROC = regex(
    r"Max (?P<title>[a-z][a-z ]{3,30}?)\s{2,40}(?P<soft>unlimited|\d{1,20})\s{1,40}(?P<hard>unlimited|\d{1,20})"
    r"(?:\s{1,40}(?P<unit>\w{2,12}))?\s*$"
)
_CONF = regex(
    r"\s{0,8}(?P<who>[@*\w.-]{1,40})\s{1,40}(?P<type>soft|hard|-)\s{1,40}"
    r"(?P<name>memlock|nofile|nproc|stack|core|as|data|fsize|cpu)\s{1,40}"
    r"(?P<value>unlimited|infinity|-1|\d{1,20})\s*$"
)
_UNIT = regex(
    r"\s{0,8}(?:Default)?Limit(?P<name>MEMLOCK|NOFILE|NPROC|STACK|CORE|AS|DATA)="
    r"(?P<value>infinity|\d{1,20}(?::\d{1,20})?)\s*$"
)
_ONE = regex(
    r"(?:(?:kubectl|docker|podman|srun|mpirun|ssh|bash|sh) .{1,400}?)?\bulimit (?:-[HS] ?)?-?(?P<letter>[lnus])"
    r"['\"]?\s*$"
)
_LIBIBVERBS = regex(r".{0,200}?libibverbs: Warning: RLIMIT_MEMLOCK is (?P<bytes>\d{1,20}) bytes")
_UCX = regex(r".{0,400}?set max locked memory \(ulimit -l\).{0,40}?\(current: (?P<kib>\d{1,20}) kbytes\)")
_SGLANG = regex(r"ulimit soft: (?P<value>\d{1,20})\s*$")
_PROCESS = regex(r"/proc/(?P<pid>\d{1,10}|self)/limits")


def read(section: Section) -> Iterator[Reading]:
    """ResourceLimit for each limit, once for each place that sets it."""
    seen: set[ResourceLimit] = set()
    for index, line in enumerate(section.lines):
        fact = _limit(section, line[:MOST_COLUMNS].rstrip())
        if fact and fact not in seen:
            seen.add(fact)
            yield section.observe(fact, index)
    one = _ONE.match(command_of(section))
    if one and not seen:
        yield from _single(section, one["letter"])
        seen = set()
    if seen:
        whole = len({fact.name for fact in seen}) > 3 and all(fact.process in {None, "self"} for fact in seen)
        yield section.looked(ResourceLimit, complete=whole, reason="not-collected")


def _single(section: Section, letter: str) -> Iterator[Reading]:
    """`ulimit -l` alone: one word."""
    for index, line in enumerate(section.lines[:3]):
        word = line.strip()
        if word == "unlimited" or word.isdecimal():
            yield section.observe(_fact(_BY_LETTER[letter], word[:20], process=None), index)
            yield section.looked(ResourceLimit, complete=False, reason="not-collected")
            return


def _fact(
    name: _Name, soft: str, hard: str | None = None, *, process: str | None, divisor: int = 1
) -> ResourceLimit:
    return ResourceLimit(
        name=name,
        unlimited=not soft.isdecimal(),
        soft=int(soft) // divisor if soft.isdecimal() else None,
        hard=int(hard) // divisor if hard and hard.isdecimal() else None,
        process=process,
    )


def _limit(section: Section, line: str) -> ResourceLimit | None:
    """What one line sets, in KiB for sizes."""
    match = _BASH.match(line) or _ZSH.match(line)
    if match:
        name = _BY_LETTER.get(match["letter"])
        return _fact(name, match["value"], process=None) if name else None
    match = _PROC.match(line)
    if match:
        return _of_process(section, match)
    match = _CONF.match(line)
    if match and match["type"] != "hard" and not line.lstrip().startswith("#"):
        name = _NAMES[match["name"]]
        value = match["value"] if match["value"].isdecimal() else "unlimited"
        return _fact(name, value, process=f"limits.conf {match['who']}")
    match = _UNIT.match(line)
    if match:
        name = _NAMES[match["name"].lower()]
        soft = match["value"].partition(":")[0]
        return _fact(name, soft, process=f"unit {_file_name(section)}", divisor=1024 if name in _IN_BYTES else 1)
    if (match := _LIBIBVERBS.match(line)) is not None:
        return _fact("memlock", match["bytes"], process=None, divisor=1024)
    if (match := _UCX.match(line)) is not None:
        return _fact("memlock", match["kib"], process=None)
    match = _SGLANG.match(line)
    return _fact("nofile", match["value"], process=None) if match else None


def _of_process(section: Section, match: re.Match[str]) -> ResourceLimit | None:
    name = next((name for title, name in _BY_TITLE.items() if title == match["title"]), None)
    if name is None:
        return None
    divisor = 1024 if match["unit"] == "bytes" else 1
    where = _PROCESS.search(f"{section.command or ''} {section.path}")
    return _fact(name, match["soft"], match["hard"], process=where["pid"] if where else "self", divisor=divisor)


def _file_name(section: Section) -> str:
    words = (section.command or section.path).rsplit("/", 1)[-1].split()
    return words[0][:60] if words else "file"


READER = Reader(
    "resource-limits",
    read,
    markers=(
        *("RLIMIT_MEMLOCK is ", "set max locked memory"),
        *(
            "max locked memory",
            "Max locked memory",
            "open files",
            "Max open files",
            "LimitMEMLOCK=",
            "LimitNOFILE=",
        ),
        *(" memlock ", "\tmemlock\t", " memlock\t", "\tmemlock ", "locked-in-memory size", "ulimit soft: "),
    ),
    commands=(
        *("ulimit", "cat /proc/self/limits", "kubectl exec", "docker ", "podman ", "srun ", "mpirun ", "ssh "),
        *("bash -c", "sh -c"),
    ),
)
