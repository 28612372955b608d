"""Case folders: `NAME/case.yaml` says what is right, `NAME/evidence/` holds the files of a user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from kb.errors import InputError

CASE = "case.yaml"


@dataclass(frozen=True, slots=True)
class Answers:
    """What is right of one case; all are ids of causes."""

    causes: tuple[str, ...]
    """Right first answers."""
    also: tuple[str, ...]
    """What is wrong beside them."""
    acceptable: tuple[str, ...]
    """Other first answers that a fair judge accepts."""
    must_not: tuple[str, ...]
    """What must not be accused."""


def answers_of(file: Path) -> Answers:
    """What a `case.yaml` says. Raises InputError where it names no right answer, or can't be read."""
    try:
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))
        lists = [spec.get(key) or [] for key in ("causes", "also", "acceptable", "must_not")]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError):
        lists = [[]]
    named = [one for answers in lists if isinstance(answers, list) for one in answers]
    if (
        not lists[0]
        or any(not isinstance(one, list) for one in lists)
        or any(not isinstance(one, str) for one in named)
    ):
        raise InputError(f"{file}: expected `causes: [id, …]`, the right answers of this case")
    return Answers(*map(tuple, lists))
