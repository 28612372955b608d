"""What the entry points of NVIDIA's containers say on driver and CUDA, in lines that belong together.

    NOTE: CUDA Forward Compatibility mode ENABLED.
    WARNING: CUDA Minor Version Compatibility mode ENABLED.
    ERROR: The NVIDIA Driver is present, but CUDA failed to initialize.  GPU functionality will not be available.

Follows /opt/nvidia/entrypoint.d of NGC images 20.01 to 26.08. Of several starts of one image the last counts. A
quoted line in prose gives nothing, nor does a banner without its first line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._cuda_codes import by_number
from collectors.readers._lines import VERSION
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.compatibility import CudaCompatMode
from kb.facts.environment import CudaError

_Mode: TypeAlias = Literal["forward", "minor-version", "unavailable", "failed"]
_LEAD = r"(?:.{0,200}[\s|])?"
_BUILT_FOR = r"ERROR: {1,3}This container was built for (?:NVIDIA|CUDA) Driver Release "
_HEADS: tuple[tuple[str, _Mode], ...] = (
    (r"NOTE: {1,3}CUDA Forward Compatibility mode ENABLED", "forward"),
    (r"NOTE: {1,3}Legacy NVIDIA Driver detected\.  Compatibility mode ENABLED", "forward"),
    (r"(?:WARNING|NOTE): {1,3}CUDA Minor Version Compatibility mode ENABLED", "minor-version"),
    (_BUILT_FOR + r"(?P<needs>\d{3}(?:\.\d{1,3}){0,2})", "unavailable"),
    (r"ERROR: {1,3}The NVIDIA Driver is present, but CUDA failed to initialize", "failed"),
)
_FORMS = tuple((regex(_LEAD + form), mode) for form, mode in _HEADS)
_LIBRARY = regex(
    rf".{{0,200}}Using CUDA [\d.]{{3,10}} driver version (?P<library>{VERSION}) "
    rf"with kernel driver version (?P<driver>{VERSION})"
)
_DRIVER = regex(
    rf".{{0,200}}Using driver version (?P<driver>{VERSION}) "
    r"which has support for CUDA (?P<cuda>\d{1,2}\.\d{1,2})"
)
_DETECTED = regex(rf".{{0,200}}version (?P<driver>{VERSION}) was detected")
_BUILT = regex(r".{0,200}was built with CUDA (?P<cuda>\d{1,2}\.\d{1,2})")
_FAILED = regex(r".{0,200}\[\[ .{0,160}\(error (?P<code>\d{1,3})\) \]\]")
_UNAVAILABLE = "UNAVAILABLE"
_FOLLOWING = 6


class _Found(NamedTuple):
    fact: CudaCompatMode
    first: int
    last: int


def read(section: Section) -> Iterator[Reading]:
    """CudaCompatMode of each mode, from its last banner; CudaError where CUDA could not be started."""
    found: dict[str, _Found] = {}
    for index, line in section.matching(
        "ompatibility mode ENABLED", "This container was built for", "CUDA failed to init"
    ):
        for form, mode in _FORMS:
            match = form.match(line[:400])
            if match:
                banner = _banner(section, index, mode, match.groupdict().get("needs"))
                if banner:
                    found[mode] = banner
                break
    for one in found.values():
        yield section.observe(one.fact, one.first, one.last)
        known = by_number(one.fact.code) if one.fact.code else None
        if known:
            error = CudaError(
                class_=known.class_,
                code=one.fact.code,
                where="init",
                reported_by="framework",
                text=section.lines[one.last].strip()[:200],
            )
            yield section.observe(error, one.last)
    if found:
        yield section.looked(CudaCompatMode)


def _banner(section: Section, index: int, mode: _Mode, needs: str | None) -> _Found | None:
    values: dict[str, str] = {}
    last, unavailable = index, False
    for number in range(index, min(index + _FOLLOWING, len(section.lines))):
        line = section.lines[number][:400]
        if number > index and not line.strip(" |"):
            break
        unavailable = unavailable or _UNAVAILABLE in line
        for form, names in (
            (_LIBRARY, {"library": "library", "driver": "driver"}),
            (_DRIVER, {"driver": "driver", "cuda": "driver_cuda"}),
            (_DETECTED, {"driver": "driver"}),
            (_BUILT, {"cuda": "container_cuda"}),
            (_FAILED, {"code": "code"}),
        ):
            match = form.match(line)
            if match:
                values |= {field: match[group] for group, field in names.items()}
                last = number
    if mode == "unavailable" and not unavailable:
        return None
    code = values.pop("code", None)
    fact = CudaCompatMode(
        mode=mode,
        driver=values.get("driver"),
        driver_cuda=values.get("driver_cuda"),
        container_cuda=values.get("container_cuda"),
        library=values.get("library"),
        needs=needs,
        code=int(code) if code else None,
    )
    return _Found(fact, index, last)


READER = Reader(
    "compat-banner",
    read,
    markers=("ompatibility mode ENABLED", "This container was built for", "but CUDA failed to initialize"),
    context=(0, _FOLLOWING),
)
