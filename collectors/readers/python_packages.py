"""Python packages that have to do with GPUs: pip list, freeze, show and install, conda list, environment reports.

    torch                       2.3.0+cu118
    [pip3] nvidia-nccl-cu12==2.26.2
    [conda] pytorch   1.0.0   py3.7_cuda9.0.176_cudnn7.4.1_1   pytorch

Follows pip 9 to 25, uv, conda, torch.utils.collect_env of every era and SGLang's check_env. Files of requirements
are wishes, no installed packages; rows under no heading or command give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from collectors.readers._wheel_names import Manager, package_of
from kb.evidence import Looked, Observed, Reader, Reading, Section
from kb.facts.environment import PythonPackage

_NAME = r"(?P<name>[A-Za-z][\w.-]{1,80})"
_VERSION = r"(?P<version>\d[\w.!+-]{0,60})"
_REPORT = regex(
    rf"\[(?P<manager>pip\d?|conda)\] {_NAME}(?:==|\s{{1,60}}){_VERSION}(?:\s{{1,40}}(?P<build>\S{{1,80}}))?"
)
_FROZEN = regex(rf"{_NAME}==(?P<version>\d[\w.!+-]{{0,60}})\s*$")
_LISTED = regex(
    rf"\s{{0,4}}{_NAME}\s{{1,80}}{_VERSION}(?:\s{{1,60}}(?P<build>\S{{1,100}}))?(?:\s{{1,40}}\S{{1,300}})?\s*$"
)
_PIP_HEADING = regex(r"Package\s{1,80}Version(?:\s|$)")
_CONDA_HEADING = regex(r"# packages in environment at |# Name\s{1,60}Version\s{1,60}Build")
_SHOWN_NAME, _SHOWN_VERSION = regex(rf"Name: {_NAME}\s*$"), regex(r"Version: (?P<version>\d[\w.!+-]{0,60})\s*$")
_SHOW = regex(rf"(?:\S{{0,200}}/)?(?:python3? -m )?(?:pip3?|uv pip) show {_NAME}\s*(?:\||$)")
_LISTS = regex(
    r"(?:\S{0,200}/)?(?:python3? -m )?(?:pip3?|uv pip|pipx) (?:\S{1,20} ){0,3}?(?:list|freeze)\b"
    r"|(?:conda|mamba) list"
)
_SGLANG = regex(
    r"(?P<name>PyTorch|sglang|sgl_kernel|flashinfer(?:_\w{1,20})?|triton|transformers|vllm|torchao|flash_attn"
    rf"|xformers): {_VERSION}\s*$"
)
_SGLANG_REPORT = regex(r"CUDA available: (?:True|False)\s*$")
_INSTALLED = regex(r"(?:.{0,60}: )?Successfully installed (?P<wheels>[A-Za-z].{3,20000})")
_WHEEL = regex(r"(?P<name>[A-Za-z][\w.-]{0,80}?)-(?P<version>\d[\w.!+]{0,60})$")
_VLLM = regex(r"vLLM Version\s{0,40}: (?P<version>\d[\w.!+-]{0,60})")
_WISHES = ("requirements", "constraints", "environment.yml", "Dockerfile", "pyproject")
_MOST_PACKAGES = 300
_FEWEST_FROZEN = 3


def read(section: Section) -> Iterator[Reading]:
    """PythonPackage for each package and manager."""
    seen: dict[PythonPackage, None] = {}
    for observed in _packages(section):
        fact = observed.fact
        if isinstance(fact, PythonPackage) and fact not in seen and len(seen) < _MOST_PACKAGES:
            seen[fact] = None
            yield observed
    yield from _looked(section, found=bool(seen))


def _looked(section: Section, *, found: bool) -> Iterator[Looked]:
    """A whole list shows every package; a report only those that its author cared for."""
    command = command_of(section)
    lists = _LISTS.match(command) is not None
    if found or lists:
        has_heading = any(_PIP_HEADING.match(line[:200]) for line in section.lines[:5])
        last = next((line for line in reversed(section.lines) if line.strip()), "")
        is_cut = _LISTED.match(last[:MOST_COLUMNS]) is None and _FROZEN.match(last[:MOST_COLUMNS]) is None
        whole = found and (lists or has_heading) and "|" not in command and not is_cut
        yield section.looked(PythonPackage, complete=whole, reason="not-collected")


def _packages(section: Section) -> Iterator[Observed]:
    command = command_of(section)
    lists = _LISTS.match(command) is not None
    is_wish = any(word in section.path for word in _WISHES) or any(word in command for word in _WISHES)
    is_sglang = any(_SGLANG_REPORT.match(line[:100]) for line in section.lines[:200])
    frozen = not is_wish and (lists or _is_frozen(section))
    table: Manager | None = "conda" if lists and "pip" not in command else "pip" if lists else None
    asked = _SHOW.match(command)
    name: str | None = asked["name"] if asked else None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if _PIP_HEADING.match(line) or _CONDA_HEADING.match(line):
            table = "pip" if line.startswith("Package") else "conda"
        elif line[:1] == "[" and (match := _REPORT.match(line)):
            manager: Manager = "conda" if match["manager"] == "conda" else "pip"
            yield from _observed(section, index, match, manager)
        elif "Successfully installed " in line and (match := _INSTALLED.match(whole)):
            wheels = [_WHEEL.match(word) for word in match["wheels"].split()[:_MOST_PACKAGES]]
            for wheel in wheels if all(wheels) else ():
                if wheel is not None:
                    yield from _observed(section, index, wheel, "pip")
        elif frozen and "==" in line and (match := _FROZEN.match(line)):
            yield from _observed(section, index, match, "pip")
        elif shown := _SHOWN_NAME.match(line):
            name = shown["name"]
        elif name and (shown := _SHOWN_VERSION.match(line)):
            yield from _of(section, index, package_of(name, shown["version"], "pip"))
            name = None
        elif is_sglang and (match := _SGLANG.match(line)):
            yield from _of(section, index, package_of(match["name"], match["version"], "report"))
        elif vllm := _VLLM.match(line):
            yield from _of(section, index, package_of("vllm", vllm["version"], "report"))
        elif table and not is_wish and (match := _LISTED.match(line)):
            yield from _observed(section, index, match, table)


def _observed(section: Section, index: int, match: re.Match[str], manager: Manager) -> Iterator[Observed]:
    build = match.groupdict().get("build") if manager == "conda" else None
    build = None if build in {"pypi_0", "pypi"} else build
    yield from _of(section, index, package_of(match["name"], match["version"], manager, build))


def _of(section: Section, index: int, fact: PythonPackage | None) -> Iterator[Observed]:
    if fact is not None:
        yield section.observe(fact, index)


def _is_frozen(section: Section) -> bool:
    """Whether the text is the output of pip freeze: nothing but such lines, and a few of them."""
    lines = [line for line in section.lines[:500] if line.strip() and not line.startswith("#")]
    if section.command is not None or len(lines) < _FEWEST_FROZEN:
        return False
    return all(_FROZEN.match(line[:300]) or " @ " in line or line.startswith("-e ") for line in lines)


READER = Reader(
    "python-packages",
    read,
    markers=(
        *(
            "Successfully installed ",
            "[pip3] ",
            "[pip] ",
            "[conda] ",
            "torch==",
            "# packages in environment at",
            "Package    ",
        ),
        *("CUDA available: ", "vLLM Version", "Name: torch", "Name: vllm", "Name: sglang", "Name: nvidia-"),
    ),
    commands=(
        *("pip list", "pip freeze", "pip3 list", "pip3 freeze", "uv pip list", "conda list", "python -m pip"),
        *("pip show", "pip3 show", "uv pip show"),
    ),
)
