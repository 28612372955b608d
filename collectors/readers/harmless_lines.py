"""Lines that look bad and are not, counted by the entry of the catalogue (kb/catalogues/harmless.yaml) that they fit.

    gpu-8:795:795 [0] NCCL INFO NET/IB : No device found.
    [rank0]:[W325 17:16:26.189312881 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called …
    [    8.112020] nvidia: module license 'NVIDIA' taints kernel.

So that a report can say of them that they weigh nothing. A line that quotes such a text counts as well: it accuses
nobody. Lines that are cut before the telling part give nothing.
"""  # noqa: E501 - a line of the log as it is

from __future__ import annotations

from collections.abc import Iterator

from kb.evidence import Reader, Reading, Section
from kb.facts.problems import HarmlessLine
from kb.harmless import catalogue

MOST_COLUMNS = 8000

_MARKERS = tuple(part for entry in catalogue() for part in entry.lines)


def read(section: Section) -> Iterator[Reading]:
    """HarmlessLine for each entry of the catalogue that some line fits, at the first of them."""
    counts: dict[str, tuple[int, int]] = {}
    for index, line in section.matching(*_MARKERS):
        for entry in catalogue():
            if entry.describes(line[:MOST_COLUMNS]):
                first, count = counts.get(entry.id, (index, 0))
                counts[entry.id] = first, count + 1
                break
    for entry in catalogue():
        if entry.id in counts:
            first, count = counts[entry.id]
            yield section.observe(HarmlessLine(id=entry.id, count=count, unless=entry.unless), first)
    if counts:
        yield section.looked(HarmlessLine)


READER = Reader("harmless-lines", read, markers=_MARKERS)
