"""Which flavour of the kernel module drives the GPUs, where kernel logs of both, of one release, are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.driver import KernelModule
from kb.facts.module_load import FlavourTrial, ModuleLoadProblem

_Flavour: TypeAlias = Literal["open", "proprietary"]
_FAILED = frozenset({"rm-init-failed", "gsp-init-failed", "probe-failed"})
_COMPANIONS = frozenset({"nvidia_uvm", "nvidia_drm", "nvidia_modeset"})


def combine(facts: Facts) -> Iterator[Reading]:
    """One FlavourTrial, where one flavour could not start a GPU and the other came up in another boot's log."""
    modules: dict[str, list[tuple[KernelModule, Observed]]] = defaultdict(list)
    for module, seen in facts.of(KernelModule):
        if module.loaded and module.reported_by == "kernel-log":
            modules[seen.source.path].append((module, seen))
    problems = {seen.source.path: seen for one, seen in facts.of(ModuleLoadProblem) if one.problem in _FAILED}
    troubled = {seen.source.path for _, seen in facts.of(ModuleLoadProblem)}
    failing = {path: _flavour(modules[path]) for path in problems}
    working = {
        path: _flavour(loaded)
        for path, loaded in modules.items()
        if path not in troubled and any(module.name in _COMPANIONS for module, _ in loaded)
    }
    trial = next(
        (
            (bad, good, path)
            for path, bad in failing.items()
            for good in working.values()
            if bad and good and bad[0] != good[0] and bad[1] == good[1]
        ),
        None,
    )
    if trial is not None:
        (fails, version, of_bad), (works, _, of_good), path = trial
        fact = FlavourTrial(version=version, fails=fails, works=works)
        yield derived(fact, [problems[path], of_bad, of_good])
    yield from (replace(one, complete=True, reason=None) for one in looked_at(facts, FlavourTrial, KernelModule))


def _flavour(loaded: list[tuple[KernelModule, Observed]]) -> tuple[_Flavour, str, Observed] | None:
    """The flavour and release that one log shows, where it shows one only."""
    found = {(module.flavour, module.version): seen for module, seen in loaded if module.name == "nvidia"}
    if len(found) != 1:
        return None
    ((flavour, version), seen) = next(iter(found.items()))
    return (flavour, version, seen) if flavour and version else None
