"""Which driver library a process gets: linker cache, links and files put together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts import version_key
from kb.facts.compatibility import CudaCompatMode
from kb.facts.diagnostics import GpuSelfTest
from kb.facts.driver import (
    KernelModule,
    LibraryFile,
    LibraryLink,
    LibraryOrigin,
    LinkerEntry,
    NvidiaSmi,
    ResolvedLibrary,
)
from kb.facts.environment import CudaError
from kb.facts.gpu import Gpu
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
_REFUSED = ("driver-mismatch", "compat-not-supported", "stub-library")

_VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")


@dataclass(frozen=True, slots=True)
class _Disk:
    """What is known of the libraries on disk, by path, and the releases that compatibility packages brought."""

    links: Mapping[str, tuple[LibraryLink, Observed]]
    files: Mapping[str, Observed]
    compatibility: frozenset[str]
    tried: Mapping[str, Observed]
    """Where a CUDA program ran well, by file, with a libcuda that may be newer than the module."""
    module_key: int
    """The newest release of the loaded module; 0 where it is not known."""


def combine(facts: Facts) -> Iterator[Reading]:
    """ResolvedLibrary for each soname that the linker cache, or else a link in a default folder, leads to.

    The first native entry of the cache wins, as it does for the linker. The version is None where the file
    at the end is not known. A libcuda newer than the module, with which a CUDA sample passed, is cuda-compat's.
    """
    disk = _Disk(
        links={_merged(link.path): (link, observed) for link, observed in facts.of(LibraryLink)},
        files={_merged(file.path): observed for file, observed in facts.of(LibraryFile)},
        compatibility=_of_packages(facts),
        tried=_tried(facts),
        module_key=max((version_key(version) or 0 for version in _modules(facts)), default=0),
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


def _modules(facts: Facts) -> set[str]:
    """Releases of the loaded module."""
    loaded = {module.version for module, _ in facts.of(KernelModule) if module.name == "nvidia" and module.loaded}
    tools = {smi.driver_version for smi, _ in facts.of(NvidiaSmi) if not smi.wsl}
    return {version for version in loaded | tools if version}


def _of_packages(facts: Facts) -> frozenset[str]:
    """Releases known for the compatibility package's: by its name, its folder, or the container's word."""
    named = {
        package.upstream
        for package, _ in facts.of(Package)
        if package.role == "cuda-compat" and package.state != "config-files"
    }
    named |= {banner.library for banner, _ in facts.of(CudaCompatMode) if banner.mode == "forward"}
    modules = _modules(facts)
    if modules:  # a driver of the same release has a libcuda of its own beside the package's
        files = {(file.path, file.version) for file, _ in facts.of(LibraryFile) if file.stem == "libcuda"}
        named |= {version for path, version in files if "/compat/" in path and version not in modules}
    return frozenset(version for version in named if version)


def _tried(facts: Facts) -> dict[str, Observed]:
    """Programs of the CUDA samples that passed, unless a GPU takes no newer libcuda, or CUDA refused one."""
    refused = any(error.class_ in _REFUSED for error, _ in facts.of(CudaError))
    if refused or any(gpu.tier == "geforce" for gpu, _ in facts.of(Gpu)):
        return {}
    passed = [
        seen
        for result, seen in facts.of(GpuSelfTest)
        if result.test == "cuda-sample" and result.outcome == "passed"
    ]
    return {seen.source.path: seen for seen in passed}


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
    # The container runtime mounts cuda-compat's libcuda beside the driver's own, in the same folder.
    origin = "cuda-compat" if version in disk.compatibility else _origin(path)
    if origin == "driver" and soname == "libcuda.so.1" and 0 < disk.module_key < (version_key(version or "") or 0):
        # Without the package's support no call of CUDA succeeds over an older module.
        worked = next((disk.tried[one.source.path] for one in basis if one.source.path in disk.tried), None)
        if worked is not None:
            origin = "cuda-compat"
            basis.append(worked)
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
