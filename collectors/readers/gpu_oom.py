"""Allocations of GPU memory that failed, as PyTorch, NCCL, CUDA programs and the frameworks say it.

    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB
    RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.15 GiB total capacity; 78.2 GiB already
    Out of memory error on GPU 0. Cannot allocate 1.171875MB memory on GPU 0, available memory is only 758.000000KB.
    a17:311:340 [0] include/alloc.h:112 NCCL WARN Failed to CUDA malloc 6291456 bytes

Follows PyTorch 1.0 to 2.14 (c10/cuda/CUDACachingAllocator.cpp), NCCL's alloc.h, Paddle 1.7 to 3.0
(cuda_allocator.cc), llama.cpp, vLLM and SGLang. A
message is known by its numbers, or by the exception type before it: prose that names the words gives
nothing, nor does NCCL at another level than WARN. A cut message gives the numbers that it still holds.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.nccl_lines import nccl_lines
from collectors.readers.run_start import RUN_MARKERS, START_MARKERS, of_last_run, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.framework import GpuOom

MOST_OOMS = 2000
MOST_TEXT = 4000

_SIZE = r"(\d{1,9}(?:\.\d{1,4})?) (bytes|KiB|MiB|GiB)"
_TRIED = regex(rf"CUDA out of memory\. Tried to allocate (?:more than \d{{1,4}}(?:EB|PB|GB) memory|{_SIZE})")
_DEVICE = regex(r"GPU (\d{1,4})(?:;| has a total capac)")
_TOTAL = regex(rf"total capaci?ty of {_SIZE}|(?<=; ){_SIZE} total capacity")
_FREE = regex(rf"of which {_SIZE} is free|(?<=; ){_SIZE} free")
_OWN = regex(rf"this process has {_SIZE} memory in use|(?<=; ){_SIZE} reserved in total")
_PROCESS = regex(rf"Process (?P<pid>\d{{1,10}}) has {_SIZE} memory in use")
_BY_TORCH = regex(rf"Of the allocated memory {_SIZE} is allocated by PyTorch")
_UNUSED = regex(rf"allocated by PyTorch, .{{0,80}}?and {_SIZE} is reserved by PyTorch but unallocated")
_PLAIN = regex(r"(?:[\w.]{1,80}Error: )?(?:CUDA error: out of memory|CUDA out of memory occurred when warming up)")
_CUDA_PROGRAM = regex(
    r"(?:.{0,80}allocating (?P<mib>\d{1,9})(?:\.\d{1,4})? MiB on device (?P<gpu>\d{1,4}): )?"
    r"cudaMalloc failed: out of memory"
)
_HELD = regex(
    r"(?:[\w.]{1,80}Error: )?Free memory on device (?:cuda:(\d{1,4}) )?"
    r"\((\d{1,6}\.\d{1,4})/(\d{1,6}\.\d{1,4}) GiB\) on startup is less than desired GPU memory utilization "
    r"\([\d.]{1,8}, (\d{1,6}\.\d{1,4}) GiB\)"
)
_NO_ROOM = regex(
    r"(?:[\w.]{1,80}Error: )?(?:Not enough memory\. Please try to increase --mem-fraction-static"
    r"|No available memory for the cache blocks|To serve at least one request with the models?'s max seq len"
    r"|The model's max seq len \(\d{1,9}\) is larger than the maximum number of tokens)"
)
_OTHER = regex(
    r"(?:[\w.]{0,80}ResourceExhaustedError: .{0,200}?OOM when allocating tensor with shape.{0,300}GPU"
    r"|[\w.]{0,80}(?:XlaRuntimeError|JaxRuntimeError): RESOURCE_EXHAUSTED: Out of memory "
    r"(?:while trying to allocate|allocating) "
    r"(?P<bytes>\d{1,15}) bytes)"
)
_AMOUNT = r"[\d.]{1,20}[kKMGT]?B"
_PADDLE = regex(
    rf"Out of memory error on GPU (?P<gpu>\d{{1,3}})\. Cannot allocate (?P<wanted>{_AMOUNT}) memory on GPU "
    r"\d{1,3}, "
    rf"(?:(?P<own>{_AMOUNT}) memory has been allocated and )?available memory is only (?P<free>{_AMOUNT})"
)
_PADDLE_SIZE = regex(r"([\d.]{1,20}?)([kKMGT]?)B$")
_NCCL = regex(r"Failed to CUDA (?:m|c)alloc (?:async )?(\d{1,15}) bytes|Cuda failure (?:\d{1,4} )?'out of memory'")
_MIB = {"bytes": 1 / (1 << 20), "KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0}

_MARKERS = (
    *("CUDA out of memory", "CUDA error: out of memory", "cudaMalloc failed: out of memory"),
    *("Free memory on device", "increase --mem-fraction-static", "No available memory for the cache blocks"),
    *("ResourceExhaustedError: ", "RESOURCE_EXHAUSTED: Out of memory", "Out of memory error on GPU "),
    *("To serve at least one request with", "is larger than the maximum number of tokens"),
)
_NCCL_MARKERS = ("Failed to CUDA malloc", "Failed to CUDA calloc", "'out of memory'")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each rank, GPU and size of request that failed in the last run, however often printed."""
    seen: set[tuple[str | None, int | None, int | None, str]] = set()
    found = sorted((*_in_lines(section), *_in_nccl(section)), key=lambda one: one[1])
    recent = of_last_run(section, {index for _, index in found})
    for fact, index in [one for one in found if one[1] in recent][:MOST_OOMS]:
        key = (fact.rank, fact.gpu, fact.requested_mib, fact.reported_by)
        if key not in seen:
            seen.add(key)
            yield section.observe(fact, index)
    whole = shows_start(section)
    if seen or whole:
        yield section.looked(GpuOom, complete=whole)


def _in_lines(section: Section) -> Iterator[tuple[GpuOom, int]]:
    for index, line in section.matching(*_MARKERS):
        launched = without_launcher(after_progress(line))
        logged = without_stamp(launched.text)
        fact = _fact(logged.text[:MOST_TEXT].removeprefix("E   "), logged.rank or launched.rank)
        if fact is not None:
            yield fact, index


def _in_nccl(section: Section) -> Iterator[tuple[GpuOom, int]]:
    if not section.has(*_NCCL_MARKERS):
        return
    for record in nccl_lines(section):
        match = _NCCL.match(record.text[:200]) if record.level == "WARN" else None
        if match is not None:
            requested = round(int(match[1]) / (1 << 20)) if match[1] else None
            rank = None if record.rank is None else f"rank {record.rank}"
            yield GpuOom(rank=rank, requested_mib=requested, reported_by="nccl"), record.index


def _fact(text: str, rank: str | None) -> GpuOom | None:
    if (tried := _TRIED.search(text)) is not None:
        return _torch(text[tried.start() :], rank, tried)
    if _PLAIN.match(text):
        return GpuOom(rank=rank, reported_by="torch")
    if (program := _CUDA_PROGRAM.match(text)) is not None:
        gpu, mib = program["gpu"], program["mib"]
        return GpuOom(rank=rank, gpu=_int(gpu), requested_mib=_int(mib), reported_by="cuda")
    if (paddle := _PADDLE.match(text.lstrip())) is not None:
        wanted, free, own = (_paddle_mib(paddle[name]) for name in ("wanted", "free", "own"))
        gpu = int(paddle["gpu"])
        return GpuOom(rank=rank, gpu=gpu, requested_mib=wanted, free_mib=free, own_mib=own, reported_by="other")
    if (other := _OTHER.match(text)) is not None:
        size = other["bytes"]
        return GpuOom(rank=rank, requested_mib=round(int(size) / (1 << 20)) if size else None, reported_by="other")
    if (held := _HELD.match(text)) is not None:
        free, total, wanted = (round(float(held[group]) * 1024) for group in (2, 3, 4))
        return GpuOom(
            rank=rank,
            gpu=_int(held[1]),
            requested_mib=wanted,
            free_mib=free,
            total_mib=total,
            others_mib=max(total - free, 0),
            reported_by="framework",
        )
    return GpuOom(rank=rank, reported_by="framework") if _NO_ROOM.match(text) else None


SIBLINGS_APART = 16
"""Ranks that one launcher starts have process numbers close together; what another run left has not."""
CONTEXT_MIB = 1024
"""What a process may hold beside what PyTorch counts, where the message leaves it out."""


def _torch(text: str, rank: str | None, tried: re.Match[str]) -> GpuOom:
    """PyTorch's message, of 1.x in one bracket, of 2.x in sentences."""
    device = _DEVICE.search(text)
    own = _size(_OWN.search(text))
    processes = [(_mib(match[2], match[3]), int(match["pid"])) for match in _PROCESS.finditer(text)]
    siblings = None
    by_torch = _size(_BY_TORCH.search(text))
    if not own and by_torch:  # in a container the driver may not know this process, and says 0 bytes
        reserved = _size(_UNUSED.search(text)) or 0
        own = None if processes else by_torch + reserved
    if own is None and by_torch is not None:
        # Without "this process has" the list of processes holds this one too: the smallest that is large enough.
        large = [one for one in processes if one[0] >= by_torch]
        if large:
            own, pid = min(large)
            processes.remove((own, pid))
            siblings = sum(size for size, other in processes if abs(other - pid) <= SIBLINGS_APART)
    free, total = _size(_FREE.search(text)), _size(_TOTAL.search(text))
    others = sum(size for size, _ in processes) if processes else None
    if others is None and None not in {own, free, total}:
        others = max(total - free - own - CONTEXT_MIB, 0)  # type: ignore[operator]
    return GpuOom(
        most_held_by=None if own is None or others is None else "others" if others > own else "own",
        rank=rank,
        gpu=int(device[1]) if device else None,
        requested_mib=_mib(tried[1], tried[2]) if tried[1] else None,
        free_mib=free,
        total_mib=total,
        own_mib=own,
        others_mib=others,
        siblings_mib=siblings,
        reported_by="torch",
    )


def _size(match: re.Match[str] | None) -> int | None:
    if match is None:
        return None
    number, unit = [group for group in match.groups() if group is not None][:2]
    return _mib(number, unit)


def _paddle_mib(text: str | None) -> int | None:
    """`1.171875MB`, `758.000000KB` and `28.770508GB`, of 1024 each."""
    match = _PADDLE_SIZE.match(text) if text else None
    try:
        number = float(match[1]) if match else None
    except ValueError:
        number = None
    if match is None or number is None:
        return None
    return round(number * 1024.0 ** ("kMGT".find(match[2].replace("K", "k")) - 1 if match[2] else -2))


def _mib(number: str, unit: str) -> int:
    return round(float(number) * _MIB[unit])


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


READER = Reader(
    "gpu-oom",
    read,
    markers=(*_MARKERS, *_NCCL_MARKERS, *START_MARKERS),
    lines=(*_MARKERS, *_NCCL_MARKERS, *RUN_MARKERS),
)
