"""What a WARN of NCCL is about, by the catalogue of its warnings (kb/catalogues/nccl_warnings.csv). No reader."""

from __future__ import annotations

from kb.facts.nccl import NcclClass
from kb.nccl_warnings import warning_row


def warning_class(text: str, place: str | None) -> NcclClass:
    """The class of a WARN by its text or, failing that, by the source file that it names."""
    row = warning_row(text, place)
    return "internal" if row is None else row.class_


def warning_meaning(text: str, place: str | None) -> str | None:
    """What such a warning means, in a sentence; None for one that the catalogue does not know."""
    row = warning_row(text, place)
    return None if row is None else row.means
