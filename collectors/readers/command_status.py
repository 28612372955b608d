"""The status with which the command before ended, as a shell prints it when it is asked.

    $ echo rc=$?
    rc=0

Follows `echo $?` with and without words, in sh, bash and zsh. A status of a pipe is that of its last program; a
status that nobody asked for gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.processes import CommandStatus

_ASKED = regex(r"echo (?:-e ?)?[\"']?(?P<before>[\w .:=-]{0,30}?)\$\?[\"']?\s*(?:$|;)")
_NUMBER = regex(r"(?P<before>[\w .:=-]{0,30}?)(?P<status>\d{1,3})\s*$")


def read(section: Section) -> Iterator[Reading]:
    """CommandStatus where the command of the section asks for it and nothing else stands before the answer."""
    asked = _ASKED.match(section.command or "")
    first = next(((index, line) for index, line in enumerate(section.lines[:3]) if line.strip()), None)
    if asked is None or first is None:
        return
    told = _NUMBER.match(first[1][:80])
    if told is not None and told["before"].strip() == asked["before"].strip():
        yield section.observe(CommandStatus(status=int(told["status"])), first[0])
        yield section.looked(CommandStatus)


READER = Reader("command-status", read, markers=(), commands=("echo ",))
