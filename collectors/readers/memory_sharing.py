"""GPU memory that could not be shared between processes: CUDA IPC handles and descriptors of cuMem pieces.

    RuntimeError: pidfd_getfd: Operation not permitted
        File "/opt/torch/multiprocessing/reductions.py", line 149, in rebuild_cuda_tensor
    RuntimeError: CUDA error: invalid resource handle
    failed to register CUDA shared memory region 'output_0': failed to open CUDA IPC handle: invalid argument

Follows PyTorch 1.8 to 2.14 (torch/multiprocessing/reductions.py, c10/cuda/CUDACachingAllocator.cpp) and Triton's
server from 20.03 on. A CUDA error
counts only where the frames right above it are those that share tensors; a sentence about one gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.peer_paths import MemorySharingFailure

_RAISED = r"(?:E {1,8})?(?:[A-Za-z_][\w.]{0,80}(?:Error|Exception)(?:\(\w{1,40}\))?: |\s{0,8}what\(\): {1,4})"
_DESCRIPTOR = regex(rf"{_RAISED}pidfd_(?:open|getfd): ?(?P<error>[A-Z][\w ]{{3,60}})")
_WRAPPED = regex(r".{0,200}?\(pidfd_(?:open|getfd): ?(?P<error>[A-Z][\w ]{3,60})\)")
_OLD_KERNEL = regex(rf"{_RAISED}The kernel on this machine does not support the (?P<call>pidfd_\w{{4,6}}) syscall")
_SERVER = regex(r"(?:.{0,300}: |`?)failed to open CUDA IPC handle: (?P<error>[a-z][a-z ]{3,60})")
_CUDA = regex(rf"{_RAISED}CUDA (?:driver )?error: (?P<error>[^(]{{3,100}})")
_EXPORT = ("_share_cuda_(", "in reduce_storage", "in reduce_tensor")
_IMPORT = ("_new_shared_cuda(", "in rebuild_cuda_tensor", "in _new_shared_cuda")
_MARKERS = ("failed to open CUDA IPC handle", "pidfd_open", "pidfd_getfd", *_EXPORT, *_IMPORT)
_FRAMES = 8


class _Said(NamedTuple):
    """All that makes two failures the same."""

    call: Literal["export", "import", "descriptor"]
    error: str
    expandable_segments: bool
    rank: str | None


def read(section: Section) -> Iterator[Reading]:
    """One fact for each different failure of each rank."""
    found: Tallies[_Said] = Tallies()
    for index, whole in section.matching("pidfd_", "CUDA error", "CUDA driver error", "CUDA IPC handle"):
        launched = without_launcher(after_progress(whole)[:2000])
        logged = without_stamp(launched.text)
        said = _said(section, index, logged.text[:1000], logged.rank or launched.rank)
        if said is not None:
            found.add(said, index, said.rank or launched.process)
    for said, tally in found:
        fact = MemorySharingFailure.model_validate(said._asdict() | {"count": tally.count})
        yield section.observe(fact, tally.index)
    if len(found):
        yield section.looked(MemorySharingFailure, complete=False)


def _said(section: Section, index: int, text: str, rank: str | None) -> _Said | None:
    if (refused := _DESCRIPTOR.match(text) or _WRAPPED.match(text)) is not None:
        return _Said("descriptor", refused["error"].strip(), expandable_segments=False, rank=rank)
    if (old := _OLD_KERNEL.match(text)) is not None:
        named = "expandable_segments" in text
        return _Said("descriptor", f"no {old['call']} in this kernel", expandable_segments=named, rank=rank)
    if (refused := _SERVER.match(text)) is not None:
        return _Said("import", refused["error"].strip(), expandable_segments=False, rank=rank)
    error = _CUDA.match(text)
    if error is None:
        return None
    call = _call_above(section, index)
    return _Said(call, error["error"].strip(" ."), expandable_segments=False, rank=rank) if call else None


def _call_above(section: Section, index: int) -> Literal["export", "import"] | None:
    """What the frames right above a line do, where they share a tensor."""
    for before in range(index - 1, max(index - _FRAMES, -1), -1):
        frame = without_stamp(without_launcher(section.lines[before][:600]).text).text
        if not frame.startswith("  "):
            return None
        if any(call in frame for call in _EXPORT):
            return "export"
        if any(call in frame for call in _IMPORT):
            return "import"
    return None


READER = Reader("memory-sharing", read, markers=_MARKERS, context=(_FRAMES, _FRAMES))
