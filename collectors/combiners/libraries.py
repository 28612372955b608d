"""Which driver library a process gets: linker cache, links and files put together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.driver import LibraryFile, LibraryLink, LibraryOrigin, LinkerEntry, ResolvedLibrary
from kb.facts.packages import Package

SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libnvidia-ptxjitcompiler.so.1")
NATIVE = ("x86-64", "AArch64")
DEFAULT_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/nvidia",
)
MOST_LINKS = 8

_VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")


@dataclass(frozen=True, slots=True)
class _Disk:
    """What is known of the libraries on disk, by path, and the releases that compatibility packages brought."""

    links: Mapping[str, tuple[LibraryLink, Observed]]
    files: Mapping[str, Observed]
    compatibility: frozenset[str]


def combine(facts: Facts) -> Iterator[Reading]:
    """ResolvedLibrary for each soname that the linker cache, or else a link in a default folder, leads to.

    The first native entry of the cache wins, as it does for the linker. The version is None where the file
    at the end is not known.
    """
    disk = _Disk(
        links={_merged(link.path): (link, observed) for link, observed in facts.of(LibraryLink)},
        files={_merged(file.path): observed for file, observed in facts.of(LibraryFile)},
        compatibility=frozenset(
            package.upstream
            for package, _ in facts.of(Package)
            if package.role == "cuda-compat" and package.state != "config-files" and package.upstream
        ),
    )
    entries = facts.of(LinkerEntry)
    for soname in SONAMES:
        native = [(e.order, e.path, o) for e, o in entries if e.soname == soname and e.abi in NATIVE]
        if native:
            _, path, observed = min(native, key=lambda one: one[0])
            yield _resolved(soname, path, disk, [observed])
        elif not entries:
            yield from _by_default_folder(soname, disk)
    yield from looked_at(facts, ResolvedLibrary, LinkerEntry, LibraryLink)


def _by_default_folder(soname: str, disk: _Disk) -> Iterator[Observed]:
    for folder in DEFAULT_FOLDERS:
        path = f"{folder}/{soname}"
        if path in disk.links:
            yield _resolved(soname, path, disk, [])
            return


def _resolved(soname: str, path: str, disk: _Disk, basis: list[Observed]) -> Observed:
    here = _merged(path)
    for _ in range(MOST_LINKS):
        if here not in disk.links:
            break
        link, observed = disk.links[here]
        basis.append(observed)
        path, here = link.target, _merged(link.target)
    if here in disk.files:
        basis.append(disk.files[here])
    match = _VERSION.search(path)
    version = match[1] if match else None
    # The container runtime mounts a host's cuda-compat libcuda beside the driver's own, in the same folder.
    origin = "cuda-compat" if version in disk.compatibility else _origin(path)
    return derived(ResolvedLibrary(soname=soname, path=path, version=version, origin=origin), basis)


def _merged(path: str) -> str:
    """The path on a system whose /lib is a link to /usr/lib, as all current ones are."""
    return f"/usr{path}" if path.startswith(("/lib/", "/lib64/")) else path


def _origin(path: str) -> LibraryOrigin:
    if "/compat/" in path:
        return "cuda-compat"
    if "/stubs/" in path:
        return "stub"
    return "driver" if _merged(path).rsplit("/", 1)[0] in DEFAULT_FOLDERS else "other"
