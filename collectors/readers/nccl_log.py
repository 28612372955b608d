"""NCCL's log: versions, settings, interfaces, how far each rank's communicators came, transports, warnings.

    a17:311:311 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1
    a17:311:340 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
    [2026-01-31 12:00:00] a17:311:340 [0] misc/socket.cc:58 NCCL WARN Net : Connect to 10.0.0.5<4711> failed

Follows NCCL 2.3 to 2.32 (NVIDIA/nccl: src/debug.cc, init.cc, bootstrap.cc, transport/). The level word alone
says what a warning is: the same words under INFO are no fault. Lines torn or cut give what they still hold;
text without a line of NCCL's gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from collectors.readers._nccl_last_errors import MARKERS as LAST
from collectors.readers._nccl_last_errors import last_errors
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from collectors.readers.nccl_communicators import Communicators
from collectors.readers.nccl_lines import NcclLine, named_lines, nccl_lines
from collectors.readers.nccl_warning_classes import warning_class, warning_meaning
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.base import version_key
from kb.facts.nccl import NcclBootstrap, NcclInit, NcclSetting, NcclTransport, NcclVersion, NcclWarning

MOST_WARNINGS = 200
MOST_TEXT = 500

_VERSION = regex(r"NCCL version (\d{1,3}(?:\.\d{1,3}){1,3})(?:\+cuda(\d{1,3}(?:\.\d{1,3}){0,2}))?\S{0,20}\s*$")
_SETTING = regex(r"([A-Z][A-Z0-9_]{2,80}) set (?:by environment )?to (.{1,500}?)\s*$")
_WAS_SET = regex(r"(NCCL_[A-Z0-9_]{2,60}) was set to (\S{1,200}?)\.?(?=\s|$)")
"""How a warning names the settings that led to it: NCCL_ALGO and NCCL_PROTO, from 2.22."""
_INTERFACE = regex(r"(?:Bootstrap ?: Using|NET : Using interface) ?(?:\[0\])?([^\s:]{1,40}):(\S{1,80}?)<\d{1,5}>")
_VIA = regex(
    r"(?:\d\[[0-9a-f]{1,12}\] -> \d{1,6}\[[0-9a-f]{1,12}\](?: \[\w{4,8}\])?|\[(?:send|receive)\]) via "
    r"(P2P/(?:direct pointer|IPC|CUMEM|MNNVL|indirect/\d{1,6}\[\w{1,12}\])(?:/(?:read|CE))*"
    r"|SHM(?:/(?:direct|CE)){1,2}|(?:NET|COLLNET)/[^/]{1,40}/[\w/()]{1,60}|direct shared memory)"
)
_NUMBERS = regex(r"(?P<code>status=|error |failure )?(?:0x[0-9a-fA-F]+|\d+)")
_TELLING = (
    *(" nranks ", " nRanks ", "Bootstrap timings total", " set by environment to ", "NCCL version "),
    "NCCL INFO NCCL_",
    *("Bootstrap: Using", "Bootstrap : Using", "NET : Using interface", "Connected NVLS tree"),
    *(" via P2P/", " via SHM", " via NET/", " via COLLNET/", " via direct shared memory", "NCCL WARN "),
)
"""What is said of set-up and trouble, not the traces of every collective."""
_ENDS_IN_STARTED_RING = version_key("2.22.99")

Via: TypeAlias = Literal["P2P", "SHM", "NET", "NVLS", "CollNet"]
_VIA_NAMES: dict[str, Via] = {"P2P": "P2P", "SHM": "SHM", "NET": "NET", "COLLNET": "CollNet", "direct": "SHM"}


@dataclass(slots=True)
class _Tally:
    """What several lines say alike: where it was said first, how often, and by which processes."""

    index: int
    first: str = ""
    count: int = 0
    processes: set[str] = field(default_factory=set)
    writers: set[tuple[str, int | None]] = field(default_factory=set)

    def add(self, line: NcclLine) -> None:
        self.count += 1
        self.processes.add(line.process)
        self.writers.add((line.thread, line.rank))


class _Log:
    """All that one section's NCCL lines say."""

    def __init__(self) -> None:
        self.versions: dict[tuple[str, str | None], _Tally] = {}
        self.settings: dict[tuple[str, str], _Tally] = {}
        self.bootstraps: dict[tuple[str, str], _Tally] = {}
        self.transports: dict[tuple[Via, str], _Tally] = {}
        self.warnings: dict[str, _Tally] = {}
        self.files: dict[str, str | None] = {}
        self.communicators = Communicators()
        self.from_the_start = False
        self._bound: set[str] = set()

    def take(self, line: NcclLine) -> None:
        """Adds one record."""
        if line.level == "WARN":
            self._warning(line)
            return
        for found in (self._version, self._setting, self._bootstrap, self._transport):
            if found(line):
                return
        if self.communicators.take(line):
            self.from_the_start = True

    def _warning(self, line: NcclLine) -> None:
        form = _form(line.text)
        if not form or (form not in self.warnings and len(self.warnings) >= MOST_WARNINGS):
            return
        for name, value in _WAS_SET.findall(line.text[:MOST_TEXT]):
            self.settings.setdefault((name, value), _Tally(line.index)).add(line)
        self.files.setdefault(form, line.place)
        self.warnings.setdefault(form, _Tally(line.index, line.text)).add(line)

    def repeated(self, lines: Iterable[NcclLine]) -> None:
        """Adds warnings that only the calling program repeats, where NCCL's own lines are not in the text."""
        told = set(self.warnings)
        for line in lines:
            form = _form(line.text)
            if form not in told and not any(known.startswith(form) for known in told):
                self._warning(line)

    def _version(self, line: NcclLine) -> bool:
        match = _VERSION.match(line.text)
        if match:
            self.versions.setdefault((match[1], match[2]), _Tally(line.index)).add(line)
        return match is not None

    def _setting(self, line: NcclLine) -> bool:
        match = _SETTING.match(line.text) if " set " in line.text else None
        if match:
            value = match[2]
            if re.fullmatch(r"-?\d{1,20}\.", value):
                value = value[:-1]
            self.settings.setdefault((match[1], value), _Tally(line.index)).add(line)
        return match is not None

    def _bootstrap(self, line: NcclLine) -> bool:
        match = _INTERFACE.match(line.text)
        if match is None:
            return False
        self.from_the_start = True
        if line.process not in self._bound:  # 2.3 lists all interfaces; the first carries the ring
            self._bound.add(line.process)
            self.bootstraps.setdefault((match[1], match[2].strip("[]")), _Tally(line.index)).add(line)
        return True

    def _transport(self, line: NcclLine) -> bool:
        if "Connected NVLS tree" in line.text:
            via: Via = "NVLS"
            detail = "NVLS"
        else:
            match = _VIA.search(line.text[:400]) if " via " in line.text else None
            if match is None:
                return False
            detail = match[1]
            via = _VIA_NAMES[detail.split("/")[0].split(" ")[0]]
        key = via, _without_numbers(detail)
        if key not in self.transports:
            self.transports[key] = _Tally(line.index, detail)
        self.transports[key].add(line)
        return True

    def bare_version(self, index: int, line: str) -> None:
        """Adds a version line that NCCL prints without its usual head (rank 0, up to 2.21 always)."""
        launched = without_launcher(line)
        match = _VERSION.match(launched.text)
        if match and match[2]:
            tally = self.versions.setdefault((match[1], match[2]), _Tally(index))
            tally.processes.add(launched.process or f"line {index}")

    @property
    def met_at_start(self) -> bool:
        """Whether this NCCL prints START only after all ranks have met, as all releases up to 2.22 do."""
        keys = [version_key(version) or 0 for version, _ in self.versions]
        return bool(keys) and max(keys) <= (_ENDS_IN_STARTED_RING or 0)


@lru_cache(1000)
def _without_numbers(detail: str) -> str:
    return re.sub(r"[/\d()\[\]]*\d[\d()\[\]]*", "", detail)


def _form(text: str) -> str:
    """The same words are the same warning whatever address they name; an error code tells them apart."""
    return _NUMBERS.sub(lambda match: match[0] if match["code"] else "#", text[:MOST_TEXT])


def read(section: Section) -> Iterator[Reading]:
    """The facts of all NCCL lines, aggregated over processes; one NcclInit a rank and communicator."""
    log = _Log()
    for index, line in section.matching("NCCL version "):
        if "NCCL INFO" not in line and len(line) < MOST_TEXT:
            log.bare_version(index, line)
    empty = not log.versions
    for record in named_lines(section, *_TELLING):
        empty = False
        log.take(record)
    empty = empty and next(nccl_lines(section), None) is None
    log.repeated(last_errors(section))
    if empty:
        yield from _settings(section, log)
        yield from _warnings(section, log)
        return
    for part in (_versions, _settings, _bootstraps, _inits, _transports, _warnings):
        yield from part(section, log)
    for fact_type in (NcclVersion, NcclSetting, NcclBootstrap, NcclInit, NcclWarning):
        yield section.looked(fact_type, complete=log.from_the_start)
    yield section.looked(NcclTransport, complete=log.from_the_start and bool(log.transports))


def _versions(section: Section, log: _Log) -> Iterator[Observed]:
    for (version, cuda), tally in sorted(log.versions.items(), key=lambda one: one[1].index):
        fact = NcclVersion(version=version, cuda=cuda, processes=max(len(tally.processes), 1))
        yield section.observe(fact, tally.index)


def _settings(section: Section, log: _Log) -> Iterator[Observed]:
    for (name, value), tally in log.settings.items():
        fact = NcclSetting(name=name, value=value, processes=len(tally.processes))
        yield section.observe(fact, tally.index)


def _bootstraps(section: Section, log: _Log) -> Iterator[Observed]:
    for (interface, address), tally in log.bootstraps.items():
        fact = NcclBootstrap(interface=interface, address=address, processes=len(tally.processes))
        yield section.observe(fact, tally.index)


def _inits(section: Section, log: _Log) -> Iterator[Observed]:
    for fact, index, end in log.communicators.facts(met_at_start=log.met_at_start):
        yield section.observe(fact, index, end)


def _transports(section: Section, log: _Log) -> Iterator[Observed]:
    for (via, _), tally in log.transports.items():
        yield section.observe(NcclTransport(via=via, detail=tally.first, channels=tally.count), tally.index)


def _warnings(section: Section, log: _Log) -> Iterator[Observed]:
    rank_of: Callable[[str], int | None] = log.communicators.rank_of
    for form, tally in log.warnings.items():
        place = log.files[form]
        ranks = {rank if rank is not None else rank_of(thread) for thread, rank in tally.writers}
        fact = NcclWarning(
            text=tally.first[:MOST_TEXT],
            rank=ranks.pop() if len(ranks) == 1 else None,
            class_=warning_class(tally.first, place),
            means=warning_meaning(tally.first, place),
            count=tally.count,
            file=place.rsplit(":", 1)[0].rsplit("/src/", 1)[-1] if place else None,
        )
        yield section.observe(fact, tally.index)


READER = Reader(
    "nccl-log",
    read,
    markers=("NCCL INFO ", "NCCL WARN ", "NCCL version ", *LAST),
    lines=(*_TELLING, *LAST),
)
