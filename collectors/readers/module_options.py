"""Options that somebody gives to the NVIDIA kernel modules, and what people say came of switching HMM off.

    options nvidia_uvm uvm_disable_hmm=1
    $ echo 'options nvidia NVreg_DeviceFileMode=0660' | sudo tee /etc/modprobe.d/nvidia.conf
    modprobe nvidia_uvm uvm_disable_hmm=1

Follows modprobe.d(5) and modprobe(8). A line that is commented out gives nothing. That it helped is told where a
sentence near the option says so of the past; advice and questions give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section, Source
from kb.facts.module_load import ModuleOption
from kb.facts.trials import Trial

_OPTIONS = regex(
    r"(?:.{0,200}[\s'\"`:])?(?:options|(?:modprobe|insmod)(?: -\w{1,10})?) (?P<module>nvidia(?:[-_]\w{1,16})?)"
    r"(?P<given>(?: {1,4}\w{3,60}=[\w,;:\"/.-]{1,120}){1,20})"
)
_GIVEN = regex(r"(?P<name>\w{3,60})=(?P<value>[\w,;:\"/.-]{1,120})")
_HMM_OFF = regex(r"uvm_disable_hmm ?= ?(?:1|Y|y)\b")
_CURED = regex(
    r"(?i)\b(?:i (?:finally |just |now )?(?:fixed|solved|resolved)|(?:this|that|which|it|setting \S{3,40}) "
    r"(?:has )?(?:fixed|solved|resolved|cured|worked|helped)|(?:works|worked|working) (?:now|again|for me|fine)"
    r"|(?:the|my) (?:fix|solution|workaround) was|fixe[sd] (?:it|the|this|my)|solve[sd] (?:it|the|this|my)"
    r"|resolve[sd] (?:it|the|this|my)|makes? (?:cuinit|it|cuda|everything) (?:work|succeed)"
    r"|cuinit (?:works|succeeds))\b"
)
_DOUBTED = regex(
    r"(?i)n't\b|\b(?:not|never|no longer|neither|still|without success|no (?:effect|change|luck)|if|try|may|might"
    r"|should|could|would|whether)\b|\?"
)
_NEAR = 8
_MARKERS = ("options nvidia", "modprobe nvidia", "insmod nvidia", "uvm_disable_hmm")
_MOST = 60


def read(section: Section) -> Iterator[Reading]:
    """ModuleOption for each option; a Trial where HMM was switched off and somebody says that it helped."""
    seen: set[ModuleOption] = set()
    for option, source in (*_in_command(section), *_in_lines(section)):
        if option not in seen and len(seen) < _MOST:
            seen.add(option)
            yield Observed(option, source)
    if seen:
        yield section.looked(ModuleOption, complete=False, reason="not-collected")
    trial = _trial(section) if section.command is None else None
    if trial is not None:
        yield trial


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


def _trial(section: Section) -> Observed | None:
    """The first line that names the option, if what stands around it says that it helped."""
    for index, line in section.matching("uvm_disable_hmm"):
        if _HMM_OFF.search(line[:1000]) is None:
            continue
        first, last = max(index - _NEAR, 0), min(index + _NEAR, len(section.lines) - 1)
        for near in range(first, last + 1):
            text = section.lines[near][:1000]
            if _CURED.search(text) and not _DOUBTED.search(text):
                return section.observe(Trial(change="hmm-off", helped=True), min(near, index), max(near, index))
    return None


READER = Reader(
    "module-options", read, markers=_MARKERS, commands=("echo 'options nvidia", 'echo "options nvidia')
)
