"""Which driver library a process gets: linker cache, links and files put together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts import LibraryFile, LibraryLink, LinkerEntry, ResolvedLibrary
from kb.facts.driver import LibraryOrigin

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


def combine(facts: Facts) -> Iterator[Reading]:
    """ResolvedLibrary for each soname that the linker cache, or else a link in a default folder, leads to.

    The first native entry of the cache wins, as it does for the linker. The version is None where the file
    at the end is not known.
    """
    links = {_merged(link.path): (link, observed) for link, observed in facts.of(LibraryLink)}
    files = {_merged(file.path): observed for file, observed in facts.of(LibraryFile)}
    entries = facts.of(LinkerEntry)
    for soname in SONAMES:
        native = sorted(
            ((entry.order, entry.path, observed) for entry, observed in entries
             if entry.soname == soname and entry.abi in NATIVE),
            key=lambda one: one[0],
        )  # fmt: skip
        if native:
            yield _resolved(soname, native[0][1], [native[0][2]], links, files)
        elif not entries:
            yield from _by_default_folder(soname, links, files)
    yield from looked_at(facts, ResolvedLibrary, LinkerEntry, LibraryLink)


def _by_default_folder(
    soname: str, links: dict[str, tuple[LibraryLink, Observed]], files: dict[str, Observed]
) -> Iterator[Observed]:
    for folder in DEFAULT_FOLDERS:
        path = f"{folder}/{soname}"
        if path in links:
            yield _resolved(soname, path, [], links, files)
            return


def _resolved(
    soname: str,
    path: str,
    basis: list[Observed],
    links: dict[str, tuple[LibraryLink, Observed]],
    files: dict[str, Observed],
) -> Observed:
    here = _merged(path)
    for _ in range(MOST_LINKS):
        if here not in links:
            break
        link, observed = links[here]
        basis.append(observed)
        path, here = link.target, _merged(link.target)
    if here in files:
        basis.append(files[here])
    match = _VERSION.search(path)
    version = match[1] if match and "." in match[1] else None
    return derived(ResolvedLibrary(soname=soname, path=path, version=version, origin=_origin(path)), basis)


def _merged(path: str) -> str:
    """The path on a system whose /lib is a link to /usr/lib, as all current ones are."""
    return f"/usr{path}" if path.startswith(("/lib/", "/lib64/")) else path


def _origin(path: str) -> LibraryOrigin:
    if "/compat/" in path:
        return "cuda-compat"
    if "/stubs/" in path:
        return "stub"
    return "driver" if _merged(path).rsplit("/", 1)[0] in DEFAULT_FOLDERS else "other"
