"""Whether the driver serves the CUDA that PyTorch was built with, where nobody says so."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.catalogues import toolkit_row
from kb.evidence import Observed, Reading
from kb.facts import version_key
from kb.facts.compatibility import CudaCompatMode, CudaDriverFit
from kb.facts.driver import KernelModule, NvidiaSmi, ResolvedLibrary
from kb.facts.environment import PythonPackage, TorchBuild


def combine(facts: Facts) -> Iterator[Reading]:
    """One CudaDriverFit for each CUDA of a torch, where one driver is loaded and its own libcuda serves."""
    drivers = _drivers(facts)
    if len(drivers) == 1 and not _has_other_libcuda(facts):
        driver, of_driver = next(iter(drivers.items()))
        for cuda, (observed, works) in _wanted(facts).items():
            row = toolkit_row(cuda)
            key = version_key(driver)
            if row is None or key is None:
                continue
            fit = "full" if key >= _key(row.driver) else "minor-version" if key >= _key(row.floor) else "too-old"
            if fit != "too-old" or not works:
                fact = CudaDriverFit.model_validate(
                    {"fit": fit, "cuda": cuda, "driver": driver, "needs": row.floor}
                )
                yield derived(fact, [observed, of_driver])
    yield from looked_at(facts, CudaDriverFit, TorchBuild)


def _drivers(facts: Facts) -> dict[str, Observed]:
    """The versions of the loaded driver; none on WSL, where it is that of Windows."""
    loaded = [(module.version, seen) for module, seen in facts.of(KernelModule) if _runs(module)]
    tools = facts.of(NvidiaSmi)
    if any(smi.wsl for smi, _ in tools):
        return {}
    named = [*loaded, *((smi.driver_version, seen) for smi, seen in tools)]
    return {version: seen for version, seen in reversed(named) if version}


def _runs(module: KernelModule) -> bool:
    return module.name == "nvidia" and module.loaded


def _has_other_libcuda(facts: Facts) -> bool:
    """Whether a compatibility package, or a stub, stands before the driver's own library."""
    libraries = any(one.origin != "driver" for one, _ in facts.of(ResolvedLibrary) if one.soname == "libcuda.so.1")
    return libraries or any(mode.mode == "forward" for mode, _ in facts.of(CudaCompatMode))


def _wanted(facts: Facts) -> dict[str, tuple[Observed, bool]]:
    """The CUDA of each torch, by what PyTorch says or else by its package, and whether it is known to work."""
    builds = {
        torch.cuda: (seen, torch.cuda_available is True) for torch, seen in facts.of(TorchBuild) if torch.cuda
    }
    if builds:
        return builds
    packages = facts.of(PythonPackage)
    return {one.cuda: (seen, False) for one, seen in packages if one.name == "torch" and one.cuda}


def _key(version: str) -> int:
    return version_key(version) or 0
