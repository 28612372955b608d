"""CUDA and driver libraries that a process has mapped, or that its loader would choose; deleted ones are marked.

    7f2a6d000000-7f2a6d200000 r-xp 00000000 103:02 2883 /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15 (deleted)
            libcuda.so.1 => /usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01 (0x00007f31d2000000)

Follows proc_pid_maps(5) and ldd of glibc 2.17 to 2.42. NCCL itself is in NcclLibrary. Libraries of other kinds, and paths
in prose, give nothing.
"""  # noqa: E501 - lines as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.driver import MappedLibrary

_How: TypeAlias = Literal["mapped", "resolved"]

_STEM = (
    r"libcuda|libcudart|libnvidia-(?:ml|ptxjitcompiler|nvvm)|libnccl-[\w-]{2,30}|libcudnn"
    r"|lib(?:vgpu|vcuda|orion|nvshare)\w{0,10}"
)
_PATH = rf"(?P<path>/[\w./@+~-]{{0,300}}/?(?P<stem>{_STEM})\.so(?P<version>(?:\.\d{{1,4}}){{0,4}}))"
_MAP = r"\s{0,8}[0-9a-f]{6,16}-[0-9a-f]{6,16} \S{4} [0-9a-f]{1,16} \S{1,12} \d{1,20}\s{1,80}"
_FORMS: tuple[tuple[_How, str], ...] = (
    ("mapped", rf"{_MAP}{_PATH}(?P<deleted> \(deleted\))?\s*$"),
    ("resolved", rf"\s{{0,16}}lib[\w-]{{2,40}}\.so[\d.]{{0,12}} => {_PATH} \(0x"),
)
_BY_FORM = tuple((how, regex(form)) for how, form in _FORMS)
_MARKERS = (
    "libcuda.so",
    "libcudart.so",
    "libnvidia-ml.so",
    "libnvidia-ptxjit",
    "libnccl-",
    "libcudnn.so",
    "libvgpu",
    "libvcuda",
    "liborion",
    "libnvshare",
)
_MOST = 100


def read(section: Section) -> Iterator[Reading]:
    """MappedLibrary for each path and way of finding it."""
    found: dict[tuple[str, str, str | None, bool, _How], tuple[int, int]] = {}
    for index, whole in section.matching(*_MARKERS):
        for how, form in _BY_FORM:
            match = form.match(whole[:2000])
            if match is None:
                continue
            told = match.groupdict()
            version = told["version"].lstrip(".") if told["version"].count(".") > 1 else None
            key = (told["stem"], told["path"], version, told.get("deleted") is not None, how)
            first, count = found.get(key, (index, 0))
            if key in found or len(found) < _MOST:
                found[key] = (first, count + 1)
    for (stem, path, version, deleted, how), (index, count) in found.items():
        fact = MappedLibrary(stem=stem, path=path, version=version, deleted=deleted, how=how, count=count)
        yield section.observe(fact, index)
    if found:
        yield section.looked(MappedLibrary, complete=False, reason="not-collected")


READER = Reader("mapped-libraries", read, markers=_MARKERS)
