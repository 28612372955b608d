"""The loaded kernel module, whoever reports it; and where those reports disagree."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts import version_key
from kb.facts.conclusion import Disagreement
from kb.facts.driver import ApiMismatch, KernelModule, NvidiaSmi, NvmlError, RefusedClient


def combine(facts: Facts) -> Iterator[Reading]:
    """KernelModule as other facts imply it; a Disagreement where two sources name two versions.

    nvidia-smi's header names the module's version, and so does the module that refuses a client; NVML, which
    finds another version, tells at least that one is loaded.
    """
    reported = [(module, observed) for module, observed in facts.of(KernelModule) if module.name == "nvidia"]
    for smi, observed in facts.of(NvidiaSmi):
        if smi.driver_version is not None and not smi.wsl:
            module = KernelModule(version=smi.driver_version, reported_by="nvidia-smi")
            reported.append((module, derived(module, [observed])))
            yield reported[-1][1]
    if not any(module.loaded and module.version for module, _ in reported):
        yield from _implied(facts)
    yield from looked_at(facts, KernelModule, NvidiaSmi)
    yield from _refused(facts)
    yield from _disagreement([(m, o) for m, o in reported if m.loaded and m.version])


def _implied(facts: Facts) -> Iterator[Observed]:
    """The module that a refusal shows to be loaded."""
    for refusal, observed in facts.of(ApiMismatch):
        yield derived(KernelModule(version=refusal.module_version, reported_by="kernel-log"), [observed])
        return
    for error, observed in facts.of(NvmlError):
        if error.problem == "version-mismatch":
            yield derived(KernelModule(reported_by="other"), [observed])
            return


def _refused(facts: Facts) -> Iterator[Reading]:
    """NVML errors that the tools which work don't belong to: each release once."""
    answers = [(smi, observed) for smi, observed in facts.of(NvidiaSmi) if smi.tool_version and smi.driver_version]
    seen: set[str] = set()
    for error, observed in facts.of(NvmlError):
        version = error.library_version
        if error.problem != "version-mismatch" or not version or version in seen or not answers:
            continue
        if any(f"{smi.tool_version}.".startswith(f"{version}.") for smi, _ in answers):
            continue
        seen.add(version)
        smi, of_smi = answers[0]
        driver = smi.driver_version or ""
        older = (version_key(version) or 0) < (version_key(driver) or 0)
        fact = RefusedClient(library_version=version, module_version=driver, older=older)
        yield derived(fact, [observed, of_smi])


def _disagreement(reported: list[tuple[KernelModule, Observed]]) -> Iterator[Reading]:
    for module, observed in reported[1:]:
        first, first_observed = reported[0]
        if module.version != first.version:
            fact = Disagreement(
                question="version of the loaded kernel module",
                one=f"{first.version} ({first.reported_by})",
                other=f"{module.version} ({module.reported_by})",
            )
            yield derived(fact, [first_observed, observed])
            return
