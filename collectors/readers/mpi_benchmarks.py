"""Runs of MPI's own benchmarks (Intel MPI Benchmarks, OSU): whether anything was measured.

    # Benchmarking Sendrecv
           #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
      2097152           20      1790.61      1791.77      1791.19      2340.87
    # OSU MPI Bandwidth Test v7.4
    # Size      Bandwidth (MB/s)

Follows Intel MPI Benchmarks 4 to 2021 and OSU micro-benchmarks 3 to 7. A heading alone is a run that stood
only where somebody ended it by `^C` right below; rows without a heading give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.network import MpiBenchmark

_HEADING = regex(r"\s{0,12}(?:#bytes\s{1,8}#repetitions\b|# Size\s{2,30}(?:Avg )?(?:Latency|Bandwidth|MB/s))")
_ROW = regex(r"\s{0,14}\d{1,12}\s{1,24}(?:\d{1,12}\s{1,24})?\d{1,12}\.\d{1,4}")
_MOST = 100


def read(section: Section) -> Iterator[Reading]:
    """MpiBenchmark for each heading below which something was measured, or a run was ended by hand."""
    headings = [index for index, line in enumerate(section.lines) if _HEADING.match(line[:200])][:_MOST]
    for index, following in zip(headings, [*headings[1:], len(section.lines)], strict=False):
        rows, ended = 0, False
        for line in section.lines[index + 1 : following]:
            text = without_launcher(line[:200]).text
            rows += _ROW.match(text) is not None
            ended = ended or text.startswith("^C")
        if rows or ended:
            yield section.observe(MpiBenchmark(rows=rows, ended_by_hand=ended), index)


READER = Reader("mpi-benchmarks", read, markers=("#bytes #repetitions", "# OSU MPI"), context=(0, 60))
