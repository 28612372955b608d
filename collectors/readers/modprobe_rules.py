"""Rules that keep the modules of GPUs from being loaded: files of modprobe.d, and `modprobe --showconfig`.

    blacklist nouveau
    /etc/modprobe.d/blacklist-nvidia.conf:blacklist nvidia
    install nvidia /bin/false

Follows modprobe.d(5) of kmod 20-34 and `grep` over its folders. Lines that are commented out give nothing, nor
do sentences, nor `install` rules that go on to load the module.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.module_load import ModuleRule

_MODULE = r"(?P<module>nvidia(?:[_-]\w{1,20})?|nouveau|nova(?:[_-]\w{1,10})?|vfio[_-]pci)"
_FILE = r"(?:(?P<file>/(?:etc|usr/lib|lib|run)/modprobe\.d/[\w.+-]{1,100}):(?:\d{1,5}:)?)?"
_RULES = (
    regex(rf"{_FILE}\s{{0,8}}(?P<rule>blacklist)\s{{1,8}}{_MODULE}\s*$"),
    regex(rf"{_FILE}\s{{0,8}}(?P<rule>install)\s{{1,8}}{_MODULE}\s{{1,8}}(?:/usr)?/bin/(?:false|true)\s*$"),
    regex(rf"{_FILE}\s{{0,8}}(?P<rule>alias)\s{{1,8}}{_MODULE}\s{{1,8}}(?:off|null)\s*$"),
)
_HEADING = regex(r"(?:#|==>|:{3,})?\s{0,4}(?P<file>/(?:etc|usr/lib|lib|run)/modprobe\.d/[\w.+-]{1,100})\b")
_MARKERS = ("blacklist ", "install n", "alias n")


def read(section: Section) -> Iterator[Reading]:
    """ModuleRule for each module and rule, at its first line."""
    seen: set[tuple[str, str]] = set()
    named = _HEADING.search(command_of(section))
    file = named["file"] if named else None
    for index, line in section.matching("modprobe.d/", *_MARKERS):
        match = next((found for form in _RULES if (found := form.match(line[:300]))), None)
        heading = _HEADING.match(line[:300])
        if match is None:
            file = heading["file"] if heading else file
            continue
        module = match["module"].replace("-", "_")
        rule = cast("Literal['blacklist', 'install', 'alias']", match["rule"])
        if (module, rule) not in seen:
            seen.add((module, rule))
            yield section.observe(ModuleRule(module=module, rule=rule, file=match["file"] or file), index)
    if seen:
        yield section.looked(ModuleRule, complete=False, reason="not-collected")


READER = Reader(
    "modprobe-rules",
    read,
    markers=(
        "blacklist n",
        "blacklist vfio",
        "install nvidia ",
        "install nouveau ",
        "alias nvidia ",
        "alias nouveau ",
    ),
    commands=("cat /etc/modprobe.d", "grep -r", "modprobe --showconfig", "modprobe -c"),
)
