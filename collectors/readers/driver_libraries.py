"""Driver libraries and NCCL on disk, and which of them the dynamic linker's cache knows.

        libcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1
    lrwxrwxrwx 1 root root 20 Mar  9 12:11 /usr/lib64/libcuda.so.1 -> libcuda.so.590.48.01
    -rw-r--r-- 1 root root 97218416 Dec  8 13:20 /usr/lib64/libcuda.so.590.48.01

Follows `ldconfig -p` of glibc (elf/cache.c) and `ls`, `readlink` and `find` of coreutils and findutils. Names
without a folder are taken only where a heading or the command tells it; other lines that do not fit give nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Looked, Observed, Reader, Reading, Section
from kb.facts.driver import LibraryFile, LibraryLink, LinkerEntry

_LIBRARY = regex(r"lib(?:cuda|cudadebugger|cudart|nvcuvid|nvidia-[\w-]{1,40}|nccl)\.so[\w.-]{0,40}$")
_VERSIONED = regex(r"(?P<stem>lib[\w-]{1,50})\.so\.(?P<version>\d{1,5}(?:\.\d{1,5}){1,3})$")
_OLDEST_DRIVER = 90
"""Below it, the number of a libnvidia-* file is an ABI of its own (libnvidia-egl-wayland.so.1.1.11)."""

_CACHED = regex(r"\s{0,8}(lib\S{1,80}\.so\S{0,40}) \(([^()]{1,80})\) => (/\S{1,400})\s*$")
_NO_ABI = regex(r"libc[456]|ELF|hwcap: .*|OS ABI: .*")
_MODE = regex(r"(?:\*\*\* ls:\s)?\s{0,8}([-l])[rwxsStT-]{9}[.+@]?\s")
_MOUNT = regex(
    r"(?:\S{1,80} on|\S{1,80}|\d{1,9} \d{1,9} \d{1,5}:\d{1,9} /\S{0,400}) (?P<path>/\S{1,300}\.so\.[\d.]{1,20})"
    r" (?:type \S{1,20} \(r[ow],|\S{1,20} r[ow],|r[ow],)"
)
_HEADING = regex(r"(/\S{1,400}):$")
_RESOLVES = regex(r"(?:readlink|realpath)\s(?P<arguments>.{1,1500})")
_FOLDER_OF = regex(r"(?:ls|find)\s(?P<arguments>[^|;&]{1,400})")
_CUT = regex(r"\|\s{0,4}(?:head|tail|sed|awk)\b")
_DRIVER = regex(r"cuda\b|cuda\.|nvidia", re.IGNORECASE)


def read(section: Section) -> Iterator[Reading]:
    """Cache entries in their order for each name, files that carry a version, and links with absolute ends."""
    entries = list(_cache(section))
    yield from entries
    found = list(_resolved(section) if _RESOLVES.match(command_of(section)) else _listed(section))
    yield from found
    yield from _looked(section, entries)
    if found:
        whole = command_of(section).startswith("find / ")
        yield section.looked(LibraryFile, complete=whole, reason="not-collected")
        yield section.looked(LibraryLink, complete=whole, reason="not-collected")


def _cache(section: Section) -> Iterator[Observed]:
    order: Counter[str] = Counter()
    for index, line in section.matching(") => /"):
        match = _CACHED.match(line[:MOST_COLUMNS])
        if match is None or not _LIBRARY.match(match[1]):
            continue
        soname, kinds, path = match.groups()
        abi = next((kind for kind in kinds.split(",") if not _NO_ABI.fullmatch(kind.strip())), None)
        yield section.observe(
            LinkerEntry(soname=soname, path=path, abi=abi and abi.strip(), order=order[soname]), index
        )
        order[soname] += 1


def _looked(section: Section, entries: list[Observed]) -> Iterator[Looked]:
    """Lines on other libraries alone prove nothing on those of the driver, unless they are the whole cache."""
    asked = command_of(section)
    is_whole = any("libs found in cache" in line for line in section.lines[:3])
    if entries:
        sonames = (observed.fact.soname for observed in entries if isinstance(observed.fact, LinkerEntry))
        has_driver = any(soname.startswith(("libcuda.", "libnvidia-")) for soname in sonames)
        is_cut = _CUT.search(asked) is not None
        yield section.looked(LinkerEntry, complete=(is_whole or has_driver) and not is_cut, reason="not-collected")
        return
    is_empty = not any(line.strip() for line in section.lines) and _DRIVER.search(asked) is not None
    if is_whole or (is_empty and asked.startswith("ldconfig")):
        yield section.looked(LinkerEntry)


def _listed(section: Section) -> Iterator[Observed]:
    """Files and links from `ls`, `ls -l` and `find`, and files that are mounted one by one into a container."""
    folder = _folder_of_command(command_of(section))
    for index, line in enumerate(section.lines):
        heading = _HEADING.match(line[:MOST_COLUMNS]) if line.endswith(":") else None
        if heading:
            folder = heading[1]
        if ".so" not in line:
            continue
        text = line[:MOST_COLUMNS].strip()
        mode, mount = _MODE.match(text), _MOUNT.match(text)
        if mount:
            yield from _of_names(section, index, [mount["path"]], None)
        elif mode:
            yield from _of_long_line(section, index, mode[1], text.split(), folder)
        else:
            yield from _of_names(section, index, text.split(), folder)


def _of_long_line(
    section: Section, index: int, mode: str, words: list[str], folder: str | None
) -> Iterator[Observed]:
    """The file or link of one line of `ls -l`. An empty file is a mount point that a container left behind."""
    if mode == "l":
        if len(words) > 3 and words[-2] == "->":
            path = _absolute(words[-3], folder)
            if path and _LIBRARY.match(posixpath.basename(path)):
                target = _absolute(words[-1], posixpath.dirname(path))
                yield from _observed(section, index, LibraryLink(path=path, target=target or words[-1]))
        return
    path = _absolute(words[-1], folder)
    file = _file(path) if path else None
    is_empty = "*** ls:" not in section.lines[index] and len(words) > 4 and words[4] == "0"
    if file and not is_empty:
        yield from _observed(section, index, file)


def _of_names(section: Section, index: int, words: list[str], folder: str | None) -> Iterator[Observed]:
    """The files of a line that holds nothing but paths of libraries, or names in a known folder."""
    names = [word.rstrip("*@") for word in words[:64]]
    if all(name.startswith(("/", "lib")) and ".so" in name for name in names):
        for path in (_absolute(name, folder) for name in names):
            file = _file(path) if path else None
            if file:
                yield from _observed(section, index, file)


def _resolved(section: Section) -> Iterator[Observed]:
    """Links whose end a known `readlink` or `realpath` printed, one line for each argument."""
    match = _RESOLVES.match(command_of(section))
    asked = [word for word in match["arguments"].split() if word.startswith("/")] if match else []
    lines = [(index, line.strip()) for index, line in enumerate(section.lines) if line.strip()]
    if len(asked) != len(lines):
        return
    for path, (index, line) in zip(asked, lines, strict=True):
        target = _absolute(line[:MOST_COLUMNS], posixpath.dirname(path))
        known = _LIBRARY.match(posixpath.basename(path)) and _LIBRARY.match(posixpath.basename(line))
        if known and target and target != path:
            yield from _observed(section, index, LibraryLink(path=path, target=target))


def _observed(section: Section, index: int, fact: LibraryFile | LibraryLink) -> Iterator[Observed]:
    yield section.observe(fact, index)


def _file(path: str) -> LibraryFile | None:
    """The library that a file name with a version stands for."""
    name = posixpath.basename(path)
    match = _VERSIONED.match(name)
    if match is None or not _LIBRARY.match(name):
        return None
    is_driver = match["stem"] not in {"libnccl", "libcudart"}
    if is_driver and int(match["version"].split(".")[0]) < _OLDEST_DRIVER:
        return None
    return LibraryFile(stem=match["stem"], path=path, version=match["version"])


def _absolute(name: str, folder: str | None) -> str | None:
    """The path, absolute and without `..`; None where its folder is not known."""
    if name.startswith("/"):
        return posixpath.normpath(name)
    if folder is None or not name:
        return None
    return posixpath.normpath(posixpath.join(folder, name))


def _folder_of_command(command: str) -> str | None:
    """The one folder that `ls` was given, where that is so."""
    match = _FOLDER_OF.match(command)
    if match is None:
        return None
    paths = [word for word in match["arguments"].split() if word.startswith("/")]
    return paths[0] if len(paths) == 1 and ".so" not in paths[0] and "*" not in paths[0] else None


READER = Reader(
    "driver-libraries",
    read,
    markers=(") => /", "libcuda.so", "libnvidia-", "libnccl.so"),
    commands=("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig", "readlink", "realpath"),
)
