"""Installed packages that have to do with GPUs, from the listings of dpkg, apt, rpm, dnf and pacman.

    ii  libnvidia-compute-565:amd64   565.57.01-0ubuntu1   amd64   NVIDIA libcompute package
    rc  nvidia-utils-535              535.183.01-0ubuntu1  amd64   NVIDIA driver support binaries
    nvidia-driver-cuda-libs-535.54.03-1.el8.x86_64

Follows dpkg's `dpkg -l` (two status letters and a third for errors), `rpm -qa`, `dnf list`, `pacman -Q` and
`apt list --installed`. Rows whose name was cut to the width of a terminal give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._package_names import meaning_of
from collectors.readers._regex import regex
from kb.evidence import Looked, Reader, Reading, Reason, Section
from kb.facts.packages import Package

State = Literal["installed", "config-files", "half-installed", "unpacked", "half-configured", "triggers"]
Manager = Literal["dpkg", "rpm", "pacman"]

_STATES: dict[str, State] = {
    "i": "installed",
    "c": "config-files",
    "H": "half-installed",
    "U": "unpacked",
    "F": "half-configured",
    "W": "triggers",
    "t": "triggers",
}
_DEB_ARCHITECTURES = r"amd64|arm64|i386|all|ppc64el|armhf|riscv64|s390x"
_RPM_ARCHITECTURES = r"x86_64|aarch64|noarch|i[3-6]86|ppc64le|s390x|src"
_DPKG = regex(
    r"\s{0,8}[uirph](?P<state>[ncHUFWti])R?\s{1,4}(?P<name>[a-z0-9][a-z0-9+.-]{1,100})(?::(?P<of>\w{2,12}))?\s{1,150}"
    rf"(?P<version>\d\S{{0,150}})(?:\s{{1,150}}(?P<architecture>{_DEB_ARCHITECTURES})(?=\s|$))?(?P<rest>.{{0,200}})"
)
_APT = regex(
    r"(?P<name>[a-z0-9][a-z0-9+.-]{1,100})/\S{0,80}?(?P<now>now)? (?P<version>\d\S{0,150})"
    rf" (?P<architecture>{_DEB_ARCHITECTURES})(?: \[(?P<states>[^\]]{{1,100}})\])?\s*$"
)
_QUERY = regex(
    rf"(?P<name>[a-z0-9][a-z0-9+.-]{{1,100}})(?::(?P<architecture>{_DEB_ARCHITECTURES}))?\s{{1,150}}"
    r"(?P<version>\d\S{0,100}-\d\S{0,60})\s*$"
)
_RPM = regex(
    r"(?P<name>[\w+.-]{1,100})-(?P<version>(?:\d{1,3}:)?\d[\w.+~^]{0,60})-(?P<release>[\w.+~^]{1,60})"
    rf"\.(?P<architecture>{_RPM_ARCHITECTURES})(?:\s{{1,150}}\S.{{0,60}})?$"
)
_DNF = regex(
    rf"(?P<name>[\w+.-]{{1,100}})\.(?P<architecture>{_RPM_ARCHITECTURES})\s{{1,150}}"
    r"(?P<version>(?:\d{1,3}:)?\d[\w.+~^-]{1,80})\s{1,150}@?[\w.-]{1,60}\s*$"
)
_PACMAN = regex(
    r"(?:local/)?(?P<name>[a-z0-9][\w@+.-]{1,80}) (?P<version>(?:\d{1,3}:)?\d[\w.+~]{0,60}-\d[\d.]{0,8})\s*$"
)
_DEBIAN = regex(r"ubuntu|\+deb|~bpo|lambda|^[a-z0-9+.-]{1,100}(?::|-\d{3}(?:-server|-open)*\s)")
_WORDS = ("nvidia", "cuda", "nccl", "datacenter-gpu", "nvlsm", "fabricmanager", "gdrcopy", "torch")
_DPKG_HEADER = regex(r"\+\+\+-(={1,400})-(={1,400})-")
_TRANSITIONAL = regex(r"transitional", re.IGNORECASE)
_MOST_JUDGED = 200
"""Lines that must all be rows for a text to pass as a whole listing."""
_LISTS = regex(r"(?:dpkg (?:-l|--list)|dpkg-query|rpm -qa|rpm --query|dnf list|yum list|pacman -Q|apt list)")


@dataclass(frozen=True)
class _Row:
    """One row of a listing, whichever tool made it."""

    name: str
    version: str
    manager: Manager
    state: State = "installed"
    architecture: str | None = None
    is_empty: bool = False
    """A transitional package, as its description says."""


def read(section: Section) -> Iterator[Reading]:
    """Package for every installed or half-removed GPU package, each row once."""
    seen: set[Package] = set()
    rows = width = 0
    is_cut = False
    for index, line in enumerate(section.lines):
        if line.startswith("+++-"):
            width = _width_of_cut_names(line)
        if not any(word in line for word in _WORDS):
            continue
        row = _row(line[:MOST_COLUMNS].rstrip(), command_of(section))
        rows += row is not None
        fact = _package(row) if row else None
        if fact and fact.role is None and len(fact.name) == width:
            is_cut = True
        elif fact and fact not in seen:
            seen.add(fact)
            yield section.observe(fact, index)
    yield from _looked(section, rows, is_cut=is_cut)


def _width_of_cut_names(header: str) -> int:
    """Columns to which `dpkg -l` on a terminal cuts names; 0 where the columns are as wide as it takes.

    On a terminal the name has two columns more than the version, else both have what their longest needs.
    """
    match = _DPKG_HEADER.match(header[:MOST_COLUMNS])
    return len(match[1]) if match and len(match[1]) - len(match[2]) == 2 else 0


def _row(line: str, command: str) -> _Row | None:
    """What the line says, in the form of the first tool that it fits."""
    match = _DPKG.match(line)
    if match and (match["architecture"] or "  " in line):
        state = _STATES.get(match["state"])
        if state is None:
            return None
        architecture = match["architecture"] or match["of"]
        is_empty = _TRANSITIONAL.search(match["rest"]) is not None
        return _Row(match["name"], match["version"], "dpkg", state, architecture, is_empty)
    return _apt_row(line) or _rpm_row(line) or _two_words(line, command)


def _apt_row(line: str) -> _Row | None:
    match = _APT.match(line)
    if match is None or not (match["now"] or "installed" in (match["states"] or "")):
        return None
    state: State = "config-files" if "residual-config" in (match["states"] or "") else "installed"
    return _Row(match["name"], match["version"], "dpkg", state, match["architecture"])


def _rpm_row(line: str) -> _Row | None:
    match = _RPM.match(line)
    if match:
        version = f"{match['version']}-{match['release']}"
        return _Row(match["name"], version, "rpm", architecture=match["architecture"])
    match = _DNF.match(line)
    if match:
        return _Row(match["name"], match["version"], "rpm", architecture=match["architecture"])
    return None


def _two_words(line: str, command: str) -> _Row | None:
    """`name version` alone: pacman's, or dpkg-query's where the words are Debian's."""
    match = _PACMAN.match(line)
    is_debian = _DEBIAN.search(line) is not None
    if match and not is_debian and not command.startswith("dpkg"):
        return _Row(match["name"], match["version"], "pacman")
    match = _QUERY.match(line)
    if match and (is_debian or command.startswith("dpkg-query")):
        return _Row(match["name"], match["version"], "dpkg", architecture=match["architecture"])
    return None


def _package(row: _Row) -> Package | None:
    meaning = meaning_of(row.name, row.version, arch_linux=row.manager == "pacman")
    if meaning is None:
        return None
    return Package(
        name=row.name,
        version=row.version,
        state=row.state,
        manager=row.manager,
        role=None if row.is_empty else meaning.role,
        upstream=meaning.upstream,
        branch=meaning.branch,
        architecture=row.architecture,
    )


def _looked(section: Section, rows: int, *, is_cut: bool) -> Iterator[Looked]:
    """Complete where the whole listing is shown, or what was picked from it is everything of NVIDIA's."""
    command = command_of(section)
    lines = [line for line in section.lines if line.strip()]
    if _LISTS.match(command):
        if lines and (": not found" in lines[0] or "command not found" in lines[0]):
            return
        complete = _asks_for_all(command)
    elif any(_DPKG_HEADER.match(line[:MOST_COLUMNS]) for line in lines):
        complete = rows > 0
    else:
        complete = rows > 1 and all(_row(line[:MOST_COLUMNS].rstrip(), "") for line in lines[:_MOST_JUDGED])
        if not rows:
            return
    reason: Reason = "truncated" if is_cut else "not-collected"
    yield section.looked(Package, complete=complete and not is_cut, reason=reason)


def _asks_for_all(command: str) -> bool:
    """Whether a listing command keeps every package that `nvidia` is part of, as far as its text tells."""
    _, _, filters = command.partition("|")
    if not filters:
        named = [word for word in command.split()[2:] if not word.startswith(("-", "2>", ">"))]
        return all(word.strip("'\"") in {"*nvidia*", "*"} for word in named)
    return "grep" in filters and "nvidia" in re.split(r"[\s'\"|\\()]+", filters.lower())


READER = Reader(
    "packages",
    read,
    markers=(
        "nvidia-driver",
        "nvidia-utils",
        "nvidia-compute",
        "nvidia-kernel",
        "nvidia-dkms",
        "nvidia-open",
        "nvidia-fabric",
        "nvidia-imex",
        "nvidia-container",
        "nvidia-settings",
        "libnvidia-compute",
        "libnvidia-ml1",
        "libcuda1",
        "cuda-drivers",
        "cuda-compat",
        "cuda-toolkit",
        "libnccl",
        "mod-nvidia",
        "+++-=",
    ),
    commands=("dpkg -l", "dpkg --list", "dpkg-query", "rpm -q", "dnf list", "yum list", "pacman -Q", "apt list"),
)
