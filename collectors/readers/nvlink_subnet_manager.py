"""How far NVIDIA's NVLink subnet manager (nvlsm, an OpenSM for the switches of NVLink 5) came.

    Mar 04 10:00:07 612345 [3F2A6740] 0x80 -> Entering MASTER state
    Mar 04 10:00:09 112233 [3F2A6740] 0x02 -> SUBNET UP
    Mar 04 10:01:02 000100 [3D1FF640] 0x01 -> sm_port_is_down_handler: ERR 5416: SM port is down
    10.5.0.7: nvlsm: Exiting SM

Follows nvlsm 2024.6 to 2025.10, whose log is that of OpenSM 3.3 and 5, also under the wrapper of Talos. The log of
another OpenSM, which manages InfiniBand, looks the same: so the path, the command or a line must name nvlsm or
fabric manager. Other lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.fabric import SubnetManagerRun

_State: TypeAlias = Literal["running", "port-down", "failed", "stopped"]

_OF_NVLSM = regex(r"nvlsm|nvidia-fabricmanager|NVLink Subnet Manager", re.IGNORECASE)
_EVENT = regex(
    r"(?:\[\w{4,16}\] 0x[0-9A-Fa-f]{1,2} -> "
    r"|(?:^(?:\d{1,3}(?:\.\d{1,3}){3}: )?|\d:\d\d\S{0,20} \S{1,64} )(?:nvlsm|[Oo]pen[Ss][Mm])(?:\[\d{1,10}\])?: )"
    r"(?:osm_[\w ]{1,80}: |sm_[\w ]{1,80}: )?"
    r"(?:ERR (?P<code>[0-9A-Fa-f]{4}): )?"
    r"(?P<what>SUBNET UP|Entering (?:MASTER|STANDBY) state|SM port is (?:down|up)|Exiting SM|\S.{0,200})"
)
_STATES: tuple[tuple[str, _State], ...] = (
    ("SUBNET UP", "running"),
    ("Entering ", "running"),
    ("SM port is up", "running"),
    ("SM port is down", "port-down"),
    ("Exiting SM", "stopped"),
)
_FATAL = (
    "Perhaps another instance",
    "Error from osm_opensm_bind",
    "Unable to bind",
    "No local ports detected",
    "can't read ABI version from",
)
_MARKERS = (
    "SUBNET UP",
    "Entering MASTER state",
    "Entering STANDBY state",
    "SM port is ",
    "-> osm_",
    "OpenSM",
    "Exiting SM",
)
_LOOKED_AT_FIRST = 50
_MOST_TEXT = 300


def read(section: Section) -> Iterator[Reading]:
    """One SubnetManagerRun, of the last line that tells its state."""
    if not _is_nvlsm(section):
        return
    state: _State | None = None
    errors, text, last = 0, None, 0
    for index, whole in section.matching(*_MARKERS, "ERR ", *_FATAL):
        line = whole[:MOST_COLUMNS]
        event = _EVENT.search(line)
        if event is None:
            continue
        if event["code"]:
            errors, text = errors + 1, line[event.start("code") - len("ERR ") :].strip()[:_MOST_TEXT]
        found = _state(event["what"])
        if found == "failed" and not event["code"]:
            text = event["what"].strip()[:_MOST_TEXT]
        if found is not None and (found, state) != ("stopped", "failed"):  # it exits because it failed
            state, last = found, index
    if state is None and errors:
        state = "failed"
    if state is not None:
        yield section.observe(SubnetManagerRun(state=state, errors=errors, text=text), last)
        yield section.looked(SubnetManagerRun, complete=True)


def _is_nvlsm(section: Section) -> bool:
    named = f"{section.path} {section.command or ''}"
    if _OF_NVLSM.search(named[:MOST_COLUMNS]):
        return True
    return any(_OF_NVLSM.search(line[:MOST_COLUMNS]) for line in section.lines[:_LOOKED_AT_FIRST])


def _state(what: str) -> _State | None:
    if any(words in what for words in _FATAL):
        return "failed"
    return next((state for words, state in _STATES if what.startswith(words)), None)


READER = Reader("nvlink-subnet-manager", read, markers=_MARKERS, commands=("cat /var/log/nvlsm.log",))
