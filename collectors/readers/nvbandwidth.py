"""nvbandwidth's copies from GPU to GPU, whose data it compares unless it is told not to.

    Running device_to_device_memcpy_read_ce.
    memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
     Invalid value when checking the pattern at 0x70a640000000

Follows nvbandwidth 0.2 to 0.8. A table that is printed has passed the comparison for each pair with a number;
N/A off the diagonal is a pair without peer access. A comparison that fails stops the test before its table, so
that the pair is known only where there are two GPUs. A cut table gives the rows that are there.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.number_matrix import matrix_rows
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import ProcessError
from kb.facts.p2p import PeerAccess, PeerCopy

_TITLE = regex(r"\s{0,4}memcpy (?:CE|SM) GPU\(row\) (?:<->|<-|->) GPU\(column\) bandwidth")
_RUNNING = regex(r"\s{0,4}Running (\w{1,80})\.")
_DEVICE = regex(r"\s{0,4}Device (\d{1,4}): ")
_INVALID = regex(r"\s{0,4}Invalid value when checking the pattern at 0x[0-9a-f]{1,16}")
_UNCHECKED = regex(r"nvbandwidth\b.{0,400}\s(?:-s|--skipVerification)(?:\s|$)")


def read(section: Section) -> Iterator[Reading]:
    """PeerAccess and PeerCopy of the pairs in the tables; PeerCopy `wrong` or a ProcessError of a failed check."""
    checked = section.command is None or _UNCHECKED.search(section.command) is None
    devices: set[str] = set()
    test = ""
    access: dict[tuple[int, int], Observed] = {}
    copies: dict[tuple[int, int], Observed] = {}
    failed: list[int] = []
    for index, line in enumerate(section.lines):
        text = line[:200]
        if (running := _RUNNING.match(text)) is not None:
            test = running[1]
        elif (device := _DEVICE.match(text)) is not None:
            devices.add(device[1])
        elif _INVALID.match(text) and test.startswith("device_to_device"):
            failed.append(index)
        elif _TITLE.match(text):
            for pair, offered, row in _table(section, index):
                access.setdefault(pair, section.observe(_access(pair, offered=offered), row))
                if offered and checked:
                    right = PeerCopy(src=pair[0], dst=pair[1], data="right")
                    copies.setdefault(pair, section.observe(right, row))
    yield from access.values()
    yield from _failures(section, failed, devices, copies)
    yield from copies.values()
    if access:
        yield section.looked(PeerAccess)
    if copies:
        yield section.looked(PeerCopy)


def _table(section: Section, title: int) -> Iterator[tuple[tuple[int, int], bool, int]]:
    for index, row, cells in matrix_rows(section.lines, title + 1):
        for column, cell in cells:
            if row != column:
                yield (row, column), cell != "N/A", index


def _access(pair: tuple[int, int], *, offered: bool) -> PeerAccess:
    return PeerAccess(src=pair[0], dst=pair[1], offered=offered, reported_by="p2p-tool")


def _failures(
    section: Section, failed: list[int], devices: set[str], copies: dict[tuple[int, int], Observed]
) -> Iterator[Observed]:
    if not failed:
        return
    index = failed[0]
    if devices == {"0", "1"}:
        copies[0, 1] = section.observe(PeerCopy(src=0, dst=1, data="wrong"), index)
        return
    text = section.lines[index].strip()[:200]
    yield section.observe(ProcessError(error="nvbandwidth data check", text=text, count=len(failed)), index)


READER = Reader(
    "nvbandwidth",
    read,
    markers=("nvbandwidth Version", "Invalid value when checking the pattern", "GPU(row) "),
)
