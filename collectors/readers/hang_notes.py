"""What people write below a log that does not go on.

    <hang>
    (stalled)
    ... nothing more, for ever

A note counts where it is the whole line and stands in brackets or behind dots, so that no program has printed it.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.trials import HangNote

_NOTE = regex(
    r"\s{0,12}(?:[<(\[{*]{1,3}|\.{3,}|-{2,}>|<-{1,}|\^{1,}) ?"
    r"(?:(?:it|and|then|now|the|process|program|job|test|run|script|training|server|everything|here|just|simply"
    r"|output|log|both|all|gpus|ranks|is|are|gets?|stops?|ends?|there|after this|at this point),? ){0,6}?"
    r"(?i:hangs?|hung|hanging|stuck|stalls|stalled|freezes|frozen|blocks|blocked"
    r"|nothing(?=,)|nothing (?:more|further|else|happens|for ever|forever)"
    r"|no (?:further|more|other) (?:output|lines?|logs?|progress)"
    r"|never (?:returns?|ends|finishes))\b"
    r"[^=]{0,100}$"
)
_MARKERS = ("hang", "hung", "Hang", "HANG", "stuck", "stall", "freez", "frozen", "block", "othing", "no further")
_MORE = ("no more ", "no other ", "never ")
_MOST_COLUMNS = 160


def is_hang_note(line: str) -> bool:
    """Whether a line is a note that the output ends because the program does not go on."""
    return len(line) < _MOST_COLUMNS and _NOTE.match(line) is not None


def read(section: Section) -> Iterator[Reading]:
    """The last such note of a section, where no output follows it."""
    found = [(index, line.strip()) for index, line in section.matching(*_MARKERS, *_MORE) if is_hang_note(line)]
    if found:
        index, text = found[-1]
        yield section.observe(HangNote(text=text), index)


READER = Reader("hang-notes", read, markers=(*_MARKERS, *_MORE))
