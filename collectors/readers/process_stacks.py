"""Stacks of processes: py-spy dump, faulthandler, gdb, /proc/PID/stack.

    Thread 1439102 (idle): "MainThread"
        wait (threading.py:306)
    #1  0x00007f1c in ncclGroupEndInternal () from /usr/lib/x86_64-linux-gnu/libnccl.so.2

A traceback that ends in KeyboardInterrupt is one too, and frames of py-spy below `--- pid 811 (Worker_TP0)`.
Follows py-spy 0.3 and 0.4, CPython's faulthandler, gdb's `thread apply all bt`, the kernel's stack files. Main threads
are told, and others where they are at work on something that the job waits for. A stack without a heading gives nothing,
unless the command of py-spy stands above it: then it is cut out of the main thread; or it is gdb's, which begins with
#0, and nothing above it tells of a crash.
"""  # noqa: E501 - lines as they are

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from collectors.readers._stack_places import operation_of, place_of
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.stacks import ProcessStack, StackPlace

_Tool: TypeAlias = Literal["py-spy", "faulthandler", "gdb", "kernel", "traceback"]

_PROCESS = regex(r"Process (?P<pid>\d{1,10}): (?P<command>.{1,600})$")
_PYSPY = regex(
    r"Thread (?P<id>0x[0-9A-Fa-f]{1,16}|\d{1,16}) \((?P<state>[a-z+]{3,20})\)(?:: \"(?P<name>[^\"]{0,100})\")?\s*$"
)
_PYSPY_FRAME = regex(
    r"\s{4}(?P<function>[^\s(][^()]{0,200}(?:\([^()]{0,200}\)[^()]{0,100})?) "
    r"\((?P<file>[^()]{1,250}?)(?::\d{1,7})?\)\s*$"
)
_PYSPY_COMMAND = regex(r"(?:sudo )?py-spy dump(?:.{0,80}?(?:-p|--pid)[= ](?P<pid>\d{1,10}))?")
_ATTACHED = regex(r"(?:gdb .{0,80}?(?:-p|--pid)[= ]?|gdb attach |[pg]stack )(?P<pid>\d{1,10})\b")
_NOTED = regex(
    r"\W{0,8}(?:[\w./-]{1,40} ){0,4}?\W{0,3}"
    r"(?i:pid[ =:#]{0,3}(?P<pid>\d{1,10})|rank[ =:#]{0,3}(?P<rank>\d{1,5}))\b"
    r"(?P<rest>[^.]{0,120})$"
)
"""What a person writes above a stack, in place of the heading of py-spy."""
_FAULT = regex(
    r"(?:Current thread|Thread) 0x[0-9a-f]{4,16}(?: \[(?P<name>[^\]]{1,60})\])? \(most recent call first\):\s*$"
)
_FAULT_FRAME = regex(r"  File \"(?P<file>[^\"]{1,400})\", line \d{1,7},? in (?P<function>\S{1,200})")
_GDB = regex(
    r"Thread (?P<number>\d{1,6}) \((?:Thread 0x[0-9a-f]{1,16} \()?LWP (?P<id>\d{1,10})\)"
    r"(?: \"(?P<name>[^\"]{1,60})\")?.{0,20}:\s*$"
)
_GDB_FRAME = regex(
    r"#\d{1,4}\s{1,4}(?:0x[0-9a-f]{4,16} in )?(?P<function>[\w:~<>*&@.]{1,300})"
    r"(?:.{0,2000} from (?P<file>/\S{1,300})|.{0,2000} at (?P<source>\S{1,300})|.{0,2000})\s*$"
)
_GDB_FIRST = regex(r"#0\s{1,4}(?:0x[0-9a-f]{4,16} in )?[A-Za-z_][\w:~<>]{2,200}[\w:~<>*&@. ]{0,100}\(")
_CRASH = regex(r"(?i)signal\b|SIG[A-Z]{3,4}|core (?:was generated|dump)|Sanitizer|crash|abort|corrupt|segfault")
_NEAR_CRASH = 6
"""Lines above a backtrace, in which a crash would be told: then it does not show a wait."""
_INTERRUPT = "KeyboardInterrupt"
_TRACEBACK = "Traceback (most recent call last):"
_MOST_LINES = 200
_KERNEL_FRAME = regex(
    r"\[<[0-9a-f]{1,16}>\] (?P<function>\w[\w.]{1,80})\+0x[0-9a-f]{1,8}/0x[0-9a-f]{1,8}"
    r"(?: \[(?P<file>\w{1,40})\])?\s*$"
)
_KERNEL = regex(r"/proc/(?P<pid>\d{1,10})/(?:task/(?P<task>\d{1,10})/)?stack")
_PACKAGES = regex(r".{0,400}(?:site|dist)-packages/")
_RANK = regex(
    r"(?:_|::|\b)(?P<tags>(?:DP|TP|PP|EP)\d{1,4}(?:_(?:DP|TP|PP|EP)\d{1,4}){0,3})\b"
    r"|--local[-_]rank[= ](?P<local>\d{1,4})"
)
_TELLING: frozenset[StackPlace] = frozenset(
    (
        "nccl-wait",
        "nccl-init",
        "cuda-sync",
        "cuda-init",
        "file-io",
        "compile",
        "build-lock",
        "store",
        "driver",
        "rdma-setup",
    )
)
"""Places that are told of threads beside the main one too."""
_SHARED = regex(r"([\w.+-]{3,60}\.so(?:\.\d{1,5}){0,4})\)?\s*$")
_MOST_STACKS = 60
_SHOWN = 8


@dataclass
class _Thread:
    """One heading, and the frames below it."""

    tool: _Tool
    index: int
    pid: int | None
    rank: str | None
    name: str | None
    state: str | None
    is_main: bool
    frames: list[str] = field(default_factory=list)
    last: int = 0


def read(section: Section) -> Iterator[Reading]:
    """ProcessStack for each sort of stack, threads alike together."""
    sorts: dict[tuple[_Tool, StackPlace, str], list[_Thread]] = {}
    for thread in (*_threads(section), *_interrupted(section)):
        place = place_of(thread.frames, thread.state)
        is_main = thread.is_main or (thread.frames and thread.frames[-1].startswith("<module>"))
        if thread.frames and (is_main or place in _TELLING):
            key = (thread.tool, place, _shown(thread))
            if key in sorts or len(sorts) < _MOST_STACKS:
                sorts.setdefault(key, []).append(thread)
    for (tool, place, shown), threads in sorts.items():
        first = threads[0]
        fact = ProcessStack(
            where=place,
            tool=tool,
            pid=first.pid,
            rank=first.rank,
            thread=first.name,
            state=first.state,
            frames=shown,
            libraries=_libraries(first),
            operation=operation_of(first.frames),
            count=len(threads),
        )
        yield section.observe(fact, first.index, first.last)
    if sorts:
        yield section.looked(ProcessStack, complete=False, reason="not-collected")


def _shown(thread: _Thread) -> str:
    return " < ".join(frame.partition(" (")[0] for frame in thread.frames[:_SHOWN])[:400]


def _libraries(thread: _Thread) -> str | None:
    named = (match[1] for frame in thread.frames[:_SHOWN] if (match := _SHARED.search(frame)) is not None)
    return ", ".join(dict.fromkeys(named))[:200] or None


def _threads(section: Section) -> Iterator[_Thread]:
    """The threads in order. Headings without frames between them share the frames that follow."""
    waiting: list[_Thread] = []
    process: tuple[int, str | None] | None = None
    whole_section = _of_kernel(section) or _cut_out(section) or _of_one_thread(section)
    if whole_section:
        waiting.append(whole_section)
    for index, whole in enumerate(section.lines):
        if not whole:
            continue
        line = without_launcher(whole[:3000]).text
        begun = _PROCESS.match(line)
        if begun:
            process = (int(begun["pid"]), _rank(begun["command"]))
            continue
        thread = _heading(line, index, process) or _noted(section, line, index)
        bare = None if thread or (waiting and not waiting[-1].frames) else _backtrace(section, line, index)
        if thread or bare:
            if waiting and waiting[-1].frames:
                yield from waiting
                waiting = []
            waiting.extend(one for one in (thread, bare) if one)
            if thread:
                continue
        frame = _frame(line, waiting[-1].tool) if waiting else None
        if frame:
            for one in waiting:
                one.frames.append(frame)
            waiting[-1].last = index
            for one in waiting[:-1]:
                one.last = one.index
        elif waiting and waiting[-1].frames and line.strip() and not line.startswith("    "):
            yield from waiting
            waiting = []
    yield from waiting


def _interrupted(section: Section) -> Iterator[_Thread]:
    """Tracebacks that end in KeyboardInterrupt: where the process stood when somebody lost patience."""
    for index, whole in section.matching(_INTERRUPT):
        launched = without_launcher(whole[:3000])
        if not launched.text.startswith(_INTERRUPT):
            continue
        thread = _Thread("traceback", index, None, launched.rank, None, None, is_main=True, last=index)
        for above in range(index - 1, max(index - _MOST_LINES, -1), -1):
            line = without_launcher(section.lines[above][:3000]).text
            frame = _frame(line, "traceback")
            if frame:
                thread.frames.append(frame)
            elif _TRACEBACK in line:
                thread.index = above
                yield thread
                break


def _rank(command: str) -> str | None:
    match = _RANK.search(command)
    if match is None:
        return None
    return match["tags"].replace("_", " ") if match["tags"] else f"local rank {int(match['local'])}"


def _heading(line: str, index: int, process: tuple[int, str | None] | None) -> _Thread | None:
    """The thread that this line begins."""
    pid, rank = process or (None, None)
    match = _PYSPY.match(line)
    if match:
        name = match["name"]
        own = int(match["id"]) if match["id"].isdecimal() and name == "MainThread" else None
        is_main = name in {None, "MainThread"}
        return _Thread("py-spy", index, pid or own, rank, name, match["state"], is_main, last=index)
    match = _FAULT.match(line)
    if match:
        is_main = line.startswith("Current")
        return _Thread("faulthandler", index, pid, rank, match["name"], None, is_main, last=index)
    match = _GDB.match(line)
    if match:
        is_main = match["number"] == "1"
        return _Thread(
            "gdb", index, int(match["id"]) if is_main else pid, rank, match["name"], None, is_main, last=index
        )
    return None


def _noted(section: Section, line: str, index: int) -> _Thread | None:
    """The thread whose frames begin right below a line that names a process or a rank."""
    following = section.lines[index + 1][:3000] if index + 1 < len(section.lines) else ""
    match = _NOTED.match(line) if _PYSPY_FRAME.match(following) else None
    if match is None:
        return None
    rank = f"rank {int(match['rank'])}" if match["rank"] else _rank(match["rest"])
    pid = int(match["pid"]) if match["pid"] else None
    return _Thread("py-spy", index, pid, rank, None, None, is_main=True, last=index)


def _backtrace(section: Section, line: str, index: int) -> _Thread | None:
    """The thread whose innermost frame this line of gdb is, where nothing above it tells of a crash."""
    if _GDB_FIRST.match(line) is None:
        return None
    if any(_CRASH.search(above[:300]) for above in section.lines[max(index - _NEAR_CRASH, 0) : index]):
        return None
    return _Thread("gdb", index, None, None, None, None, is_main=False, last=index)


def _frame(line: str, tool: _Tool) -> str | None:
    """The frame that this line is, as `function (file)`."""
    form = {"py-spy": _PYSPY_FRAME, "faulthandler": _FAULT_FRAME, "gdb": _GDB_FRAME, "kernel": _KERNEL_FRAME}.get(
        tool, _FAULT_FRAME
    )
    match = form.match(line)
    if match is None:
        return None
    file = match["file"] or match.groupdict().get("source") or ""
    file = _PACKAGES.sub("", file)
    return f"{match['function'][:200]} ({file[-120:]})"


def _of_kernel(section: Section) -> _Thread | None:
    """`cat /proc/PID/stack`: the whole section is one stack."""
    match = _KERNEL.search(f"{command_of(section)} {section.path}")
    if match is None or not any("+0x" in line for line in section.lines[:5]):
        return None
    return _Thread("kernel", 0, int(match["task"] or match["pid"]), None, None, None, is_main=True)


def _cut_out(section: Section) -> _Thread | None:
    """The thread of `py-spy dump … | grep`, `| head` or an editor: frames right below the command."""
    command = _PYSPY_COMMAND.match(command_of(section))
    first = next((line for line in section.lines if line.strip()), "")
    if command is None or _PYSPY_FRAME.match(first[:3000]) is None:
        return None
    pid = int(command["pid"]) if command["pid"] else None
    return _Thread("py-spy", 0, pid, None, None, None, is_main=True)


def _of_one_thread(section: Section) -> _Thread | None:
    """`gdb -p PID -ex bt` and pstack of a process with one thread: frames of the main thread without a heading."""
    command = _ATTACHED.match(command_of(section))
    if command is None or any(_GDB.match(line[:300]) for line in section.lines):
        return None
    return _Thread("gdb", 0, int(command["pid"]), None, None, None, is_main=True)


READER = Reader(
    "process-stacks",
    read,
    markers=(
        *('): "MainThread"', "(most recent call first):", " (LWP ", "Pyspy dump for PID", _INTERRUPT),
        *(" (torch/", " (vllm/", " (sglang/", " (threading.py:", "#0  "),
    ),
    commands=("py-spy dump", "cat /proc/", "gdb ", "pstack ", "gstack "),
    context=(60, 40),
)
