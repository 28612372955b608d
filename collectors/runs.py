"""Several runs of a job in one log, told apart: a server that was started again, a launch that was tried twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from collectors.content import Content
from collectors.open import File
from collectors.readers.run_start import END_MARKERS, run_starts
from collectors.texts import UTF16, text_lines
from kb.errors import InputError
from kb.evidence import Section


def count_runs(file: File) -> int:
    """How many runs a file shows; 1 for one that is no log of a job, or too large to be held."""
    if not file.content.is_held:
        return 1
    content = file.content.data
    ended = content.startswith(UTF16) or any(marker.encode() in content for marker in END_MARKERS)
    return len(run_starts(Section(file.path, text_lines(content)))) if ended else 1


def only_run(files: Sequence[File], number: int) -> list[File]:
    """The files with nothing but that run (1 is the first) in those that hold several; lines keep their numbers.

    Raises InputError where no file holds so many.
    """
    counts = [count_runs(file) for file in files]
    most = max(counts, default=1)
    if number > most:
        runs = "1 run" if most == 1 else f"{most} runs"
        raise InputError(f"expected the number of a run in --run, found {number}: the evidence holds {runs}")
    return [
        file if count == 1 else replace(file, content=_cut_out(file.content, number), truncated=True)
        for file, count in zip(files, counts, strict=True)
    ]


def _cut_out(content: Content, number: int) -> Content:
    """The lines of one run, with empty ones in place of all others; nothing, where there are fewer runs."""
    lines = text_lines(content.data)
    starts = [*run_starts(Section("", lines)), len(lines)]
    if number >= len(starts):
        return Content(b"")
    kept = [line if starts[number - 1] <= place < starts[number] else "" for place, line in enumerate(lines)]
    return Content("\n".join(kept).encode(), cut=content.cut)
