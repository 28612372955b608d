"""Lines of a log that belong to a defect of some NCCL releases, by the catalogue (kb/catalogues).

    a17:311:340 [0] NCCL INFO ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856
    free(): invalid next size (fast)
    malloc(): corrupted top size

Follows NCCL 2.9 to 2.32 and glibc's malloc. A line alone accuses nobody: whether the release in use has the
defect, and whether the rest fits, is judged over all files together.
"""

from __future__ import annotations

from collections.abc import Iterator

from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_tools import NcclDefectLine
from kb.nccl_defects import defects

_BY_PART = tuple((part, defect.id) for defect in defects() for part in defect.lines)
MOST_TEXT = 300


def read(section: Section) -> Iterator[Reading]:
    """One fact for each defect whose lines are seen, with how often."""
    found: dict[str, tuple[int, int, str]] = {}
    for part, name in _BY_PART:
        for index, line in section.matching(part):
            first, count, text = found.get(name, (index, 0, line.strip()[:MOST_TEXT]))
            found[name] = (first, count + 1, text)
    for name, (index, count, text) in found.items():
        yield section.observe(NcclDefectLine(id=name, text=text, count=count), index)


READER = Reader("nccl-defect-lines", read, markers=tuple(dict.fromkeys(part for part, _ in _BY_PART)))
