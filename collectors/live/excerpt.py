"""The telling parts of a log that is larger than its cap: beginning, end, and what is of interest between them.

Where something is left out stands a line that says how much; the manifest has the sums.
"""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

from collectors.live.report import report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NEEDLES = (
    b"Traceback (most recent",
    b"NCCL WARN",
    b"NCCL ERROR",
    b"CUDA error",
    b"Watchdog",
    b"ERROR",
    b"FATAL",
    b"Error: ",
    b"Xid",
    b"ut of memory",
    b"imed out",
    b"fault",
    b"exitcode",
)
"""What lines of interest hold."""

_CHUNK = 4 << 20
_BLOCK = 4096
"""Kept from the beginning of a line of interest on: a traceback has its error at its end."""
_LONGEST_LINE = 16384
_SEARCH_S = 8.0


def copy_parts(descriptor: int, size: int, cap_bytes: int, write: Callable[[bytes], None]) -> None:
    """Writes the parts of a file of `size` bytes, cap_bytes in all at most, and reports what was left out.

    A sixth of the cap is for the beginning and half of it for the end. What lies between is searched for a few
    seconds at most.
    """
    head = _line_end(descriptor, cap_bytes // 6, size)
    tail = max(head, _line_end(descriptor, size - cap_bytes // 2, size))
    _copy(descriptor, 0, head, write)
    here, blocks, until = head, 0, time.monotonic() + _SEARCH_S
    left = cap_bytes - head - (size - tail) - _BLOCK
    searched = tail
    for start, end in _blocks(descriptor, head, tail):
        if left < end - start or time.monotonic() > until:
            searched = start
            break
        if end > start:
            _say_left_out(start - here, write)
            _copy(descriptor, start, end, write)
            here, blocks, left = end, blocks + 1, left - (end - start)
    _say_left_out(tail - here, write)
    _copy(descriptor, tail, size, write)
    kept = cap_bytes - _BLOCK - left - (size - tail)
    report(
        cut=True,
        note=f"of {size} bytes the last {size - tail} are kept and {kept} of those before, the first {head} and"
        f" {blocks} stretches of interest"
        + ("" if searched == tail else f"; {tail - searched} were not searched"),
    )


def _blocks(descriptor: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the stretches of interest begin and end, in order; empty ones tell how far the search has come."""
    done = start
    while start < end:
        start = _data_from(descriptor, start, end)
        chunk = os.pread(descriptor, min(_CHUNK, end - start), start)
        if not chunk:
            return
        for found in sorted(_places(chunk)):
            place = start + found
            if place >= done:
                first = max(done, _line_start(descriptor, place))
                done = min(end, _line_end(descriptor, place + _BLOCK, end))
                yield first, done
        start += max(1, len(chunk) - (max(map(len, NEEDLES)) if start + len(chunk) < end else 0))
        yield start, start


def _data_from(descriptor: int, start: int, end: int) -> int:
    """Where the next bytes are that were ever written: a hole in a file holds nothing."""
    try:
        return min(end, os.lseek(descriptor, start, os.SEEK_DATA))
    except OSError as error:  # ENXIO: a hole up to the end; EINVAL: a file system that knows no holes
        return end if error.errno == errno.ENXIO else start


def _places(chunk: bytes) -> set[int]:
    """Where in a chunk lines of interest are; of those of one needle that lie close together the first."""
    found = set()
    for needle in NEEDLES:
        at = chunk.find(needle)
        while at >= 0:
            found.add(at)
            at = chunk.find(needle, at + _BLOCK)
    return found


def _line_start(descriptor: int, place: int) -> int:
    before = os.pread(descriptor, min(place, _LONGEST_LINE), place - min(place, _LONGEST_LINE))
    return place - len(before) + before.rfind(b"\n") + 1


def _line_end(descriptor: int, place: int, limit: int) -> int:
    """Where the line at a place has ended, or the place itself where its end is far."""
    after = os.pread(descriptor, _LONGEST_LINE, min(place, limit))
    return min(limit, place + after.find(b"\n") + 1)


def _copy(descriptor: int, start: int, end: int, write: Callable[[bytes], None]) -> None:
    while start < end:
        chunk = os.pread(descriptor, min(_CHUNK, end - start), start)
        if not chunk:  # the file has been cut meanwhile
            return
        write(chunk)
        start += len(chunk)


def _say_left_out(count: int, write: Callable[[bytes], None]) -> None:
    if count > 0:
        write(f"[... {count} bytes are left out here ...]\n".encode())
