"""Square tables of one row and one column a GPU, as the CUDA samples and nvbandwidth print them. No reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collectors.readers._regex import regex

MOST_COLUMNS = 2000

_HEADER = regex(r"\s{0,20}(?:D\\D|GPU|CPU)?\s{1,40}((?:\d{1,4}\s{1,40}){0,255}\d{1,4})\s*$")
_CELL = regex(r"\d{1,9}(?:\.\d{1,6})?|N/A|inf|nan")


def matrix_rows(lines: Sequence[str], start: int) -> Iterator[tuple[int, int, list[tuple[int, str]]]]:
    """Line, row number, and (column number, cell) of each row under the header at lines[start].

    Ends at the first line that is no row; a row that is too short gives the cells that it has.
    """
    if start >= len(lines):
        return
    header = _HEADER.match(lines[start][:MOST_COLUMNS])
    if header is None:
        return
    columns = [int(word) for word in header[1].split()]
    for index in range(start + 1, len(lines)):
        words = lines[index][:MOST_COLUMNS].split()
        if len(words) < 2 or not words[0].isdecimal() or len(words[0]) > 4 or int(words[0]) not in columns:
            return
        if not all(_CELL.fullmatch(word) for word in words[1:]):
            return
        yield index, int(words[0]), list(zip(columns, words[1:], strict=False))
