"""What programs say when they cannot write for want of space, and for which place.

    OSError: [Errno 28] No space left on device: '/mnt/ckpt/step_100/mp_rank_00.pt'
    RuntimeError: unable to write to file </torch_2914_11_3>: No space left on device (28)
    DataLoader worker (pid 2914) is killed by signal: Bus error. It is possible that dataloader's workers are out of …
    failed to register layer: write /usr/lib/x86_64-linux-gnu/libcublasLt.so.12: no space left on device

Follows strerror(3), CPython, PyTorch, safetensors, huggingface_hub, shell tools, and Docker, containerd, BuildKit, Podman
and Apptainer where they unpack images. `File … cannot be opened.` is PyTorch's word for a checkpoint that it can't make. What NCCL says of its own segments
is in NcclShmFailure. A line whose first word is no program or exception is a person's and gives nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._places import place_of
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.storage import NoSpace, Place

_Reason: TypeAlias = Literal["space", "quota", "write-failed", "not-opened"]

_SPEAKER = regex(
    r"(?:E {1,8})?(?:\S{1,200}:\d{1,6}: )?(?:[\w./-]{1,120}|what\(\)|\[[^\]]{1,60}\])(?:\(\w{1,60}\))?:(?=\s)"
)
_QUOTED_ALONE = regex(r"[\w.]{1,80}Error\(\d{1,3}, ")
_FORMS: tuple[tuple[_Reason, str], ...] = (
    ("space", r"No space left on device|StorageFull|ENOSPC|database or disk is full"),
    ("space", r"Not enough free disk space to download"),
    ("space", r"dataloader's workers are out of shared memory"),
    ("quota", r"Disk quota exceeded|EDQUOT"),
    ("not-opened", r"^(?:E {1,8})?RuntimeError: File \S{1,400} cannot be opened\.\s*$"),
    ("write-failed", r"PytorchStreamWriter failed writing file|basic_ios::clear: iostream error"),
)
_BY_FORM = tuple((reason, regex(form, re.IGNORECASE)) for reason, form in _FORMS)
_PATH = regex(r"[\s'\"\u2018<(=](?P<path>/[\w./@+-]{2,300})")
_MARKERS = (
    *("o space left on device", "StorageFull", "isk quota exceeded", "database or disk is full"),
    *("RuntimeError: File ", "Not enough free disk space", "out of shared memory", "PytorchStreamWriter failed"),
)
_OF_LIMITS = regex(r".{0,1500}(?:/sys/fs/cgroup|cpuset\.|inotify|\bbpf\b)")
"""Limits of other things than a disk, which the kernel refuses in the same words."""
_IMAGE = regex(
    r"(?:time=\S{1,60} level=\w{1,10} msg=\\?\")?"
    r"(?:failed to (?:register|extract|unpack|pull|copy|export|solve|prepare|commit)\b"
    r"|Error response from daemon: |docker: |write /var/lib/(?:docker|containerd)/"
    r"|Error: (?:\w{1,20} ){0,4}(?:writing|copying|pulling|committing|creating|initializing)\b"
    r"|ERROR: failed to solve: |FATAL: {1,4}(?:While|Unable|container|image)\b)"
    r".{0,1500}\bno space left on device\\?\"?\.?\s*$"
)
"""Docker, containerd, Podman, BuildKit, Apptainer: no room for an image. Paths in it are those of the layer."""
_MOST_LINE = 2000


@dataclass
class _Failure:
    """One place that is full."""

    path: str | None
    rank: str | None
    text: str
    index: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """NoSpace for each place and reason."""
    failures: dict[tuple[Place, _Reason], _Failure] = {}
    for index, whole in section.matching(*_MARKERS):
        if "NCCL WARN" in whole or "NCCL INFO" in whole:
            continue
        launched = without_launcher(after_progress(whole))
        logged = without_stamp(launched.text)
        text = logged.text[:_MOST_LINE].strip()
        found = _failure(text)
        if found:
            reason, place, path = found
            failures.setdefault(
                (place, reason), _Failure(path, logged.rank or launched.rank, text[:300], index)
            ).count += 1
    for (place, reason), failure in failures.items():
        fact = NoSpace(
            place=place,
            reason=reason,
            path=failure.path,
            rank=failure.rank,
            text=failure.text,
            count=failure.count,
        )
        yield section.observe(fact, failure.index)
    if failures:
        yield section.looked(NoSpace)


def _failure(text: str) -> tuple[_Reason, Place, str | None] | None:
    if _OF_LIMITS.match(text):
        return None
    if _IMAGE.match(text):
        return "space", "images", None
    if _SPEAKER.match(text) is None and _QUOTED_ALONE.match(text) is None and "DataLoader worker (pid" not in text:
        return None
    reason = next((name for name, form in _BY_FORM if form.search(text)), None)
    if reason is None:
        return None
    match = _PATH.search(text)
    path = match["path"].rstrip(".") if match else None
    place = place_of(path) if path else "other"
    if "shared memory" in text or (path or "").startswith("/torch_"):
        place = "shm"
    elif reason in {"write-failed", "not-opened"}:
        place = "checkpoint"
    elif "Not enough free disk space to download" in text:
        place = "cache"
    return reason, place, path


READER = Reader("no-space", read, markers=_MARKERS)
