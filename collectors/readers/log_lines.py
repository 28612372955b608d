"""Lines that rules ask for by a text in them (`log_line`), for what no other reader knows.

    [ 8123.4] LustreError: 11-0: scratch-OST0007-osc: operation ost_write to node 10.0.0.7@o2ib failed: rc = -107

No reader of its own: it is made for the texts of the rules of a run, and there is none where these ask for none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.log_lines import LogLine

MOST_SORTS = 8
"""Lines of one text that differ in more than numbers; later sorts count with the first."""
MOST_CHARS = 300

_KERNEL = regex(r"(?:<\d{1,3}>)?\[\s{0,8}\d{1,9}\.\d{3,6}\]\s?(?:\[[ CT]\s{0,8}\d{1,8}\]\s)?|kernel: ")
_NUMBER = regex(r"0x[0-9a-f]+|\d+|[0-9a-f]{8,}")


@dataclass
class _Sort:
    """Lines that differ only in numbers: the first of them, and how many there are."""

    index: int
    text: str
    rank: str | None
    count: int = 1


def line_readers(texts: Sequence[str]) -> tuple[Reader, ...]:
    """The reader of lines that hold one of these texts; none where there are no texts."""
    if not texts:
        return ()

    def read(section: Section) -> Iterator[Reading]:
        for text in texts:
            for sort in _sorts(section, text):
                fact = LogLine(holds=text, text=sort.text, rank=sort.rank, count=sort.count)
                yield section.observe(fact, sort.index)

    return (Reader("log-lines", read, markers=tuple(texts)),)


def _sorts(section: Section, text: str) -> list[_Sort]:
    sorts: dict[str, _Sort] = {}
    for index, line in section.matching(text):
        rank, said = _plain(line[:MOST_COLUMNS])
        shape = _NUMBER.sub("0", said)
        if shape not in sorts and len(sorts) >= MOST_SORTS:
            shape = next(iter(sorts))
        if shape in sorts:
            sorts[shape].count += 1
        else:
            sorts[shape] = _Sort(index, said[:MOST_CHARS], rank)
    return list(sorts.values())


def _plain(line: str) -> tuple[str | None, str]:
    """The rank of a line, and its text without what others have put before it."""
    launched = without_launcher(line)
    said = without_stamp(launched.text).text
    stamp = _KERNEL.match(said)
    while stamp is not None:
        said = said[stamp.end() :]
        stamp = _KERNEL.match(said)
    return launched.rank, said.strip()
