"""Options that somebody gives to the NVIDIA kernel modules.

    options nvidia_uvm uvm_disable_hmm=1
    $ echo 'options nvidia NVreg_DeviceFileMode=0660' | sudo tee /etc/modprobe.d/nvidia.conf
    modprobe nvidia_uvm uvm_disable_hmm=1

Follows modprobe.d(5) and modprobe(8). A line that is commented out gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section, Source
from kb.facts.module_load import ModuleOption

_OPTIONS = regex(
    r"(?:.{0,200}[\s'\"`:])?(?:options|(?:modprobe|insmod)(?: -\w{1,10})?) (?P<module>nvidia(?:[-_]\w{1,16})?)"
    r"(?P<given>(?: {1,4}\w{3,60}=[\w,;:\"/.-]{1,120}){1,20})"
)
_GIVEN = regex(r"(?P<name>\w{3,60})=(?P<value>[\w,;:\"/.-]{1,120})")
_MARKERS = ("options nvidia", "modprobe nvidia", "insmod nvidia", "uvm_disable_hmm")
_MOST = 60


def read(section: Section) -> Iterator[Reading]:
    """ModuleOption for each option."""
    seen: set[ModuleOption] = set()
    for option, source in (*_in_command(section), *_in_lines(section)):
        if option not in seen and len(seen) < _MOST:
            seen.add(option)
            yield Observed(option, source)
    if seen:
        yield section.looked(ModuleOption, complete=False, reason="not-collected")


def _in_command(section: Section) -> Iterator[tuple[ModuleOption, Source]]:
    if section.command is None:
        return
    line = max(section.first_line - 1, 1)
    source = Source(section.path, line, line, section.command[:400], section.sha256)
    for option in _given(section.command[:1000]):
        yield option, source


def _in_lines(section: Section) -> Iterator[tuple[ModuleOption, Source]]:
    for index, line in section.matching(*_MARKERS):
        if not line.lstrip().startswith("#"):
            for option in _given(line[:1000]):
                yield option, section.source(index)


def _given(text: str) -> Iterator[ModuleOption]:
    match = _OPTIONS.match(text)
    for one in _GIVEN.finditer(match["given"]) if match is not None else ():
        module = match["module"].replace("-", "_") if match is not None else ""
        yield ModuleOption(module=module, name=one["name"], value=one["value"].strip('"')[:120])


READER = Reader(
    "module-options", read, markers=_MARKERS, commands=("echo 'options nvidia", 'echo "options nvidia')
)
