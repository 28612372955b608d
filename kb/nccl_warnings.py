"""The catalogue of NCCL's warnings: what one is about and what it means, for those that no rule knows.

`catalogues/nccl_warnings.csv`: the first row that fits holds. `form` is the middle of the text that has stayed the
same over the releases, as a regular expression without regard to case; `place` a part of the name of the source
file that warned, for texts that no form fits. `first` and `last`: oldest and newest release with such a warning.
`forms`: how many different texts it covers, `example` one of them as it stands in the source, `files` where.
`catalogues/nccl_classes.csv`: what warnings of a class most often come from, and the probe that tells more.
Sources: `tags`, NVIDIA/nccl, src/, v2.14.3-1 to v2.30.7-1; `binaries`, strings of the wheels of 2.31.2 and 2.32.3.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple, cast

from kb.catalogues import rows
from kb.facts.nccl import NcclClass

MOST_TEXT = 500


class WarningRow(NamedTuple):
    """One kind of warning."""

    id: str
    class_: NcclClass
    means: str
    form: re.Pattern[str] | None
    place: str | None


@cache
def warning_rows() -> tuple[WarningRow, ...]:
    """All rows, in the order of the file."""
    return tuple(
        WarningRow(
            id=row["id"],
            class_=cast("NcclClass", row["class"]),
            means=row["means"],
            form=re.compile(row["form"], re.IGNORECASE) if row["form"] else None,
            place=row["place"] or None,
        )
        for row in rows("nccl_warnings.csv")
    )


def warning_row(text: str, place: str | None) -> WarningRow | None:
    """The first row that fits a warning by its text or, failing that, by the source file that it names."""
    text = text[:MOST_TEXT]
    for row in warning_rows():
        if row.form is not None:
            if row.form.search(text):
                return row
        elif place is not None and row.place is not None and row.place in place:
            return row
    return None


class ClassRow(NamedTuple):
    """What warnings of one class most often come from."""

    class_: NcclClass
    causes: tuple[str, ...]
    test: str


@cache
def class_rows() -> dict[str, ClassRow]:
    """The row of each class."""
    return {
        row["class"]: ClassRow(cast("NcclClass", row["class"]), tuple(row["causes"].split()), row["test"])
        for row in rows("nccl_classes.csv")
    }
