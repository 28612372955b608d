"""Environment reports: torch.utils.collect_env of every era, vLLM's collect_env, SGLang's check_env.

    PyTorch version              : 2.7.0+cu128
    Nvidia driver version: 510.47.03
    GPU 0,1,2,3: NVIDIA A800 80GB PCIe

Follows PyTorch 1.0 to 2.14, vLLM 0.4 to 0.33 and SGLang 0.2 to 0.5, and the report of the collector. The driver that these reports name is the one that
nvidia-smi gave; under WSL it is that of Windows and is left out. A report without the line of PyTorch gives nothing.
"""  # noqa: E501 - a path of text, not of code

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import MOST_COLUMNS, VERSION
from collectors.readers._regex import regex
from collectors.readers._wheel_names import cuda_of
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.driver import KernelModule
from kb.facts.environment import CudaToolkit, TorchBuild
from kb.facts.gpu import Gpu

_TORCH = regex(r"PyTorch version\s{0,40}: ?(?P<value>\d[\w.+-]{1,60}|N/A|Could not collect)\s*$")
_PAIR = regex(
    r"(?P<key>CUDA used to build PyTorch|ROCM used to build PyTorch|Is CUDA available|CUDA runtime version"
    r"|Nvidia driver version|GPU models and configuration|CUDA architectures of PyTorch|NCCL of PyTorch"
    r")\s{0,40}: ?(?P<value>.{0,200}?)\s*$"
)
_GPU = regex(r"\s{0,4}GPU (?P<numbers>\d{1,3}(?:,\d{1,3}){0,63}): (?P<name>\S.{1,100}?)(?: \(UUID: .{1,80})?\s*$")
_SGLANG_PAIR = regex(
    r"(?P<key>CUDA available|CUDA Driver Version|NVCC|PyTorch|HIP available): (?P<value>\S.{0,120}?)\s*$"
)
_DRIVER = regex(rf"(?P<version>{VERSION})\s*$")
_NVCC = regex(r"(?:.{0,40}, )?release (?P<version>\d{1,2}\.\d{1,2})")
_NVCC_OUTPUT = regex(r"Cuda compilation tools, release (?P<version>\d{1,2}\.\d{1,2}), V")
_ARCHS = regex(r"(?:sm|compute)_\d{2,3}[a-z]?(?: (?:sm|compute)_\d{2,3}[a-z]?){0,40}\s*$")
_TRUTH = {"True": True, "Yes": True, "False": False, "No": False}
_WSL = regex(r"WSL2?\b|microsoft-standard")
_MOST_GPUS = 64
_MOST_LINES = 60
"""From the first line of a report to its last GPU."""


@dataclass
class _Report:
    """One report: what it says by its own words, with the lines."""

    by: str
    first: int
    last: int
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    gpus: list[tuple[int, str, int]] = field(default_factory=list)

    def value(self, key: str) -> str | None:
        """What stands behind a key, unless the report could not tell."""
        text = self.values.get(key, ("", 0))[0]
        return text if text and text not in {"N/A", "Could not collect", "None"} else None


def read(section: Section) -> Iterator[Reading]:
    """TorchBuild, the driver, the toolkit and the GPUs of each report."""
    is_wsl = any(_WSL.search(line[:400]) for line in section.lines[:400])
    for report in (*_reports(section), *_sglang(section)):
        yield from _facts(section, report, is_wsl=is_wsl)
        knows = "PyTorch" in report.values or "CUDA used to build PyTorch" in report.values
        yield section.looked(TorchBuild, complete=knows)
    yield from _nvcc(section)


def _reports(section: Section) -> Iterator[_Report]:
    report: _Report | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        begun = _TORCH.match(line)
        if begun:
            if report:
                yield report
            report = _Report("torch", index, index, {"PyTorch version": (begun["value"], index)})
        elif report is None:
            continue
        elif line.startswith("vLLM Version"):
            report.by = "vllm"
        elif (match := _PAIR.match(line)) is not None:
            report.values.setdefault(match["key"], (match["value"], index))
            report.last = index
            _add_gpus(report, match["value"], index)
        elif index - report.first < _MOST_LINES:
            _add_gpus(report, line, index)
    if report:
        yield report


def _add_gpus(report: _Report, line: str, index: int) -> bool:
    match = _GPU.match(line)
    if match:
        for number in match["numbers"].split(","):
            report.gpus.append((int(number), match["name"], index))
    return match is not None


def _sglang(section: Section) -> Iterator[_Report]:
    """check_env: known by its line on CUDA, with that of PyTorch not far below."""
    report: _Report | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        match = _SGLANG_PAIR.match(line)
        if match and match["key"] in {"CUDA available", "HIP available"}:
            report = _Report("sglang", index, index, {match["key"]: (match["value"], index)})
        elif report is None:
            continue
        elif match:
            report.values.setdefault(match["key"], (match["value"], index))
            if match["key"] == "PyTorch":
                report.last = index
                yield report
                report = None
        elif index - report.first > 40:
            report = None
        else:
            _add_gpus(report, line, index)


def _facts(section: Section, report: _Report, *, is_wsl: bool) -> Iterator[Observed]:
    build = _sglang_build(report) if report.by == "sglang" else _torch_build(report)
    yield section.observe(build, report.first, report.last)
    driver_key = "CUDA Driver Version" if report.by == "sglang" else "Nvidia driver version"
    driver = _DRIVER.match(report.value(driver_key) or "")
    if driver and not is_wsl:
        module = KernelModule(version=driver["version"], reported_by="other")
        yield section.observe(module, report.values[driver_key][1])
    nvcc_key = "NVCC" if report.by == "sglang" else "CUDA runtime version"
    said = report.value(nvcc_key) or ""
    nvcc = _NVCC.match(said) or _DRIVER.match(said)
    if nvcc:
        toolkit = ".".join(nvcc["version"].split(".")[:2])
        yield section.observe(CudaToolkit(version=toolkit), report.values[nvcc_key][1])
    seen: set[int] = set()
    for number, name, index in report.gpus[:_MOST_GPUS]:
        if number not in seen:
            seen.add(number)
            yield section.observe(Gpu(index=number, name=name, reported_by="other"), index)


def _torch_build(report: _Report) -> TorchBuild:
    version = report.value("PyTorch version")
    cuda, rocm = report.value("CUDA used to build PyTorch"), report.value("ROCM used to build PyTorch")
    knows = "CUDA used to build PyTorch" in report.values
    archs, nccl = report.value("CUDA architectures of PyTorch"), report.value("NCCL of PyTorch")
    number = _DRIVER.match(cuda or "")
    none = report.values.get("CUDA used to build PyTorch", ("", 0))[0] == "None"
    return TorchBuild(
        version=version,
        cuda=number["version"] if number else None,
        cpu_only=(none and rocm is None) or "+cpu" in (version or "") if knows else None,
        rocm=rocm is not None if knows else None,
        cuda_available=_TRUTH.get(report.value("Is CUDA available") or ""),
        archs=archs if archs and _ARCHS.match(archs) else None,
        nccl=nccl if nccl and _DRIVER.match(nccl) else None,
        reported_by="vllm" if report.by == "vllm" else "torch",
    )


def _sglang_build(report: _Report) -> TorchBuild:
    version = report.value("PyTorch")
    local = (version or "").partition("+")[2]
    return TorchBuild(
        version=version,
        cuda=cuda_of("torch", local),
        cpu_only=local == "cpu" if local else None,
        rocm=local.startswith("rocm") if local else None,
        cuda_available=_TRUTH.get(report.value("CUDA available") or ""),
        reported_by="sglang",
    )


def _nvcc(section: Section) -> Iterator[Reading]:
    """`nvcc --version` on its own."""
    for index, line in section.matching("Cuda compilation tools"):
        match = _NVCC_OUTPUT.match(line[:200])
        if match:
            yield section.observe(CudaToolkit(version=match["version"]), index)
            yield section.looked(CudaToolkit)
            return


READER = Reader(
    "collect-env",
    read,
    markers=("PyTorch version", "CUDA available: ", "HIP available: ", "Cuda compilation tools, release"),
    context=(1, 250),
)
