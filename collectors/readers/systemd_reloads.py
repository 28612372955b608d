"""That systemd read its units anew, which rewrites what it knows of the cgroups of containers.

    Jul 20 08:14:02 gpu-w4 systemd[1]: Reloading.
    systemd[1]: Reloading requested from client PID 4711 ('systemctl')...
    $ systemctl daemon-reload

Follows systemd 219-257, and the command itself in a transcript or in the log of what ran it. A sentence in a
report, a script or a unit file gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._log_stamps import stamp_of_line
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section, Source
from kb.facts.machine import SystemdReload

_SAID = regex(
    r"systemd(?:\[\d{1,8}\])?: Reload(?:ing\.?\s*$|ing requested from client|ing finished in|ing\.\.\.)"
    r"|^(?=.{0,60}\d\d:\d\d).{0,200}\]: (?:\S{1,60}/)?systemctl daemon-re(?:load|exec)\b"
)
_COMMAND = regex(r"systemctl (?:--\w{1,10} )?daemon-re(?:load|exec)\b")


def read(section: Section) -> Iterator[Reading]:
    """One SystemdReload for all of the section, at the last of them."""
    lines = ((index, line[:1000]) for index, line in section.matching("systemd", "systemctl"))
    found = [(index, line) for index, line in lines if _SAID.search(line)]
    if found:
        index, line = found[-1]
        yield section.observe(SystemdReload(count=len(found), time=stamp_of_line(line).at), index)
    elif _COMMAND.match(command_of(section)):
        number = section.first_line - 1
        source = Source(section.path, number, number, f"$ {section.command}", section.sha256)
        yield Observed(SystemdReload(), source)
    else:
        return
    yield section.looked(SystemdReload, complete=False, reason="not-collected")


READER = Reader(
    "systemd-reloads",
    read,
    markers=(": Reloading", "systemctl daemon-re"),
    commands=("systemctl daemon-re",),
)
