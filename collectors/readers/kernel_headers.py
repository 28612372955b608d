"""For which of the installed kernels the headers are there: listings of /lib/modules/*/build and what it leads to.

    lrwxrwxrwx 1 root root 39 Apr 15 21:04 /lib/modules/6.8.0-60-generic/build -> /usr/src/linux-headers-6.8.0-60-generic
    drwxr-xr-x 7 root root 4096 Apr 20 06:12 /usr/src/linux-headers-6.8.0-60-generic

Follows `ls -ld` of coreutils. That what a link leads to is missing is known only where the listing shows /usr/src too,
that a kernel has no such link (on Debian and Ubuntu it comes with the headers) where it shows /lib/modules/* as well.
Other lines give nothing.
"""  # noqa: E501 - lines as they are

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.driver import KernelHeaders

_BUILD = regex(
    r"(?P<type>[ld])[rwxsStT-]{9}\S?\s.{10,120}?\s(?P<path>(?:/usr)?/lib/modules/(?P<kernel>[^/\s]{3,100})/build)"
    r"(?: -> (?P<target>\S{1,300}))?\s*$"
)
_FOLDER = regex(
    r"[ld][rwxsStT-]{9}\S?\s.{10,120}?\s(?P<path>/(?:usr/src|lib/modules|usr/lib/modules)/\S{1,200}?)"
    r"(?: -> .{1,300})?\s*$"
)
_KERNEL = regex(r"(?:/usr)?/lib/modules/(?P<kernel>\d[^/\s]{2,100})$")
_SHOWS_KERNELS = regex(r"ls -ld? (?:.{0,300} )?(?:/usr)?/lib/modules/\* ")
_SHOWS_TARGETS = regex(r"ls -ld? .{0,300}/usr/src/")
_MOST = 100


def read(section: Section) -> Iterator[Reading]:
    """KernelHeaders for each kernel whose link is shown, as far as it is known where that leads, or has none."""
    listed: dict[str, int] = {}
    links = []
    for index, whole in section.matching("/usr/src/", "/lib/modules/"):
        line = whole[:MOST_COLUMNS]
        folder, build = _FOLDER.match(line), _BUILD.match(line)
        if build:
            links.append((index, build))
        elif folder:
            listed.setdefault(folder["path"], index)
    shows_targets = _SHOWS_TARGETS.match(command_of(section)) is not None
    for index, build in links[:_MOST]:
        target = build["target"]
        here = (
            None
            if target is None
            else posixpath.normpath(posixpath.join(posixpath.dirname(build["path"]), target))
        )
        if build["type"] == "d" or here in listed:
            yield section.observe(KernelHeaders(kernel=build["kernel"], present=True), index)
        elif shows_targets:
            yield section.observe(KernelHeaders(kernel=build["kernel"], present=False), index)
    if shows_targets and _SHOWS_KERNELS.match(command_of(section)):
        linked = {build["kernel"] for _, build in links}
        kernels = [(match["kernel"], index) for path, index in listed.items() if (match := _KERNEL.match(path))]
        for kernel, index in [one for one in kernels if one[0] not in linked][:_MOST]:
            yield section.observe(KernelHeaders(kernel=kernel, present=False), index)
    if links or shows_targets:
        yield section.looked(KernelHeaders, complete=shows_targets, reason="not-collected")


READER = Reader(
    "kernel-headers",
    read,
    markers=("/build -> ",),
    commands=("ls -ld /lib/modules/*", "ls -ld /lib/modules/*/build", "ls -l /lib/modules/*/build"),
)
