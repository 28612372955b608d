"""Whether the unit of nvidia-persistenced keeps the GPUs up, or starts a daemon that does nothing.

    # /usr/lib/systemd/system/nvidia-persistenced.service
    ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose

Follows the unit files and drop-ins of Debian, Ubuntu, RHEL, SUSE and NVIDIA's own packages, as `systemctl cat` or
cat print them. Of several lines the last one counts. Lines of its log, and other units, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import PersistenceUnit

_START = regex(r"ExecStart=[-@:+!]{0,3}\S{0,200}/nvidia-persistenced(?P<options>(?:\s.{0,400})?)$")
_HEADING = regex(r"# (?P<path>/\S{1,200}\.(?:service|conf))\s*$")


def read(section: Section) -> Iterator[Reading]:
    """One PersistenceUnit of the last line that starts the daemon."""
    found: tuple[PersistenceUnit, int] | None = None
    path = command_of(section) or section.path
    for index, line in enumerate(section.lines):
        heading, start = _HEADING.match(line[:300]), _START.match(line[:600])
        if heading:
            path = heading["path"]
        elif start:
            is_off = "--no-persistence-mode" in start["options"].split()
            found = PersistenceUnit(mode="off" if is_off else "on", drop_in=".service.d/" in path), index
    if found is not None:
        yield section.observe(*found)
        whole = command_of(section).startswith("systemctl cat")
        yield section.looked(PersistenceUnit, complete=whole, reason="not-collected")


READER = Reader(
    "persistence-unit",
    read,
    markers=("/nvidia-persistenced",),
    commands=("systemctl cat nvidia-persistenced",),
)
