"""Services whose main process a signal ended, as systemd logs it.

    Apr 15 21:17:08 node-2 systemd[1]: train.service: Main process exited, code=killed, status=9/KILL
    Mar 02 10:11:12 node-3 systemd[1]: run-r12ab.scope: Main process exited, code=dumped, status=11/SEGV

Follows systemd 219 to 257. Ends that somebody asked for (TERM, INT, HUP) give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.services import UnitKilled

_LINE = regex(
    r"(?:(?P<time>[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,6})?|\d{4}-\d\d-\d\dT\S{8,26}) "
    r"(?P<host>[\w.-]{1,100}) )?"
    r"systemd\[\d{1,8}\]: (?P<name>[\w@.:\\-]{1,100})\.(?:service|scope): "
    r"Main process exited, code=(?:killed|dumped), status=\d{1,2}/(?P<signal>KILL|SEGV|BUS|ABRT|ILL|FPE)\s*$"
)
_MOST = 200


def read(section: Section) -> Iterator[Reading]:
    """UnitKilled for each service and time."""
    told: set[UnitKilled] = set()
    for index, line in section.matching(": Main process exited, code="):
        match = _LINE.match(line[:600])
        if match is None:
            continue
        fact = UnitKilled.model_validate(match.groupdict())
        if fact not in told and len(told) < _MOST:
            told.add(fact)
            yield section.observe(fact, index)


READER = Reader("unit-signals", read, markers=(": Main process exited, code=",))
