"""PyTorch's warnings that it has no code for the architecture of a GPU.

    NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
    The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.
    Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.

Follows torch/cuda/__init__.py of PyTorch 1.4 to 2.14. Code for an older member of one family runs on the newer
ones (sm_120 on sm_121); a warning whose list is cut leaves that open.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.environment import GpuArchUnsupported

_INCOMPATIBLE = regex(
    r"(?:.{0,300}UserWarning: )?\s{0,8}(?P<gpu>[A-Z].{2,100}?) with CUDA capability sm_(?P<arch>\d{2,3})[a-z]? "
    r"is not compatible"
)
_FOUND = regex(
    r"(?:.{0,300}UserWarning: )?\s{0,8}Found GPU\d{1,3} (?P<gpu>.{2,100}?) which is of "
    r"(?:cuda capability|compute capability \(CC\)) (?P<major>\d{1,2})\.(?P<minor>\d)"
)
_SUPPORTED = regex(
    r"\s{0,8}The current PyTorch install supports CUDA capabilities "
    r"(?P<archs>(?:sm_\d{2,3}[a-z]? ?|compute_\d{2,3} ?){1,40})"
)
_RANGE = regex(r"\s{0,8}\((?P<low>\d{1,2}\.\d)\) - \((?P<high>\d{1,2}\.\d)\)")
_BUILT_FOR = regex(r"\s{0,8}- (?P<arch>\d{1,2}\.\d) which supports hardware CC")
_WITHIN = 16


def read(section: Section) -> Iterator[Reading]:
    """GpuArchUnsupported for each model of GPU and architecture."""
    seen: set[tuple[str, str]] = set()
    for index, whole in section.matching("with CUDA capability sm_", "which is of c"):
        line = without_launcher(whole[:MOST_COLUMNS]).text
        match = _INCOMPATIBLE.match(line) or _FOUND.match(line)
        if match is None:
            continue
        found = match.groupdict()
        arch = int(found["arch"]) if found.get("arch") else int(match["major"]) * 10 + int(match["minor"])
        key = (match["gpu"].strip(), f"sm_{arch}")
        if key in seen or len(seen) > 64:
            continue
        seen.add(key)
        text, archs, end = _supported(section, index)
        fact = GpuArchUnsupported(
            gpu=key[0],
            arch=key[1],
            supported=text,
            same_family=any(one // 10 == arch // 10 and one <= arch for one in archs),
        )
        yield section.observe(fact, index, end)
    if seen:
        yield section.looked(GpuArchUnsupported)


def _supported(section: Section, index: int) -> tuple[str | None, list[int], int]:
    """What the build has, as printed and as numbers, and the line where that ends."""
    archs: list[int] = []
    text: str | None = None
    end = index
    for after in range(index, min(index + _WITHIN, len(section.lines))):
        line = without_launcher(section.lines[after][:MOST_COLUMNS]).text
        if named := _SUPPORTED.match(line):
            numbers = [
                int("".join(filter(str.isdigit, one))) for one in named["archs"].split() if one.startswith("sm_")
            ]
            return named["archs"].strip(), numbers, after
        if limits := _RANGE.match(line):
            high = int(limits["high"].replace(".", ""))
            return limits[0].strip(), [high], after
        if built := _BUILT_FOR.match(line):
            archs.append(int(built["arch"].replace(".", "")))
            text = " ".join(f"sm_{one}" for one in archs)
            end = after
        elif archs:
            break
    return text, archs, end


READER = Reader(
    "gpu-arch-warnings",
    read,
    markers=("with CUDA capability sm_", "which is of cuda capability", "which is of compute capability"),
    context=(0, _WITHIN),
)
