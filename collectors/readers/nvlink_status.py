"""NVLinks that are up, and errors counted on them: `nvidia-smi nvlink -s` and `-e`, `dcgmi nvlink -s` and `-e`.

             Link 3: <inactive>
             Link 0: Replay Errors: 0
    | -> CRC Data Error           | 12                                             |

Follows nvidia-smi 375 to 610 and DCGM 2 to 4. On NVLink 5 there are other counters: FEC histograms, raw errors,
retrainings that succeeded and bit error rates are normal there and left out. Links without their GPU give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.fabric import NvlinkErrors, NvlinkLinks
from kb.facts.gpu import Gpu

_GPU = regex(
    r"\s{0,8}GPU (?P<index>\d{1,3}): (?P<name>\S.{1,99}) "
    r"\(UUID: (?:(?P<uuid>GPU-[0-9a-f-]{8,60})|[^()]{1,60})\)\s*$"
)
_ACTIVE = regex(r"\s{1,16}Link (?P<link>\d{1,3}): (?P<speed>\d{1,5}(?:\.\d{1,4})?) GB/s\s*$")
_INACTIVE = regex(r"\s{1,16}Link (?P<link>\d{1,3}): <inactive>\s*$", re.IGNORECASE)
_ALL_INACTIVE = regex(
    r"\s{0,16}NVML: Unable to retrieve NVLink information as all links are inactive\.?\s*$", re.IGNORECASE
)
_ERRORS = regex(r"\s{1,16}Link (?P<link>\d{1,3}): (?P<what>[A-Z][\w -]{2,50}?): (?P<count>\d{1,20})\s*$")
_LINK = regex(r"\s{1,16}Link \d{1,3}: [A-Z][\w -]{1,50}?: \S{1,40}\s*$")
_DCGM_GPU = regex(r"\|\s{1,4}GPU (?P<index>\d{1,3})\s{1,120}\|\s*$")
_DCGM_LINK = regex(r"\|\s{1,4}(?:Link (?P<link>\d{1,3})|Error Detail)\s{1,60}\|\s{0,120}\|\s*$")
_DCGM_ERRORS = regex(r"\|\s{1,4}-> (?P<what>[A-Z][\w ]{2,40}?)\s{1,40}\|\s{1,4}(?P<count>\d{1,20})\s{1,120}\|\s*$")
_DCGM_STATUS = regex(r"\s{1,16}gpuId (?P<index>\d{1,3}):\s*$")
_DCGM_STATES = regex(r"\s{1,16}(?P<states>[UDX_](?: [UDX_]){0,71})\s*$")
_MARKERS = ("Link 0: ", "all links are in", "<inactive>", "NVLINK Error Counts", "NvLink Link Status", "gpuId ")
_MOST_GPUS = 256
_NORMAL = ("successful", "total link recovery", "raw ", "fec ", "packets", "bytes", "ber")
_CLASSES = (("replay", "replays"), ("recover", "recoveries"), ("crc", "crc"), ("ecc", "crc"))


@dataclass
class _Status:
    """Which links of one GPU are up, as one listing has it."""

    first: int
    last: int = 0
    speeds: dict[int, int] = field(default_factory=dict)
    inactive: list[int] = field(default_factory=list)


@dataclass
class _Errors:
    """Errors on the links of one GPU, as one listing has them."""

    first: int
    last: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    links: dict[int, None] = field(default_factory=dict)


@dataclass
class _Gpu:
    """One GPU: its number, where it was named last, and what the last listings say."""

    index: int
    line: int
    uuid: str | None = None
    name: str | None = None
    status: _Status | None = None
    errors: _Errors | None = None


def read(section: Section) -> Iterator[Reading]:
    """Gpu, NvlinkLinks and NvlinkErrors of each GPU, of the last listing that has it."""
    gpus = _gpus(section)
    links = [one for gpu in gpus.values() for one in _links(section, gpu)]
    for gpu in gpus.values():
        if gpu.name and gpu.status:
            named = Gpu(index=gpu.index, uuid=gpu.uuid, name=gpu.name, reported_by="nvidia-smi")
            yield section.observe(named, gpu.status.first)
    errors = [one for gpu in gpus.values() for one in _errors(section, gpu)]
    yield from links
    yield from errors
    whole = " -i" not in command_of(section) and "|" not in command_of(section) and not _is_cut(section)
    if links:
        yield section.looked(NvlinkLinks, complete=whole)
    if errors:
        yield section.looked(NvlinkErrors, complete=whole)


def _is_cut(section: Section) -> bool:
    """Whether the last line is the beginning of one on a link."""
    last = next((line[:200] for line in reversed(section.lines) if line.strip()), "")
    return last.lstrip().startswith("Link ") and not any(form.match(last) for form in (_ACTIVE, _INACTIVE, _LINK))


def _gpus(section: Section) -> dict[int, _Gpu]:
    gpus: dict[int, _Gpu] = {}
    current: _Gpu | None = None
    link: int | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:300]
        named = _named(line)
        if named:
            number, uuid, name = named
            current = gpus.get(number) or _Gpu(number, index)
            current.name = name or current.name
            current.line, current.uuid = index, uuid or current.uuid
            if len(gpus) < _MOST_GPUS:
                gpus[number] = current
        elif current is not None and (line[:1].isspace() or line.startswith(("|", "NVML"))):
            heading = _DCGM_LINK.match(line)
            if heading:
                link = int(heading["link"]) if heading["link"] else None
            else:
                _status(current, line, index)
                _count(current, line, index, link)
    return gpus


def _named(line: str) -> tuple[int, str | None, str | None] | None:
    if "GPU" not in line and "gpuId" not in line:
        return None
    match = _GPU.match(line) or _DCGM_GPU.match(line) or _DCGM_STATUS.match(line)
    said = match.groupdict() if match else {}
    return (int(said["index"]), said.get("uuid"), said.get("name")) if said else None


def _status(gpu: _Gpu, line: str, index: int) -> None:
    active, inactive = _ACTIVE.match(line), _INACTIVE.match(line)
    states = _DCGM_STATES.match(line)
    if not (active or inactive or states or _ALL_INACTIVE.match(line)):
        return
    if gpu.status is None or gpu.status.first != gpu.line:
        gpu.status = _Status(gpu.line)
    if active:
        gpu.status.speeds[int(active["link"])] = round(float(active["speed"]) * 1000)
    elif inactive:
        gpu.status.inactive.append(int(inactive["link"]))
    elif states:
        for link, state in enumerate(states["states"].split(" ")):
            if state == "U":
                gpu.status.speeds[link] = 0
            elif state == "D":
                gpu.status.inactive.append(link)
    gpu.status.last = index


def _count(gpu: _Gpu, line: str, index: int, link: int | None) -> None:
    match = _ERRORS.match(line) or _DCGM_ERRORS.match(line)
    what = match["what"].lower() if match else ""
    if match is None or any(word in what for word in _NORMAL):
        return
    if gpu.errors is None or gpu.errors.first != gpu.line:
        gpu.errors = _Errors(gpu.line)
    name, count = next((name for word, name in _CLASSES if word in what), "packets"), int(match["count"])
    gpu.errors.counts[name] = gpu.errors.counts.get(name, 0) + count
    gpu.errors.last = index
    named = match.groupdict().get("link")
    number = int(named) if named else link
    if count and number is not None:
        gpu.errors.links[number] = None


def _links(section: Section, gpu: _Gpu) -> Iterator[Observed]:
    status = gpu.status
    if status is None:
        return
    fact = NvlinkLinks(
        index=gpu.index,
        uuid=gpu.uuid,
        state="all-inactive" if not status.speeds else "some-inactive" if status.inactive else "all-active",
        links=len(status.speeds) + len(status.inactive),
        active=len(status.speeds),
        inactive=", ".join(map(str, status.inactive)) or None,
        slowest_mb_s=min((speed for speed in status.speeds.values() if speed), default=None),
    )
    yield section.observe(fact, status.first, status.last)


def _errors(section: Section, gpu: _Gpu) -> Iterator[Observed]:
    errors = gpu.errors
    if errors is None:
        return
    fact = NvlinkErrors(
        index=gpu.index,
        uuid=gpu.uuid,
        replays=errors.counts.get("replays"),
        recoveries=errors.counts.get("recoveries"),
        crc=errors.counts.get("crc"),
        packets=errors.counts.get("packets"),
        total=sum(errors.counts.values()),
        links_with_errors=", ".join(map(str, errors.links)) or None,
    )
    yield section.observe(fact, errors.first, errors.last)


READER = Reader("nvlink-status", read, markers=_MARKERS, commands=("nvidia-smi nvlink", "dcgmi nvlink"))
