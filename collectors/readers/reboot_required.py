"""The note by which Debian and Ubuntu ask for a reboot, and the packages that left it.

    *** System restart required ***
    linux-image-6.8.0-64-generic
    nvidia-kernel-common-570

Follows /run/reboot-required and reboot-required.pkgs of update-notifier and unattended-upgrades. That there is no
such file proves nothing: other systems never write it. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._package_names import DRIVER_ROLES, meaning_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.packages import RebootRequired

_NOTE = "*** System restart required ***"
_LIST = "reboot-required.pkgs"
_NAME = regex(r"[a-z0-9][a-z0-9+.-]{1,100}$")
_MOST = 1000


def read(section: Section) -> Iterator[Reading]:
    """One RebootRequired of a list of packages, or of the note alone."""
    found = _of_list(section) or next(
        ((RebootRequired(), at) for at, line in enumerate(section.lines) if line.strip() == _NOTE), None
    )
    if found is not None:
        yield section.observe(*found)
        yield section.looked(RebootRequired)


def _of_list(section: Section) -> tuple[RebootRequired, int] | None:
    """What a list of packages tells; None of what is none, and of an empty one."""
    command = command_of(section)
    if not section.path.endswith(_LIST) and not (command.startswith("cat /") and command.endswith(_LIST)):
        return None
    names = ((line.strip(), index) for index, line in enumerate(section.lines[:_MOST]))
    packages = {name: index for name, index in names if _NAME.match(name)}
    if not packages:
        return None
    ours = next((name for name in packages if _is_driver(name)), None)
    fact = RebootRequired(driver=ours, packages=len(packages))
    return fact, packages[ours] if ours else min(packages.values())


def _is_driver(name: str) -> bool:
    meaning = meaning_of(name, "")
    return meaning is not None and meaning.role in DRIVER_ROLES


READER = Reader(
    "reboot-required",
    read,
    markers=(_NOTE,),
    commands=(f"cat /run/{_LIST}", f"cat /var/run/{_LIST}"),
)
