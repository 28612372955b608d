"""Python tracebacks in the order in which a log holds them, each put together from the lines of one process.

Lines of many processes may be mixed; the launcher's prefix tells them apart. Without a prefix the lines of
all processes are one stream, in which an exception line is still known by its form. Of a chain of exceptions
the last counts, or an earlier one that says more. No reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._regex import regex
from collectors.readers.error_classes import Judged, judged

MOST_LINES = 600
"""A traceback that does not end within so many lines of its stream is given up."""

_OPENS = "Traceback (most recent call last)"
_NAME = r"(?P<name>(?:[A-Za-z_]\w{0,80}\.){0,12}[A-Za-z_]\w{0,80})(?:\(\w{1,80}\))?"
_EXCEPTION = regex(_NAME + r"(?:: ?(?P<text>.*))?$")
_EXCEPTION_ALONE = regex(r"(?:E {1,8})?" + _NAME + r": (?P<text>\S.*)")
_SURE_ENDS = ("Error", "Exception", "Interrupt", "Timeout", "Exit", "Failure", "Abort", "NotFound", "Empty")
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_LEVELS = frozenset(("INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL", "NOTE", "FATAL", "HINT"))
_LAST_ERROR_WITHIN = 6


@dataclass(slots=True)
class Raised:
    """An exception that ended a traceback or stood alone."""

    error: str
    text: str
    index: int
    end: int
    rank: str | None
    time: str | None
    judged: Judged


class Stream:
    """The lines of one process, or of all processes that are not told apart."""

    def __init__(self) -> None:
        self._opened: int | None = None
        self._rank: str | None = None
        self._time: str | None = None
        self._lines = 0
        self._after_frame = False
        self._chained = False
        self._raised: Raised | None = None
        self._details = 0

    @property
    def waiting(self) -> bool:
        """Whether the next lines of this stream matter whatever they hold."""
        return self._opened is not None or self._details != 0

    def take(self, text: str, index: int, rank: str | None, time: str | None) -> Iterator[Raised]:
        """Adds a line without launcher's prefix and logger's stamp; gives the exceptions it completes."""
        if _OPENS in text:
            yield from self._done(keep=self._chained)
            self._opened, self._rank, self._time = (
                index,
                rank or (self._rank if self._chained else None),
                time,
            )
            self._lines, self._after_frame = 0, False
        elif text.startswith(_CHAIN):
            self._chained, self._details = True, 0
        elif self._opened is not None:
            yield from self._inside(text, index)
        else:
            yield from self._outside(text, index, rank, time)

    def _inside(self, text: str, index: int) -> Iterator[Raised]:
        self._lines += 1
        if text[:1] in {" ", "\t"} or not text.strip():
            self._after_frame = True
            return
        match = _EXCEPTION.match(text[:4000])
        if match and _is_exception(match["name"], after_frame=self._after_frame):
            yield from self._raise(match, index, self._rank, self._time)
            self._opened = None
        elif self._lines > MOST_LINES:
            self._opened = None
        self._after_frame = False

    def _outside(self, text: str, index: int, rank: str | None, time: str | None) -> Iterator[Raised]:
        if self._details > 0 and self._raised is not None:
            self._details -= 1
            if text.startswith("Last error:"):
                self._details = -1
                return
        if self._details == -1 and self._raised is not None:
            self._details = 0
            if text.strip():
                self._raised.text = f"{self._raised.text} Last error: {text.strip()[:300]}"
                self._raised.end = index
                self._raised.judged = judged(self._raised.error, self._raised.text)
            return
        match = _EXCEPTION_ALONE.match(text[:4000])
        if match and _is_exception(match["name"], after_frame=False):
            yield from self._raise(match, index, rank, time)

    def _raise(self, match: re.Match[str], index: int, rank: str | None, time: str | None) -> Iterator[Raised]:
        error = match["name"].rsplit(".", 1)[-1]
        text = (match["text"] or "").strip()
        raised = Raised(error, text, index, index, rank, time, judged(error, text))
        before = self._raised
        if self._chained and before is not None and _says_more(before, raised):
            raised = before
        elif not self._chained:
            yield from self._done(keep=False)
        self._chained, self._raised = False, raised
        self._details = _LAST_ERROR_WITHIN

    def _done(self, *, keep: bool) -> Iterator[Raised]:
        if self._raised is not None and not keep:
            yield self._raised
            self._raised = None

    def end(self) -> Iterator[Raised]:
        """The exception that was still waiting for more lines."""
        yield from self._done(keep=False)


def _is_exception(name: str, *, after_frame: bool) -> bool:
    last = name.rsplit(".", 1)[-1]
    if last in _LEVELS or last.endswith("Warning"):
        return False
    if last.endswith(_SURE_ENDS) and (last not in _SURE_ENDS or last == "Exception"):
        return last[0].isupper()
    return after_frame and (last[0].isupper() or "." in name)


def _says_more(before: Raised, after: Raised) -> bool:
    """Whether the first of two chained exceptions is classified and the second is not."""
    return after.judged.class_ == "other" and before.judged.class_ not in {"other", "config"}
