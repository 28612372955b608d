"""Everything that this program raises on purpose.

DiagnoseError                what a user can mend; the command line prints it in one line and exits with 2
├── InputError               evidence that is missing or unreadable
└── RuleError                one fault in a rule file, with file:line:column
    └── RuleErrors           all the faults of a rule base at once

A message says what was expected, what was found, where, and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass


class DiagnoseError(Exception):
    """A fault that the user can mend; its text is one line."""


class InputError(DiagnoseError):
    """Evidence that is missing or can't be read at all."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a rule file something stands; line and column count from 1."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


class RuleError(DiagnoseError):
    """One fault in a rule file."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message
        self.check = "reading"
        """The check that found it, by which programs tell kinds of faults apart."""


class RuleErrors(DiagnoseError):  # noqa: N818 - it holds several
    """All the faults that were found while loading or checking rules."""

    def __init__(self, errors: list[RuleError]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = errors
