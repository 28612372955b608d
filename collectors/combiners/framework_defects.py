"""Known defects of frameworks: the line that shows one, against the release that is installed or runs."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.environment import PythonPackage, TorchBuild
from kb.facts.packages import Package
from kb.facts.problems import DefectLine, FrameworkDefect, FrameworkVersion
from kb.facts.settings import Setting
from kb.framework_defects import catalogue

_TORCH = ("torch", "torch-cuda", "torch-opt-cuda")
"""How the packages of distributions end that hold PyTorch: python-pytorch-cuda, python3-torch-cuda."""


def combine(facts: Facts) -> Iterator[Reading]:
    """FrameworkDefect for each line of the catalogue, unless the releases that are known are all without it.

    One defect shows in no line: a PyTorch that counts no GPU where it computes on one.
    """
    yield from _counts_no_gpu(facts)
    entries = {entry.id: entry for entry in catalogue()}
    for line, observed in facts.of(DefectLine):
        entry = entries.get(line.id)
        if entry is None:
            continue
        known = list(_versions(facts, entry.package))
        having = [(version, o) for version, o in known if entry.has(version)]
        if (known or entry.by_release) and not having:
            continue
        version, source = having[0] if having else (None, None)
        fact = FrameworkDefect(
            id=entry.id,
            package=entry.package,
            version=version,
            fixed=entry.fixed,
            what=entry.what,
            workaround=entry.workaround,
            text=line.text,
        )
        yield derived(fact, [observed] if source is None else [observed, source])
    yield from looked_at(facts, FrameworkDefect, DefectLine)


def _counts_no_gpu(facts: Facts) -> Iterator[Observed]:
    entry = next(one for one in catalogue() if one.id == "torch-counts-no-gpu-by-uuid")
    by_uuid = [
        seen
        for setting, seen in facts.of(Setting)
        if setting.name == "CUDA_VISIBLE_DEVICES" and setting.value.startswith(("MIG-", "GPU-"))
    ]
    for build, seen in facts.of(TorchBuild):
        works = build.gpus == 0 and build.cuda_available is True
        if works and by_uuid and build.version is not None and entry.has(build.version):
            fact = FrameworkDefect(
                id=entry.id,
                package=entry.package,
                version=build.version,
                fixed=entry.fixed,
                what=entry.what,
                workaround=entry.workaround,
                text="torch.cuda.device_count() is 0, and tensors are on cuda:0",
            )
            yield derived(fact, [seen, by_uuid[0]])
            return


def _versions(facts: Facts, package: str) -> Iterator[tuple[str, Observed]]:
    """The releases of a package that logs, lists and reports name, the log's own first."""
    for named, observed in facts.of(FrameworkVersion):
        if named.package == package:
            yield named.version, observed
    for listed, observed in facts.of(PythonPackage):
        if listed.name == package:
            yield listed.version, observed
    for of_system, observed in facts.of(Package):
        if package == "torch" and of_system.name.endswith(_TORCH) and of_system.upstream:
            yield of_system.upstream, observed
    for build, observed in facts.of(TorchBuild):
        if package == "torch" and build.version:
            yield build.version, observed
