"""Machines of one job that go by one name, as the heads of NCCL's lines and its interfaces show.

    localhost:95772:95782 [0] INFO NET : Using interface em1:10.7.7.23<0>
    localhost:27895:27932 [0] NCCL INFO NET/Socket : Using [0]em1:10.7.7.30<0>

Follows NCCL 2.0 to 2.32. Processes of one machine take the same interface, so that one name with two addresses on
interfaces of one name is two machines. Where the interfaces have other names nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.nccl_lines import nccl_lines
from kb.evidence import Reader, Reading, Section
from kb.facts.network import SharedHostName

_INTERFACE = regex(
    r"(?:Bootstrap ?: Using|NET(?:/Socket)? : Using(?: interface)?) ?(?:\[0\])?(?P<interface>[^\s:\[\]]{1,40}):"
    r"(?P<address>\d{1,3}(?:\.\d{1,3}){3})<\d{1,5}>"
)
_MARKERS = ("Bootstrap : Using", "Bootstrap: Using", "NET : Using", "NET/Socket : Using")
_MOST = 4


def read(section: Section) -> Iterator[Reading]:
    """SharedHostName for each name with more than one address."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for line in nccl_lines(section, *_MARKERS):
        match = _INTERFACE.match(line.text)
        if match is not None and line.host is not None:
            addresses = found.setdefault((line.host, match["interface"]), {})
            addresses.setdefault(match["address"], line.index)
    told: set[str] = set()
    for (host, interface), addresses in found.items():
        if len(addresses) > 1 and host not in told:
            told.add(host)
            some = list(addresses)[:_MOST]
            fact = SharedHostName(
                name=host, interface=interface, addresses=", ".join(some), machines=len(addresses)
            )
            yield section.observe(fact, addresses[some[1]])


READER = Reader("nccl-host-names", read, markers=_MARKERS)
