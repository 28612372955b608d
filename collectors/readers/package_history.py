"""What a package manager did to the driver's packages and when: the classical reason of a version mismatch.

    2023-10-16 14:00:59 upgrade libnvidia-compute-535:amd64 535.104.05-0ubuntu1 535.113.01-0ubuntu1
    Upgrade: libnvidia-compute-535:amd64 (535.104.05-0ubuntu1, 535.113.01-0ubuntu1), nvidia-utils-535:amd64 (…
    [2026-06-10T19:12:04+0200] [ALPM] upgraded nvidia-utils (595.80-1 -> 595.84-1)

Follows apt on a terminal, dpkg.log, apt's history.log, dnf.rpm.log and dnf in syslog, pacman.log, zypp/history. Of
each action on a package the last is told. Lines cut in the middle give what is whole of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from collectors.readers._package_names import DRIVER_ROLES, meaning_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.packages import PackageEvent

Action = Literal["install", "upgrade", "remove"]

_DPKG = regex(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<action>install|upgrade|remove|purge) "
    r"(?P<name>[a-z0-9][a-z0-9+.-]{1,100})(?::\w{2,12})? (?P<old>\S{1,150}) (?P<new>\S{1,150})\s*$"
)
_APT_DATE = regex(r"Start-Date: (?P<time>\d{4}-\d\d-\d\d\s{1,4}\d\d:\d\d:\d\d)")
_APT = regex(r"(?P<action>Install|Upgrade|Downgrade|Remove|Purge): (?=[a-z0-9])")
_APT_ITEM = regex(r"([a-z0-9][a-z0-9+.-]{1,100})(?::\w{2,12})? \(([^(),]{1,150})(?:, ([^(),]{1,150}))?\)")
_DNF = regex(
    r"(?:(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,6}) (?:SUBDEBUG|INFO|DEBUG) "
    r"|(?P<syslog>\S{2,8} +\d{1,2} \d\d:\d\d:\d\d|\S{10,40}) \S{1,99} (?:dnf|yum|dnf-automatic)(?:\[\d{1,10}\])?: "
    r"|(?P<yum>[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d) )"
    r"(?P<action>Install|Installed|Upgrade|Upgraded|Update|Updated|Erase|Erased|Removed|Remove): "
    r"(?:\d{1,3}:)?(?P<name>[\w+.-]{1,100}?)-(?P<version>(?:\d{1,3}:)?\d[\w.+~^]{0,60}-[\w.+~^]{1,60})\s*$"
)
_UNPACKED = regex(
    r"(?:(?P<time>\S{2,8} +\d{1,2} \d\d:\d\d:\d\d|\d{4}-\S{10,30}) \S{1,99} [\w.-]{2,30}(?:\[\d{1,10}\])?: )?"
    r"(?:Preparing to unpack|Unpacking) (?P<name>[a-z0-9][a-z0-9+.-]{1,100})(?::\w{2,12})? "
    r"\((?P<new>[^()\s]{1,100})\) over \((?P<old>[^()\s]{1,100})\)"
)
_ARCHITECTURE = regex(r"\.(?:x86_64|aarch64|noarch|i[3-6]86|ppc64le)$")
_PACMAN = regex(
    r"\[(?P<time>[\d: T+-]{16,30})\] \[ALPM\] (?P<action>installed|upgraded|downgraded|reinstalled|removed) "
    r"(?P<name>[\w@+.-]{1,80}) \((?P<old>[^()\s]{1,60})(?: -> (?P<new>[^()\s]{1,60}))?\)"
)
_ZYPP = regex(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\|(?P<action>install|remove)\s{0,2}\|(?P<name>[^|]{1,100})"
    r"\|(?P<version>[^|]{1,100})\|"
)
_ACTIONS: dict[str, Action] = {
    "install": "install",
    "installed": "install",
    "reinstalled": "install",
    "upgrade": "upgrade",
    "upgraded": "upgrade",
    "update": "upgrade",
    "updated": "upgrade",
    "downgrade": "upgrade",
    "downgraded": "upgrade",
    "remove": "remove",
    "removed": "remove",
    "erase": "remove",
    "erased": "remove",
    "purge": "remove",
}
_MOST_APT_COLUMNS = 100_000
"""apt writes one line for all packages of a run."""


def read(section: Section) -> Iterator[Reading]:
    """PackageEvent for the last of each action on each package of the driver."""
    last: dict[tuple[Action, str], tuple[PackageEvent, int]] = {}
    for index, event in _events(section):
        last.pop((event.action, event.name), None)
        last[event.action, event.name] = (event, index)
    for event, index in last.values():
        yield section.observe(event, index)
    if last:
        yield section.looked(PackageEvent, complete=False)


def _events(section: Section) -> Iterator[tuple[int, PackageEvent]]:
    apt_time: str | None = None
    for index, whole in section.matching("Start-Date: ", "nvidia", "cuda", "fabric"):
        line = whole[:_MOST_APT_COLUMNS]
        date = _APT_DATE.match(line)
        if date:
            apt_time = date["time"]
            continue
        apt = _APT.match(line)
        if apt:
            for event in _of_apt(line[apt.end() :], apt["action"], apt_time):
                yield index, event
            continue
        line = line[:500]
        found = _of_dpkg(line) or _of_dnf(line) or _of_pacman(line) or _of_zypp(line) or _unpacked(line)
        if found:
            yield index, found


def _unpacked(line: str) -> PackageEvent | None:
    """What apt prints while it replaces a package, on a terminal or in the journal."""
    match = _UNPACKED.match(line) if " over (" in line else None
    return _event("upgrade", match["name"], match["old"], match["new"], match["time"]) if match else None


def _event(
    action: str, name: str, old: str | None, new: str | None, time: str | None, *, arch_linux: bool = False
) -> PackageEvent | None:
    """The event, if it is about the driver."""
    version = new or old
    meaning = meaning_of(name, version, arch_linux=arch_linux) if version else None
    if meaning is None or meaning.role not in DRIVER_ROLES:
        return None
    return PackageEvent(
        action=_ACTIONS[action.lower()],
        name=name,
        role=meaning.role,
        from_version=old,
        to_version=new,
        to_upstream=_upstream(name, new, arch_linux=arch_linux),
        time=time,
    )


def _upstream(name: str, version: str | None, *, arch_linux: bool) -> str | None:
    meaning = meaning_of(name, version, arch_linux=arch_linux) if version else None
    return meaning.upstream if meaning else None


def _of_apt(text: str, action: str, time: str | None) -> Iterator[PackageEvent]:
    for name, first, second in _APT_ITEM.findall(text):
        is_change = action in {"Upgrade", "Downgrade"}
        old = first if is_change or action in {"Remove", "Purge"} else None
        new = second or None if is_change else (first if old is None else None)
        event = _event(action, name, old, new, time)
        if event:
            yield event


def _of_dpkg(line: str) -> PackageEvent | None:
    match = _DPKG.match(line)
    if match is None:
        return None
    old, new = (None if text == "<none>" else text for text in match.group("old", "new"))
    return _event(match["action"], match["name"], old, new, match["time"])


def _of_dnf(line: str) -> PackageEvent | None:
    """In dnf.rpm.log, `Upgraded` names what went and `Upgrade` what came; elsewhere both name what came."""
    match = _DNF.match(line)
    if match is None:
        return None
    action, name = match["action"], match["name"]
    version = _ARCHITECTURE.sub("", match["version"])
    time = match["time"] or match["syslog"] or match["yum"]
    if match["time"] and action in {"Upgraded", "Updated"}:
        return None
    if _ACTIONS[action.lower()] == "remove":
        return _event(action, name, version, None, time)
    return _event(action, name, None, version, time)


def _of_pacman(line: str) -> PackageEvent | None:
    match = _PACMAN.match(line)
    if match is None:
        return None
    action = _ACTIONS[match["action"]]
    old, new = match["old"], match["new"]
    if action == "install":
        old, new = None, old
    return _event(match["action"], match["name"], old, new, match["time"], arch_linux=True)


def _of_zypp(line: str) -> PackageEvent | None:
    match = _ZYPP.match(line)
    if match is None:
        return None
    if match["action"] == "remove":
        return _event("remove", match["name"], match["version"], None, match["time"])
    return _event("install", match["name"], None, match["version"], match["time"])


READER = Reader(
    "package-history",
    read,
    markers=(
        " upgrade ",
        ") over (",
        " install ",
        "Start-Date: ",
        "[ALPM] ",
        "SUBDEBUG ",
        "Upgraded: ",
        "Updated: ",
        "|install|",
        "|remove |",
    ),
)
