"""The own all-reduce kernels of vLLM, SGLang and TensorRT-LLM: why they are off, and how they fail.

    WARNING 01-31 12:00:00 [custom_all_reduce.py:147] Custom allreduce is disabled because your platform lacks GPU P2P capability or P2P test failed.
    Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'invalid argument'
    [TensorRT-LLM][WARNING] Since Peer to Peer not supported, fallback to AllReduceStrategy: NCCL

Follows vLLM 0.4 to 0.33, SGLang 0.3 to 0.5, TensorRT-LLM 0.8 to 1.2, kernels as cuda-gdb's `info cuda kernels`
lists them, and stacks of py-spy that end in one. That one is off is a choice and no fault. A cut line gives the reason as far as it still stands there.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies, Tally
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import START_MARKERS, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.framework import Framework
from kb.facts.peer_paths import CustomAllReduce, CustomAllReduceReason

_DISABLED = regex(r"Custom allreduce is disabled (?P<why>(?:because|due to) .{1,300})")
_SETUP = regex(r"Setup Custom allreduce failed with (?P<error>.{1,200}?)(?:\. (?:To silence|If your|This is)|$)")
_REASONS: tuple[tuple[CustomAllReduceReason, str], ...] = (
    ("pcie-only", r"more than two PCIe-only GPUs"),
    ("no-peer-access", r"lacks GPU P2P|P2P test failed"),
    ("world-size", r"unsupported world size"),
    ("several-nodes", r"spans across nodes"),
    ("compute-capability", r"capability"),
    ("library-missing", r"missing custom allreduce library"),
)
_WORLD = regex(r"world size: (\d{1,6})")
_KERNEL = regex(
    r"(?:.{0,160}?: VLLM: )?Failed: (?:Cuda error )?"
    r"(?P<place>\S{0,200}(?:custom_all_?reduce|quick_all_?reduce)\S{0,60}:\d{1,6}) "
    r"'(?P<error>[^']{1,120})'"
)
_TRTLLM_OFF = regex(
    r"\[TensorRT-LLM\]\[\w{4,8}\] Since (?:Peer to Peer|NVLink) not supported, fallback to AllReduceStrategy: NCCL"
)
_TRTLLM_FAILED = regex(
    r"(?:\s{0,8}what\(\): {1,4})?(?:RuntimeError: )?(?:\[[^\]]{1,60}\] ?){0,4}CUDA runtime error in "
    r"(?:cudaIpc\w{1,40}|cudaDeviceEnablePeerAccess)\(.{0,200}?\): "
    r"(?P<error>.{1,120}?) \((?P<place>/\S{1,200}:\d{1,6})\)"
)
_ACTIVE = regex(
    r"[* ]\s{1,20}\d{1,6}\s{1,20}\S{1,10}\s{1,20}\d{1,4}\s{1,20}\d{1,12} Active"
    r"\s{1,8}0x[0-9a-f]{1,64} \([\d,]{1,30}\) \([\d,]{1,30}\) "
    r"(?P<kernel>\S.{0,200}?(?:AllReduceKernel|cross_device_reduce)\w{0,30})"
)
_FRAME = regex(r"\s{1,12}(?:custom_)?all_reduce \((?P<place>(?:\S{0,200}/)?custom_all_reduce\.py:\d{1,6})\)\s*$")
_VLLM = regex(r"(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d")
_SGLANG = regex(r"\[(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?: [A-Z]{2,4}\d{1,6}){0,6}\] ")
_MARKERS = (
    *(
        "Custom allreduce is disabled",
        "Setup Custom allreduce failed",
        "Failed: Cuda error ",
        "custom_all_reduce.cuh:",
        "to AllReduceStrategy: NCCL",
    ),
    *(
        "CUDA runtime error in cudaIpc",
        "CUDA runtime error in cudaDeviceEnablePeer",
        "AllReduceKernel",
        "cross_device_reduce",
        "custom_all_reduce.py",
    ),
)


class _Said(NamedTuple):
    """All that makes two lines say the same."""

    state: str
    framework: Framework
    reason: CustomAllReduceReason | None = None
    world_size: int | None = None
    error: str | None = None
    place: str | None = None


def read(section: Section) -> Iterator[Reading]:
    """One fact for each different statement, with how many ranks make it."""
    found: Tallies[_Said] = Tallies()
    for index, whole in section.matching(*_MARKERS):
        launched = without_launcher(after_progress(whole)[:2000])
        logged = without_stamp(launched.text)
        said = _said(launched.text, logged.text)
        if said is not None and not _calls_the_frame_above(section, index, whole):
            found.add(said, index, logged.rank or launched.rank or launched.process)
    for said, tally in found:
        yield section.observe(_fact(said, tally), tally.index)
    whole_run = shows_start(section)
    if len(found) or whole_run:
        yield section.looked(CustomAllReduce, complete=whole_run)


def _calls_the_frame_above(section: Section, index: int, line: str) -> bool:
    """Whether a line is a frame that only called another one of the same kernel, which is told already."""
    return index > 0 and _FRAME.match(line) is not None and _FRAME.match(section.lines[index - 1]) is not None


def _said(line: str, text: str) -> _Said | None:
    framework: Framework = "vllm" if _VLLM.match(line) else "sglang" if _SGLANG.match(line) else "other"
    if (disabled := _DISABLED.match(text)) is not None:
        reason = next((name for name, words in _REASONS if re.search(words, disabled["why"])), None)
        world = _WORLD.search(disabled["why"])
        return _Said("disabled", framework, reason or "other", int(world[1]) if world else None)
    if (setup := _SETUP.match(text)) is not None:
        return _Said("failed", framework, "setup-failed", error=setup["error"])
    if (kernel := _KERNEL.match(text)) is not None:
        owner: Framework = "sglang" if "sgl" in kernel["place"] else "vllm"
        return _Said("failed", owner, error=kernel["error"], place=_short(kernel["place"]))
    if _TRTLLM_OFF.match(text):
        return _Said("disabled", "tensorrt-llm", "no-peer-access" if "Peer" in text[:60] else "pcie-only")
    if (failed := _TRTLLM_FAILED.match(text)) is not None:
        return _Said("failed", "tensorrt-llm", error=failed["error"], place=_short(failed["place"]))
    if (active := _ACTIVE.match(text)) is not None:
        name = active["kernel"]
        return _Said(
            "running", "tensorrt-llm" if "tensorrt" in name else "vllm" if "vllm" in name else "other", place=name
        )
    if (frame := _FRAME.match(line)) is not None:
        return _Said("running", "sglang" if "sglang" in frame["place"] else "vllm", place=_short(frame["place"]))
    return None


def _short(place: str) -> str:
    return "/".join(place.rsplit("/", 2)[-2:])


def _fact(said: _Said, tally: Tally) -> CustomAllReduce:
    return CustomAllReduce.model_validate(said._asdict() | {"ranks": tally.processes, "count": tally.count})


READER = Reader("custom-all-reduce", read, markers=(*_MARKERS, *START_MARKERS))
