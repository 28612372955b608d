"""How a CUDA newer than the driver's comes to run, where no container says so."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, driver, libraries
from kb.catalogues import toolkit_of_branch
from kb.evidence import Observed, Reading
from kb.facts import version_key
from kb.facts.compatibility import CudaCompatMode
from kb.facts.driver import KernelModule, NvidiaSmi, ResolvedLibrary
from kb.facts.environment import CudaToolkit, TorchBuild
from kb.facts.packages import Package


def combine(facts: Facts) -> Iterator[Reading]:
    """CudaCompatMode `forward` for a newer libcuda before the driver's; `minor-version` for a newer toolkit."""
    facts = facts if facts.of(ResolvedLibrary) else facts.and_also(libraries.combine(facts))
    known = facts.and_also(driver.combine(facts)).of(KernelModule)  # nvidia-smi names the module's release too
    modules = [(module, seen) for module, seen in known if _runs(module)]
    packages = [(one, seen) for one, seen in facts.of(Package) if one.role == "cuda-compat" and one.upstream]
    for library, seen in facts.of(ResolvedLibrary):
        if library.origin != "cuda-compat" or library.soname != "libcuda.so.1":
            continue
        package, of_package = packages[0] if len(packages) == 1 else (None, None)
        version = library.version or (package.upstream if package else None)
        basis = [seen] if library.version or of_package is None else [seen, of_package]
        for module, of_module in modules:
            if _key(version) > _key(module.version):
                fact = CudaCompatMode(mode="forward", driver=module.version, library=version, said_by="comparison")
                yield derived(fact, [*basis, of_module])
                return
    yield from _newer_than_the_driver(facts, modules)
    yield from _minor(facts)


def _newer_than_the_driver(facts: Facts, modules: list[tuple[KernelModule, Observed]]) -> Iterator[Observed]:
    """A CUDA that works, and that the running driver's own libcuda can't offer: another libcuda must do it."""
    working = [(smi.cuda_version, seen, False) for smi, seen in facts.of(NvidiaSmi)]
    builds = facts.of(TorchBuild)
    if len({torch.cuda for torch, _ in builds if torch.cuda}) == 1 and any(
        one.cuda_available for one, _ in builds
    ):
        working += [(torch.cuda, seen, True) for torch, seen in builds if torch.cuda]
    for module, of_module in modules:
        toolkit = toolkit_of_branch(module.branch or 0)
        for version, seen, within_major in working:
            newer = toolkit is not None and _key(version) > _key(toolkit.cuda)
            if toolkit is None or not newer or (within_major and _major(version) == _major(toolkit.cuda)):
                continue
            fact = CudaCompatMode(
                mode="forward",
                driver=module.version,
                driver_cuda=toolkit.cuda,
                container_cuda=version,
                said_by="comparison",
            )
            yield derived(fact, [seen, of_module])
            return


def _minor(facts: Facts) -> Iterator[Reading]:
    tools = [(smi, seen) for smi, seen in facts.of(NvidiaSmi) if smi.cuda_version]
    runtimes = [(torch.cuda, seen) for torch, seen in facts.of(TorchBuild)]
    runtimes += [(toolkit.version, seen) for toolkit, seen in facts.of(CudaToolkit)]
    for runtime, seen in runtimes:
        for smi, of_smi in tools:
            newer = _key(runtime) > _key(smi.cuda_version) > 0
            if newer and _serves_its_major(runtime) and _major(runtime) == _major(smi.cuda_version):
                fact = CudaCompatMode(
                    mode="minor-version",
                    driver=smi.driver_version,
                    driver_cuda=smi.cuda_version,
                    container_cuda=runtime,
                    said_by="comparison",
                )
                yield derived(fact, [seen, of_smi])
                return


def _serves_its_major(runtime: str | None) -> bool:
    """From CUDA 11 on a driver serves runtimes of its whole major release; before, none that is newer."""
    return _key(runtime) >= _key("11.0")


def _runs(module: KernelModule) -> bool:
    return module.name == "nvidia" and module.loaded and module.version is not None


def _key(version: str | None) -> int:
    return version_key(version or "") or 0


def _major(version: str | None) -> str:
    return (version or "").partition(".")[0]
