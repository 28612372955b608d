"""Packages of the driver that a package manager refuses, for a file of them is another package's.

    dpkg: error processing archive /var/cache/apt/archives/nvidia-340_340.107-0ubuntu3_amd64.deb (--unpack):
     trying to overwrite '/usr/bin/nvidia-smi', which is also in package nvidia-utils-418 418.56-0ubuntu1
    file /usr/bin/nvidia-smi from install of nvidia-driver-cuda-3:550.54.14-1.el9.x86_64 conflicts with file from package …
    nvidia-utils: /usr/lib/libcuda.so exists in filesystem (owned by nvidia-470xx-utils)

Follows dpkg 1.16 to 1.22, rpm 4.11 to 4.19 with yum and dnf, and pacman 5 to 7. Other packages give nothing, nor do
the lines of apt that only repeat which archives failed.
"""  # noqa: E501 - lines of the tools as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._package_names import DRIVER_ROLES, meaning_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.packages import PackageConflict

_ARCHIVE = regex(
    r"dpkg: error processing (?:archive )?(?:\S{0,200}/)?"
    r"(?P<name>[a-z0-9][a-z0-9+.-]{1,100})_(?P<version>[^_\s]{1,100})_\w{2,10}\.deb \(--unpack\):\s*$"
)
_OVERWRITES = regex(
    r"\s{0,4}trying to overwrite '(?P<path>/[^']{1,300})', which is also in package "
    r"(?P<owner>[a-z0-9][a-z0-9+.-]{1,100})(?::\w{2,10})? (?P<version>\S{1,100})\s*$"
)
_RPM = r"(?P<{0}>[\w+.-]{{1,100}})-(?P<{0}_version>(?:\d{{1,3}}:)?\d[\w.+~^]{{0,60}})-[\w.+~^]{{1,60}}\.\w{{3,10}}"
_CONFLICTS = regex(
    r"\s{0,8}(?:[Ee]rror: )?file (?P<path>/\S{1,300}) (?:from install of "
    + _RPM.format("name")
    + r" conflicts with file from package |conflicts between attempted installs of "
    + _RPM.format("first")
    + r" and )"
    + _RPM.format("owner")
    + r"\s*$"
)
_EXISTS = regex(
    r"(?P<name>[a-z0-9][\w@+.-]{1,80}): (?P<path>/\S{1,300}) exists in filesystem"
    r"(?: \(owned by (?P<owner>[\w@+.-]{1,80})\))?\s*$"
)
_BRANCHED = regex(r"nvidia-(?P<branch>\d{3})xx-(?:utils|dkms|settings)|lib32-nvidia-(?P<other>\d{3})xx-utils")
_MOST = 64


def read(section: Section) -> Iterator[Reading]:
    """PackageConflict for each pair of packages, once; the first file of it."""
    seen: set[tuple[str, str | None]] = set()
    for index, fact in _conflicts(section):
        if (fact.name, fact.owner) not in seen and len(seen) < _MOST:
            seen.add((fact.name, fact.owner))
            yield section.observe(fact, index)
    if seen:
        yield section.looked(PackageConflict, complete=False, reason="not-collected")


def _conflicts(section: Section) -> Iterator[tuple[int, PackageConflict]]:
    for index, whole in section.matching("trying to overwrite '"):
        over = _OVERWRITES.match(whole[:900])
        archive = _ARCHIVE.match(section.lines[index - 1][:600]) if over and index else None
        if over and archive:
            name, owner = (archive["name"], archive["version"]), (over["owner"], over["version"])
            yield from _of(index, over["path"], name, owner, "dpkg")
    for index, whole in section.matching(
        "conflicts with file from package", "conflicts between attempted installs"
    ):
        match = _CONFLICTS.match(whole[:900])
        if match:
            said = "name" if match["name"] else "first"
            owner = match["owner"], match["owner_version"]
            yield from _of(index, match["path"], (match[said], match[f"{said}_version"]), owner, "rpm")
    for index, whole in section.matching(" exists in filesystem"):
        match = _EXISTS.match(whole[:600])
        if match:
            yield from _of(index, match["path"], (match["name"], ""), (match["owner"], ""), "pacman")


def _of(
    index: int,
    path: str,
    refused: tuple[str, str],
    owner: tuple[str | None, str],
    manager: Literal["dpkg", "rpm", "pacman"],
) -> Iterator[tuple[int, PackageConflict]]:
    """The conflict, where both packages are of the driver."""
    is_ours, branch = _branch(*refused)
    theirs, owner_branch = _branch(owner[0], owner[1]) if owner[0] else (True, None)
    if is_ours and theirs:
        legacy = (
            manager == "pacman" and owner_branch is not None
        )  # Arch's present branch has no number in its name
        fact = PackageConflict(
            name=refused[0],
            branch=branch,
            path=path,
            owner=owner[0],
            owner_branch=owner_branch,
            branches_differ=legacy or (None not in {branch, owner_branch} and branch != owner_branch),
            manager=manager,
        )
        yield index, fact


def _branch(name: str, version: str) -> tuple[bool, int | None]:
    """Whether the package is of the driver, and of which branch."""
    if match := _BRANCHED.fullmatch(name):
        return True, int(match["branch"] or match["other"])
    meaning = meaning_of(name, version, arch_linux=not version)
    if meaning is not None and meaning.role in DRIVER_ROLES:
        return True, meaning.branch
    # NVIDIA's older packages have names without a role of their own.
    return meaning is not None and re.match(
        r"nvidia-\d{3}$", name
    ) is not None, meaning.branch if meaning else None


READER = Reader(
    "package-conflicts",
    read,
    markers=(
        "trying to overwrite '",
        "conflicts with file from package",
        "conflicts between attempted installs",
        " exists in filesystem",
    ),
)
