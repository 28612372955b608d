"""NCCL's last warning as the programs that called it repeat it, without the head that NCCL gave it.

PyTorch prints it below `Last error:` (from 1.13), XLA in quotes behind `Last NCCL warning(error) log entry`,
nccl-tests behind the slash of its failure line. That two ranks share a GPU, and that a transfer over InfiniBand
failed, is told by the line alone, in NCCL's fixed words. No reader.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from collectors.readers.nccl_lines import NcclLine
from kb.evidence import Section

MARKERS = ("Last error:", "Last NCCL ", "Test NCCL failure ", "Duplicate GPU detected : rank ", "Got completion ")
MOST_COLUMNS = 2000

_QUOTED = regex(
    r"Last NCCL (?:warning|error)\S{0,20} (?:log entry )?(?:\(may be unrelated\):? ?)?"
    r"'(?P<text>[^']{3,400}(?:'[^']{1,200}'[^']{0,60})?)'"
)
_TEST = regex(r"Test NCCL failure \S{1,120}:\d{1,6} '[^'/]{3,120} / (?P<text>\S.{2,400}?)\s?'\s*$")
_ALONE = regex(
    r"Duplicate GPU detected : rank \d{1,7} and rank \d{1,7} both on CUDA device [0-9a-f]{1,12}\s*$"
    r"|NET/IB\w{0,12}(?:/\w{1,12})? ?: ?Got completion (?:from peer \S{1,100} )?with "
    r"(?:error \d{1,3}, |status=(?:\w{1,40}\()?\d{1,3}\)? )opcode"
)
_NO_WARNING = (
    "Exception raised from",
    "frame #",
    "Traceback (most",
    "During handling",
    "Process Group",
    "NCCL version",
)


def last_errors(section: Section) -> Iterator[NcclLine]:
    """One record for each repetition, at the line where the words stand."""
    for index, whole in section.matching(*MARKERS):
        line = whole[:MOST_COLUMNS]
        above = section.lines[index - 1].rstrip() if index else ""
        alone = without_launcher(line).text.strip()
        if _ALONE.match(alone) and not above.endswith("Last error:"):
            yield _record(line, index, alone)
            continue
        quoted = _QUOTED.search(line) or _TEST.search(line)
        if quoted is not None:
            yield _record(line, index, quoted["text"])
        elif line.rstrip().endswith("Last error:") and index + 1 < len(section.lines):
            following = section.lines[index + 1][:MOST_COLUMNS]
            own = without_launcher(line).text  # some launchers put a lead of their own before both lines
            text = without_launcher(following).text.removeprefix(own[: own.rfind("Last error:")]).strip()
            if text and not text.startswith(_NO_WARNING):
                yield _record(following, index + 1, text)


def _record(line: str, index: int, text: str) -> NcclLine:
    launched = without_launcher(line)
    number = (launched.rank or "").removeprefix("rank ")
    rank = int(number) if number.isdecimal() else None
    return NcclLine(index, "WARN", text, launched.process, None, None, launched.process, None, rank)
