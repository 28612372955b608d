"""Whether each PyTorch has code for each model of GPU, where nobody says so."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.compatibility import TorchGpuFit
from kb.facts.environment import PythonPackage, TorchBuild
from kb.facts.gpu import Gpu
from kb.gpu_code import CodeFit, code_fit, torch_builds

_ORDER: tuple[CodeFit, ...] = ("native", "translated", "missing")


def combine(facts: Facts) -> Iterator[Reading]:
    """One TorchGpuFit for each PyTorch whose code is known and each model of GPU."""
    models = {gpu.name: (gpu, seen) for gpu, seen in reversed(facts.of(Gpu)) if gpu.name and gpu.capability}
    for torch, (wheels, said, seen) in _torches(facts).items():
        for name, (gpu, of_gpu) in models.items():
            fits = {code_fit(gpu.capability or "", *wheel): wheel for wheel in reversed(wheels)}
            best = min(fits, key=_ORDER.index)
            fact = TorchGpuFit.model_validate(
                {
                    "fit": best,
                    "gpu": name,
                    "capability": gpu.capability,
                    "torch": torch,
                    "archs": _words(fits[best]),
                    "said_by": said,
                }
            )
            yield derived(fact, [seen, of_gpu])
    yield from looked_at(facts, TorchGpuFit, TorchBuild, PythonPackage)


def _torches(facts: Facts) -> dict[str, tuple[list[tuple[tuple[int, ...], tuple[int, ...]]], str, Observed]]:
    """Each PyTorch with the code that it lists, or else with that of the published wheels of its release."""
    found: dict[str, tuple[list[tuple[tuple[int, ...], tuple[int, ...]]], str, Observed]] = {}
    for build, seen in facts.of(TorchBuild):
        if build.version and build.archs:
            words = build.archs.split()
            found[build.version] = [(_numbers(words, "sm_"), _numbers(words, "compute_"))], "torch", seen
    named = [(build.version or "", build.cuda, seen) for build, seen in facts.of(TorchBuild)]
    for one, seen in facts.of(PythonPackage):
        if one.name == "torch" and one.build and one.manager != "conda":
            named.append((f"{one.version}+{one.build}", one.cuda, seen))
    for version, cuda, seen in named:
        release, _, local = version.partition("+")
        wheels = torch_builds(release, cuda) if cuda and local == "cu" + cuda.replace(".", "") else ()
        if wheels and version not in found:
            found[version] = [(wheel.archs, wheel.ptx) for wheel in wheels], "table", seen
    return found


def _numbers(words: list[str], begin: str) -> tuple[int, ...]:
    numbers = [word.removeprefix(begin).rstrip("af") for word in words if word.startswith(begin)]
    return tuple(int(number) for number in numbers if number.isdecimal())


def _words(wheel: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    return " ".join([*(f"sm_{arch}" for arch in wheel[0]), *(f"compute_{arch}" for arch in wheel[1])])
