"""Which libnccl a process has loaded, or would load: its memory map, ldd, and what vLLM says that it takes.

    7f2a6d000000-7f2a6d200000 r-xp 00000000 103:02 2883 /usr/lib/x86_64-linux-gnu/libnccl.so.2.16.2
            libnccl.so.2 => /usr/local/lib/libnccl.so.2 (0x00007f31d2000000)
    INFO 05-20 12:00:00 utils.py:580] Found nccl from environment variable VLLM_NCCL_SO_PATH=/usr/lib/libnccl.so.2

Follows proc_pid_maps(5), lsof, pmap, ldd of glibc 2.17 to 2.42, the dynamic linker's LD_DEBUG=libs, and vLLM 0.2
to 0.12. What lies on disk alone is in LibraryFile; a path in prose gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_tools import NcclLibrary

_How: TypeAlias = Literal["mapped", "resolved", "chosen"]
_Origin: TypeAlias = Literal["wheel", "torch", "conda", "system", "cuda", "other"]

_MAP = r"\s{0,8}[0-9a-f]{6,16}-[0-9a-f]{6,16} \S{4} [0-9a-f]{1,16} \S{1,12} \d{1,20}\s{1,80}"
_PATH = r"(?P<path>/[\w./@+~-]{0,300}libnccl\.so(?:\.\d{1,4}){0,4})"
_FORMS: tuple[tuple[_How, str], ...] = (
    ("mapped", _MAP + _PATH),
    ("mapped", rf"\S{{1,40}} {{1,20}}\d{{1,10}} .{{1,120}}\bmem\b.{{1,120}}\s{_PATH}\s*$"),
    ("resolved", rf"\s{{0,16}}libnccl\.so[\d.]{{0,8}} => {_PATH} \(0x"),
    ("resolved", rf"\s{{0,16}}\d{{1,10}}:\s{{1,8}}calling init: {_PATH}"),
    (
        "chosen",
        rf".{{0,200}}Found nccl from (?:library |environment variable (?P<variable>[A-Z_]{{3,40}})=){_PATH}",
    ),
)
_BY_FORM = tuple((how, regex(form)) for how, form in _FORMS)
_ANY = regex(_PATH)
_MAPS = regex(r".{0,400}(?:/maps\b|\bpmap\b|\blsof\b|memory_maps)")
_OF_ONE = regex(
    r"(?!.{0,600}/proc/\*)(?!.{0,600}\bfor \w{1,20} in )"
    r"(?:.{0,400}/proc/[^*]{1,120}?/maps\b|.{0,40}\bpmap .{0,40}\b\d{1,10}$)"
)
"""A command that shows the memory of one process."""
_ORIGINS: tuple[tuple[_Origin, str], ...] = (
    ("wheel", r".{0,300}/nvidia/nccl/lib/"),
    ("torch", r".{0,300}/torch/lib/"),
    ("conda", r".{0,300}/(?:\w{0,20}conda\w{0,4}|micromamba|mambaforge|miniforge\w?)/"),
    ("cuda", r"/usr/local/cuda|/opt/nvidia/hpc_sdk|/opt/(?:hpcx|cray)"),
    ("system", r"(?:/usr)?/lib(?:64)?/|/usr/local/lib(?:64)?/"),
)
_BY_ORIGIN = tuple((origin, regex(form)) for origin, form in _ORIGINS)
_VERSION = regex(r"\.so\.(\d{1,3}(?:\.\d{1,3}){1,3})$")
_MOST = 100


def read(section: Section) -> Iterator[Reading]:
    """NcclLibrary for each path and way of finding it."""
    in_map = _MAPS.match(command_of(section)[:600]) is not None
    found: dict[tuple[str, _How, str | None], tuple[int, int]] = {}
    for index, whole in section.matching("libnccl.so"):
        line = whole[:2000]
        for path, how, variable in _in_line(line, in_map=in_map):
            key = (path, how, variable)
            first, count = found.get(key, (index, 0))
            if key in found or len(found) < _MOST:
                found[key] = (first, count + 1)
    mapped = {path: match[1] for path, how, _ in found if how == "mapped" and (match := _VERSION.search(path))}
    for (path, how, variable), (index, count) in found.items():
        version = _VERSION.search(path)
        others = {one for one in mapped.values() if path in mapped and one != mapped[path]}
        fact = NcclLibrary(
            path=path,
            origin=next((origin for origin, form in _BY_ORIGIN if form.match(path)), "other"),
            version=version[1] if version else None,
            how=how,
            variable=variable,
            beside=min(others) if others and _OF_ONE.match(command_of(section)[:600]) else None,
            count=count,
        )
        yield section.observe(fact, index)
    if found:
        yield section.looked(NcclLibrary)


def _in_line(line: str, *, in_map: bool) -> Iterator[tuple[str, _How, str | None]]:
    for how, form in _BY_FORM:
        match = form.match(line)
        if match is not None:
            yield match["path"], how, match.groupdict().get("variable")
            return
    if in_map:
        for match in _ANY.finditer(line):
            yield match["path"], "mapped", None


READER = Reader(
    "nccl-libraries",
    read,
    markers=("libnccl.so",),
)
