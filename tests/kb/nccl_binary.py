"""The messages of a libnccl.so with level and source file, as its code passes them to ncclDebugLog.

    lea  fmt(%rip),%r9 …  lea  file(%rip),%rdx …  mov $2,%edi …  call ncclDebugLog

The calls are not disassembled: a message is a text whose address is loaded into %r8 (%r9 from 2.30.7 on) less than
a hundred bytes before a call, and its level and file are what is loaded nearest to it. On x86-64 this finds four
of five WARN forms and takes one in a hundred INFO forms for one: good enough to notice what is new.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BEFORE, AFTER = 80, 90
MOST_TEXT = 700
LOADS = re.compile(rb"\x4c\x8d[\x05\x0d]")
ANY_LOAD = re.compile(rb"[\x48\x4c]\x8d[\x05\x0d\x15\x35]")
LEVEL = re.compile(rb"\xbf[\x01-\x05]\0\0\0")
SOURCE = re.compile(r"[\w/.-]+\.(?:cc|h)")
X86_64 = 62


class Message(NamedTuple):
    """One text, its level (2 is WARN, 3 INFO), and the source file that it is from, where that was found."""

    text: str
    level: int
    file: str | None


class Segment(NamedTuple):
    """A part of the file as it lies in memory."""

    executable: bool
    offset: int
    address: int
    size: int


def messages(library: Path) -> set[Message]:
    """All messages of a library for x86-64; none of another machine's."""
    with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != b"\x7fELF" or struct.unpack_from("<H", data, 18)[0] != X86_64:
            return set()
        segments = list(_segments(data))
        return {found for one in segments if one.executable for found in _of_code(data, one, segments)}


def _segments(data: mmap.mmap) -> Iterator[Segment]:
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for number in range(count):
        entry = struct.unpack_from("<IIQQQQQQ", data, table + number * size)
        kind, flags, offset, address, _, length, *_ = entry
        if kind == 1:
            yield Segment(bool(flags & 1), offset, address, length)


def _of_code(data: mmap.mmap, code: Segment, segments: list[Segment]) -> Iterator[Message]:
    end = code.offset + code.size
    for load in LOADS.finditer(data, code.offset, end):
        here = load.start()
        call = data.find(b"\xe8", here + 7, min(here + AFTER, end))
        text = _text(data, _target(data, here, code), segments)
        if call < 0 or text is None or len(text) < 6:
            continue
        begin = max(code.offset, here - BEFORE)
        levels = [(abs(found.start() - here), found[0][1]) for found in LEVEL.finditer(data, begin, call)]
        if levels:
            yield Message(text, min(levels)[1], _file(data, begin, call, here, code, segments))


def _file(data: mmap.mmap, begin: int, call: int, here: int, code: Segment, segments: list[Segment]) -> str | None:
    """The nearest text in reach that names a source file."""
    near = sorted((abs(load.start() - here), load.start()) for load in ANY_LOAD.finditer(data, begin, call))
    named = (_text(data, _target(data, at, code), segments) for _, at in near)
    return next((name for name in named if name and SOURCE.fullmatch(name)), None)


def _target(data: mmap.mmap, at: int, code: Segment) -> int:
    """The address that an instruction of seven bytes loads, relative to its end."""
    (distance,) = struct.unpack_from("<i", data, at + 3)
    return at - code.offset + code.address + 7 + int(distance)


def _text(data: mmap.mmap, address: int, segments: list[Segment]) -> str | None:
    for one in segments:
        if one.address <= address < one.address + one.size:
            begin = address - one.address + one.offset
            end = data.find(b"\0", begin, begin + MOST_TEXT)
            raw = data[begin:end] if end > begin else b""
            return raw.decode("ascii") if raw.isascii() and not re.search(rb"[^\x20-\x7e\n\t]", raw) else None
    return None
