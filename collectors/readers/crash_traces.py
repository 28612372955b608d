"""Stacks of processes that a signal ended: gdb (also on a core), coredumpctl, Open MPI's and UCX's handlers.

    Thread 787 "python" received signal SIGBUS, Bus error.
    #0  0x00007f6b59544f3b in ncclShmOpen(char*, unsigned long, void**) () from /usr/lib/libnccl.so.2
    [n01:41123] Signal: Segmentation fault (11)
    [n01:41123] [ 1] /opt/plugin/lib/libnccl-net.so(+0x790f)[0x7fefc64b890f]
    ==== backtrace (tid:  41123) ====
     2  /opt/plugin/lib/libnccl-net.so(nccl_p2p_ib_init+0x1af) [0x7fefc64b890f]

Follows gdb 7 to 16, systemd 232 to 257, Open MPI 1.10 to 5 and UCX 1.6 to 1.18. A frame of gdb that names no
library gets it from `info sharedlibrary`, where that is shown. A stack with no word of a signal above it gives
nothing: see process_stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.stacks import CrashTrace

_Tool: TypeAlias = Literal["gdb", "coredump", "mpi", "ucx"]
_Signal: TypeAlias = Literal["SIGBUS", "SIGSEGV", "SIGILL", "SIGFPE"]

_WORDS: dict[str, _Signal] = {
    "Bus error": "SIGBUS",
    "Segmentation fault": "SIGSEGV",
    "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE",
    "SIGBUS": "SIGBUS",
    "BUS": "SIGBUS",
    "SIGSEGV": "SIGSEGV",
    "SEGV": "SIGSEGV",
    "SIGILL": "SIGILL",
    "ILL": "SIGILL",
    "SIGFPE": "SIGFPE",
    "FPE": "SIGFPE",
}
_NAMES = "|".join(_WORDS)
_HEADS: tuple[tuple[_Tool, str], ...] = (
    (
        "gdb",
        (
            r"(?:Thread [\d.]{1,12} (?:\"[^\"]{0,40}\" )?|Program )(?:received|terminated with) signal "
            r"(?P<signal>SIG\w{2,5}),"
        ),
    ),
    ("coredump", r"\s{1,12}Signal: \d{1,2} \((?P<signal>[A-Z]{2,5})\)"),
    ("mpi", rf"\[[\w.-]{{1,64}}:\d{{1,10}}\] (?:\*\*\* )?Signal: (?P<signal>{_NAMES}) \(\d"),
    ("ucx", rf"\[[\w.-]{{1,64}}:[\d: ]{{1,40}}\] Caught signal \d{{1,2}} \((?P<signal>{_NAMES})"),
)
_BY_HEAD = tuple((tool, regex(form)) for tool, form in _HEADS)
_FUNCTION = r"(?P<function>[A-Za-z_][\w:~<>*&@.]{1,200})"
_FRAMES: dict[_Tool, str] = {
    "gdb": r"#\d{1,4}\s{1,4}(?:0x(?P<at>[0-9a-f]{4,16}) in )?"
    rf"(?:{_FUNCTION}|\?\?).{{0,2000}}?(?: from (?P<file>/\S{{1,300}})|\s*$)",
    "coredump": rf"\s{{0,24}}#\d{{1,4}}\s{{1,4}}0x(?P<at>[0-9a-f]{{4,16}}) (?:{_FUNCTION}|n/a) "
    r"\((?P<file>\S{1,200}?)(?: \+ 0x[0-9a-f]{1,16})?\)",
    "mpi": r"\[[\w.-]{1,64}:\d{1,10}\] \[ ?\d{1,3}\] (?P<file>/[^\s()]{1,300})"
    rf"\((?:{_FUNCTION})?\+0x[0-9a-f]{{1,12}}\) ?\[0x(?P<at>[0-9a-f]{{4,16}})\]",
    "ucx": rf"\s{{1,8}}\d{{1,3}}\s{{1,4}}(?P<file>/[^\s()]{{1,300}})\((?:{_FUNCTION})?\+0x[0-9a-f]{{1,12}}\) "
    r"\[0x(?P<at>[0-9a-f]{4,16})\]",
}
_BY_FRAME = {tool: regex(form) for tool, form in _FRAMES.items()}
_FROM = regex(r"\s{1,8}(?:.{0,400} )?from (?P<file>/\S{1,300})\s*$")
_RANGE = regex(
    r"0x(?P<low>[0-9a-f]{6,16})\s{1,8}0x(?P<high>[0-9a-f]{6,16})\s{1,8}\w{2,3}[\s()*]{1,16}(?P<file>/\S{1,300})"
)
_PLAIN = regex(r"(?:libc|libpthread|libgcc_s|ld-linux[\w-]*|libucs)\.so|(?:libc|ld)-2")
_MOST_BELOW = 60
_SHOWN = 8
_MOST_TRACES = 40


class _Frame(NamedTuple):
    function: str | None
    file: str | None


def read(section: Section) -> Iterator[Reading]:
    """CrashTrace for each stack below a word of its signal; those alike together."""
    ranges = _ranges(section.lines)
    found: dict[tuple[_Tool, _Signal, str, str | None], tuple[int, int, int]] = {}
    for index, whole in section.matching("signal ", "Signal: "):
        line = without_launcher(whole[:1000]).text
        for tool, form in _BY_HEAD:
            match = form.match(line)
            signal = _WORDS.get(match["signal"]) if match else None
            if signal is None:
                continue
            frames, last = _frames(section.lines, index + 1, tool, ranges)
            names = " < ".join([one.function for one in frames if one.function][:_SHOWN])[:400]
            key = (tool, signal, names, _library(frames))
            if names or key[3]:
                first, end, count = found.get(key, (index, last, 0))
                if count or len(found) < _MOST_TRACES:
                    found[key] = (first, end, count + 1)
            break
    for (tool, signal, names, library), (index, last, count) in found.items():
        fact = CrashTrace(signal=signal, tool=tool, frames=names, library=library, count=count)
        yield section.observe(fact, index, last)


def _frames(
    lines: Sequence[str], start: int, tool: _Tool, ranges: Sequence[tuple[int, int, str]]
) -> tuple[list[_Frame], int]:
    """The frames of the first stack below a line, and the last line of it."""
    frames: list[_Frame] = []
    last = start - 1
    for index in range(start, min(start + _MOST_BELOW, len(lines))):
        line = without_launcher(lines[index][:3000]).text if tool == "gdb" else lines[index][:3000]
        match = _BY_FRAME[tool].match(line)
        if match is not None:
            if tool == "gdb" and line.startswith("#0") and frames:
                frames = []  # gdb shows the innermost frame by itself, then the whole stack
            file = match["file"] or _file_at(match["at"], ranges)
            frames.append(_Frame(match["function"], file))
            last = index
        elif frames and frames[-1].file is None and (more := _FROM.match(line)) is not None:
            frames[-1] = frames[-1]._replace(file=more["file"])
            last = index
        elif any(form.match(line) for _, form in _BY_HEAD):
            break
    return frames, last


def _ranges(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Where each library lies, as `info sharedlibrary` lists it."""
    found = (_RANGE.match(line[:600]) for line in lines if line.startswith("0x"))
    return [(int(one["low"], 16), int(one["high"], 16), one["file"]) for one in found if one]


def _file_at(address: str | None, ranges: Sequence[tuple[int, int, str]]) -> str | None:
    at = int(address or "0", 16)
    return next((file for low, high, file in ranges if low <= at < high), None)


def _library(frames: Sequence[_Frame]) -> str | None:
    """The library of the innermost frame that has one and is not C's own; of unknown inner frames, none."""
    for frame in frames[:_SHOWN]:
        name = (frame.file or "").rpartition("/")[2]
        if ".so" in name and not _PLAIN.match(name):
            return name
        if frame.function and not name:
            return None
    return None


READER = Reader(
    "crash-traces",
    read,
    markers=("received signal SIG", "terminated with signal SIG", "Signal: ", "Caught signal"),
)
