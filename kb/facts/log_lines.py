"""Facts on lines that no reader knows, and that a rule asks for by a text in them."""

from typing import ClassVar

from kb.facts.base import Fact


class LogLine(Fact):
    """A line that holds a text which a rule asks for, whatever wrote it; those with other numbers count with it.

    It is for what no reader knows: the client of a file system, a vendor's module, a program of your own.
    """

    kind: ClassVar[str] = "log_line"

    holds: str
    """The text, as the rule has it: it is looked for letter by letter, in all that is read."""
    text: str
    """The first such line, without the stamps and prefixes of launchers, loggers and journals."""
    rank: str | None = None
    """As its launcher marks it."""
    count: int = 1
