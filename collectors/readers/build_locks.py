"""Lock files of builds that are done when first needed, and whether a compiler runs: listings that ask for them.

    $ ls -la --time-style=full-iso /root/.cache/torch_extensions/py310_cu118/cpu_adam
    -rw-r--r-- 1 root root    0 2023-09-04 21:40:12.000000000 +0000 lock
    /root/.cache/torch_extensions/py310_cu118/cpu_adam/lock

Follows torch.utils.cpp_extension (a file named `lock`), FlashInfer (`*.lock` below cached_ops), aiter
(`lock_module_*`); coreutils' ls, find, pgrep and ps. A lock that is listed nowhere near such a folder gives
nothing, and neither do error texts: where a folder is not there, no lock is.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of, says_no_file
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section, Source
from kb.facts.progress import BuildLock, BuildProcesses

_FOLDER = r"(?:~|\$HOME)?/\S{0,250}(?:torch_extensions|cached_ops|aiter/jit)/\S{0,200}"
_PATH = regex(rf"\s{{0,4}}(?P<path>{_FOLDER}/(?:lock|lock_\w{{1,100}}|[\w.-]{{1,300}}\.lock))\s*$")
_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d\S{0,20}(?: [+-]\d{4})?|[A-Z][a-z]{2} {1,2}\d{1,2} {1,2}[\d:]{4,5}"
_LISTED = regex(
    rf"-[rwxsStT-]{{9}}[.+@]?\s{{1,8}}\d{{1,6}}(?:\s{{1,8}}\S{{1,64}}){{2}}\s{{1,16}}\d{{1,15}}\s{{1,4}}(?P<modified>{_DATE})"
    rf"\s{{1,4}}(?P<name>lock|lock_\w{{1,100}}|[\w.-]{{1,300}}\.lock|{_FOLDER}/lock)\s*$"
)
_ASKED = regex(rf"ls .{{0,200}}?(?P<folder>{_FOLDER})(?:\s|$)")
_PROCESSES = regex(
    r"(?:pgrep .{0,20}|ps .{0,80}\| *(?:grep|egrep|rg) .{0,20})[\"']?[\w|\\()]{0,60}(?:nvcc|ninja|cicc|ptxas)"
)
_COMPILER = regex(r"\b(?:nvcc|ninja|cicc|ptxas|cc1plus|hipcc)\b")
_OF_A_PROCESS = regex(r"\s{0,10}(?:[a-z_][\w.+-]{0,31}\$?\s{1,30})?\d{1,10}\s")
"""A line of pgrep or ps: the pid first, or behind the user."""


def read(section: Section) -> Iterator[Reading]:
    """BuildLock for each lock file that is listed; BuildProcesses where a command asked for compilers."""
    command = command_of(section)
    if _PROCESSES.match(command) is not None:
        yield from _processes(section)
        return
    asked = _ASKED.match(command)
    found: dict[str, Observed] = {}
    for index, line in section.matching("lock"):
        observed = _lock(section, index, line[:1000], asked["folder"] if asked else None)
        if observed is not None and isinstance(observed.fact, BuildLock):
            known = found.get(observed.fact.path)
            if known is None or (isinstance(known.fact, BuildLock) and known.fact.modified is None):
                found[observed.fact.path] = observed
    yield from found.values()
    denied = any("ermission denied" in line for line in section.lines)
    if asked is not None and "|" not in command and not denied:
        yield section.looked(BuildLock)
    elif found or (asked is not None and denied):
        yield section.looked(BuildLock, complete=False, reason="no-permission" if denied else "not-collected")


def _lock(section: Section, index: int, line: str, folder: str | None) -> Observed | None:
    listed = _LISTED.match(line)
    if listed is not None:
        name = listed["name"]
        if "/" not in name and folder is None:
            return None
        path = name if "/" in name else f"{(folder or '').rstrip('/')}/{name}"
        return section.observe(BuildLock(path=path, module=_module(path), modified=listed["modified"]), index)
    alone = _PATH.match(line)
    if alone is None or says_no_file(line):
        return None
    return section.observe(BuildLock(path=alone["path"], module=_module(alone["path"])), index)


def _module(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "lock" else name.removeprefix("lock_").removesuffix(".lock")


def _processes(section: Section) -> Iterator[Reading]:
    running = [
        index
        for index, line in enumerate(section.lines)
        if _COMPILER.search(line[:500]) and "grep" not in line[:500] and _OF_A_PROCESS.match(line)
    ]
    fact = BuildProcesses(count=len(running))
    if running:
        yield section.observe(fact, running[0])
    elif not any(line.strip() and "grep" not in line for line in section.lines):
        number = max(section.first_line - 1, 1)
        yield Observed(fact, Source(section.path, number, number, (section.command or "")[:400], section.sha256))
    yield section.looked(BuildProcesses)


READER = Reader(
    "build-locks",
    read,
    markers=("torch_extensions", "cached_ops/", "aiter/jit"),
    commands=("pgrep ", "ps ", "ls "),
)
