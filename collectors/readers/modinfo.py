"""NVIDIA kernel modules on disk: what the next load would bring, from modinfo, dkms and listings.

    filename:       /lib/modules/6.8.0-60-generic/updates/dkms/nvidia.ko.zst
    license:        Dual MIT/GPL
    nvidia/595.80, 7.0.12-zen1-1-zen, x86_64: installed

Follows modinfo(8) of kmod and `dkms status` of dkms 2.2-3.2. What dkms has added or built but not installed is no
module file yet. Lines that do not fit give nothing; `modinfo: ERROR: Module nvidia not found.` says that there is
none for this kernel.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._lines import MOST_COLUMNS, VERSION, command_of, is_lead
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.driver import ModuleFile

_PATH = regex(
    r"(?:/usr)?/lib/modules/(?P<kernel>[^/\s]{1,100})/(?:\S{1,300}/)?(?P<name>nvidia(?:[_-][\w-]{1,30})?)\.ko(?:\.\w{2,4})?$"
)
_FIELD = regex(r"(?P<key>[a-z_]{4,20}):\s{1,20}(?P<value>\S.{0,400})?$")
_KEYS = frozenset({"filename", "version", "license", "vermagic", "name", "srcversion"})
_ABSENT = regex(r"modinfo: ERROR: (?:Module|could not get modinfo from) '?nvidia'?\b")
_ASKS = regex(r"modinfo\s(?:.{0,60}\s)?nvidia(?:-current|-open)?(?=\s|$)")
_ASKS_FIELD = regex(r"modinfo (?:-F ?|--field[= ])(?P<key>version|license|vermagic) nvidia\s*$")
_DKMS = regex(
    r"(?P<name>nvidia(?:-(?:open|srv|current|current-open|tesla|legacy)[\w-]{0,20})?)(?:/|, )(?P<version>"
    rf"{VERSION}), (?P<kernel>[\w.+~-]{{3,100}}), (?:x86_64|aarch64|ppc64le): (?P<state>installed)\b"
)
_PACKAGE = regex(r"nvidia[\w.+-]{0,60}$")
_BRANCHED = regex(r"nvidia_(?:\d{3}|current|legacy\w*|tesla\w*)$")
_MOST = 256


def read(section: Section) -> Iterator[Reading]:
    """ModuleFile from each block of modinfo, each installed line of dkms and each path; each once."""
    seen: set[ModuleFile] = set()
    for observed in (*_blocks(section), *_field(section), *_dkms(section), *_paths(section)):
        fact = observed.fact
        if isinstance(fact, ModuleFile) and fact not in seen and len(seen) < _MOST:
            seen.add(fact)
            yield observed
    absent = any(_ABSENT.match(line.strip()[:200]) for _, line in section.matching("modinfo: ERROR"))
    command = command_of(section)
    has_block = any(fact.path and fact.version and fact.name == "nvidia" for fact in seen)
    if absent or has_block or (seen and _ASKS.match(command)) or re.match(r"(?:find|ls -l) /lib/modules", command):
        yield section.looked(ModuleFile)
    elif seen:
        yield section.looked(ModuleFile, complete=False, reason="not-collected")


def _blocks(section: Section) -> Iterator[Observed]:
    """Each run of modinfo that begins with `filename:`, or that a known command asked of nvidia."""
    asked = _ASKS.match(command_of(section)) is not None
    values: dict[str, str] = {}
    first = 0
    for index, line in enumerate(section.lines):
        match = _FIELD.match(line[:MOST_COLUMNS]) if line[:1].islower() and ":" in line[:21] else None
        if match is None or match["key"] not in _KEYS:
            continue
        if match["key"] == "filename":
            yield from _block(section, first, values)
            values, first = {}, index
        if values or match["key"] == "filename" or asked:
            first = first if values else index
            values.setdefault(match["key"], (match["value"] or "").strip())
    yield from _block(section, first, values, asked=asked)


def _block(section: Section, index: int, values: dict[str, str], *, asked: bool = False) -> Iterator[Observed]:
    path = _PATH.match(values.get("filename", ""))
    if not values or (path is None and not (asked and "filename" not in values)):
        return
    fact = ModuleFile(
        name=_plain(path["name"]) if path else "nvidia",
        version=values.get("version") or None,
        flavour=_flavour(values.get("license", "")),
        path=values.get("filename") or None,
        kernel=values["vermagic"].split()[0] if values.get("vermagic") else (path["kernel"] if path else None),
        sum=values.get("srcversion") or None,
    )
    yield section.observe(fact, index)


def _flavour(licence: str) -> Literal["open", "proprietary"] | None:
    if licence == "NVIDIA":
        return "proprietary"
    return "open" if licence in {"Dual MIT/GPL", "GPL", "MIT"} else None


def _field(section: Section) -> Iterator[Observed]:
    """The one value that `modinfo -F KEY nvidia` prints."""
    match = _ASKS_FIELD.match(command_of(section))
    value = next(((index, line.strip()) for index, line in enumerate(section.lines) if line.strip()), None)
    if match is None or value is None or value[1].startswith("modinfo"):
        return
    index, text = value
    if match["key"] == "version" and re.fullmatch(VERSION, text):
        yield section.observe(ModuleFile(version=text), index)
    elif match["key"] == "license" and _flavour(text):
        yield section.observe(ModuleFile(flavour=_flavour(text)), index)
    elif match["key"] == "vermagic":
        yield section.observe(ModuleFile(kernel=text.split()[0][:100]), index)


def _dkms(section: Section) -> Iterator[Observed]:
    for index, line in section.matching(": installed"):
        match = _DKMS.search(line[:MOST_COLUMNS])
        lead = line[: match.start()] if match else ""
        if match and (is_lead(lead) or re.search(r"dkms\[\d{1,10}\]: $", lead[-30:])):
            yield section.observe(ModuleFile(version=match["version"], kernel=match["kernel"]), index)


def _paths(section: Section) -> Iterator[Observed]:
    """Modules in listings of `find` and `ls`, of `dpkg -L` and `rpm -ql`, and of `pacman -Ql`."""
    for index, line in section.matching("/lib/modules/"):
        words = line[:MOST_COLUMNS].split()
        is_long = len(words) > 7 and re.match(r"-[rwxsStT-]{9}", words[0]) is not None
        is_packaged = len(words) == 2 and _PACKAGE.match(words[0]) is not None
        path = _PATH.match(words[-1]) if len(words) == 1 or is_long or is_packaged else None
        if path:
            fact = ModuleFile(name=_plain(path["name"]), path=words[-1], kernel=path["kernel"])
            yield section.observe(fact, index)


def _plain(name: str) -> str:
    """The module's own name: with underscores, and without a branch that a distribution adds."""
    name = posixpath.basename(name).replace("-", "_")
    return "nvidia" if _BRANCHED.match(name) else name


READER = Reader(
    "modinfo",
    read,
    markers=("filename: ", "vermagic: ", ": installed", "nvidia.ko", "modinfo: ERROR"),
    commands=(
        "modinfo",
        "/sbin/modinfo",
        "/usr/sbin/modinfo",
        "dkms status",
        "find /lib/modules",
        "ls -l /lib/modules",
    ),
)
