"""Whether a module has offered itself to the RDMA drivers as the one that hands out addresses of GPU memory.

    $ cat /sys/kernel/mm/memory_peers/nv_mem/version
    cat: /sys/kernel/mm/memory_peers/nv_mem/version: No such file or directory

Follows ib_core of MLNX_OFED 4 and 5, DOCA and nv_peer_mem: there is one folder for each module that registered,
and none at all where the RDMA drivers know no such modules. Other errors of cat and ls give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.network import PeerMemoryClient

_FOLDER = "/sys/kernel/mm/memory_peers"
_MISSING = regex(
    r"(?:\S{0,40}/)?(?:cat|ls|stat|head): (?:cannot \w{4,8} )?['\"]?"
    rf"{_FOLDER}(?:/(?P<client>[\w-]{{2,40}}))?[\w/]{{0,40}}['\"]?: No such file or directory"
)
_ASKED = regex(rf"(?:sudo )?cat {_FOLDER}/(?P<client>[\w-]{{2,40}})/version\b")
_VERSION = regex(r"\d{1,3}\.\d{1,3}[\w.-]{0,20}\s*$")


def read(section: Section) -> Iterator[Reading]:
    """PeerMemoryClient for each name that was asked for."""
    asked = _ASKED.match(command_of(section))
    if asked and section.lines and _VERSION.match(section.lines[0][:60]):
        yield section.observe(PeerMemoryClient(name=asked["client"], registered=True), 0)
    seen: set[str | None] = set()
    for index, line in section.matching(_FOLDER):
        for match in _MISSING.finditer(line[:600]):
            if match["client"] in seen or line[: match.start()][-1:] not in {"", " ", "`", '"'}:
                continue
            seen.add(match["client"])
            yield section.observe(PeerMemoryClient(name=match["client"], registered=False), index)
    if seen or asked:
        yield section.looked(PeerMemoryClient)


READER = Reader("peer-memory", read, markers=(_FOLDER,), commands=(f"cat {_FOLDER}", f"sudo cat {_FOLDER}"))
