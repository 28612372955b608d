"""The number of this start of the kernel, which a machine and its containers have in common.

    7d1c9a52-3f0e-4b7c-9a51-0c5d0f6e2b11

Follows /proc/sys/kernel/random/boot_id of random(4). A UUID that nothing says to be that one gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.machine import BootId

_FILE = "/proc/sys/kernel/random/boot_id"
_UUID = regex(r"(?:/proc/sys/kernel/random/boot_id:)?(?P<value>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$")


def read(section: Section) -> Iterator[Reading]:
    """BootId, once."""
    asked = command_of(section) == f"cat {_FILE}"
    for index, line in enumerate(section.lines) if asked else section.matching(_FILE):
        match = _UUID.match(line[:200].strip())
        if match:
            yield section.observe(BootId(value=match["value"]), index)
            yield section.looked(BootId)
            return


READER = Reader("boot-id", read, markers=(_FILE + ":",), commands=(f"cat {_FILE}",))
