"""The GPU architectures that a build of NCCL has code for: its make line, or cuobjdump on the library.

    make -j 64 NVCC_GENCODE="-gencode=arch=compute_80,code=sm_80" src.build
    $ cuobjdump --list-elf /usr/lib/x86_64-linux-gnu/libnccl.so.2
    ELF file    1: libnccl.1.sm_80.cubin

Follows NCCL's makefiles (2.0 to 2.32) and cuobjdump of CUDA 9 to 13. A make line of another project, and a
listing that is not shown to be NCCL's, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_tools import NcclCode

_GENCODE = regex(r"NVCC_GENCODE\s?\??=\s?(?P<list>.{1,1500})")
_SM = regex(r"code=\[?\\?\"?(?:compute_\d{2,3}[a-f]?,)?sm_(\d{2,3})")
_PTX = regex(r"code=\[?\\?\"?compute_\d{2,3}")
_ELF = regex(
    r"ELF file {1,8}\d{1,6}: \S{0,200}\.sm_(\d{2,3})[a-f]?\.cubin|^\s{0,8}(?:\d{1,6} )?sm_(\d{2,3})[a-f]?\s*$"
)
_OF_NCCL = regex(r".{0,400}cuobjdump.{0,300}nccl")
_NAMED = regex(r"(?i)nccl|src\.build")


def read(section: Section) -> Iterator[Reading]:
    """One fact for the make line, one for the listing."""
    for index, line in section.matching("NVCC_GENCODE"):
        match = _GENCODE.search(line[:2000])
        near = " ".join((command_of(section)[:300], *(section.lines[max(index - 3, 0) : index + 2])))
        if match is None or not _NAMED.search(near[:3000].replace("NVCC_GENCODE", "")):
            continue
        archs = sorted({int(one) for one in _SM.findall(match["list"])})
        if archs:
            yield section.observe(_code(archs, ptx=_PTX.search(match["list"]) is not None, by_make=True), index)
    if not _OF_NCCL.match(command_of(section)[:800]):
        return
    found: dict[int, int] = {}
    for index, line in enumerate(section.lines):
        elf = _ELF.search(line[:400]) if "sm_" in line else None
        if elf is not None:
            found.setdefault(int(elf[1] or elf[2]), index)
    if found:
        yield section.observe(_code(sorted(found), ptx=False, by_make=False), min(found.values()))


def _code(archs: list[int], *, ptx: bool, by_make: bool) -> NcclCode:
    text = " ".join(f"sm_{arch}" for arch in archs)
    return NcclCode(archs=text, newest=archs[-1], ptx=ptx, reported_by="make" if by_make else "cuobjdump")


READER = Reader("nccl-code", read, markers=("NVCC_GENCODE",), commands=("cuobjdump",))
