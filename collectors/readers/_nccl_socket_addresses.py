"""The addresses that NCCL lists for its interfaces, and whether one belongs to a bridge of the machine. No reader.

    NET/Socket : Using [0]eno1:10.20.0.11<0> [1]br-0f3c5a7d9e1b:172.22.0.1<0>
    NET : Using interface virbr0:192.168.122.1<0>

NCCL up to 2.3 gives each interface a line, later ones one line to all.
"""

from __future__ import annotations

from collectors.readers._addresses import is_virtual, role_of
from collectors.readers._regex import regex

LISTS = ("NET/Socket : Using", "NET/Socket: Using", "NET : Using interface")
_MOST_COLUMNS = 4000
_PAIR = regex(r"(?:\[\d{1,4}\]|Using interface )(?P<name>[^\s:\[\]]{1,40}):(?P<address>\d{1,3}(?:\.\d{1,3}){3})<")


class SocketAddresses:
    """What a log says of the machine's interfaces."""

    def __init__(self) -> None:
        self._bridges: set[str] = set()
        self._others: set[str] = set()

    def take(self, text: str) -> None:
        """Adds the interfaces of a line that lists them."""
        for pair in _PAIR.finditer(text[:_MOST_COLUMNS]) if text.startswith(LISTS) else ():
            role = role_of(pair["name"])
            virtual = is_virtual(role) and role != "loopback"
            (self._bridges if virtual else self._others).add(pair["address"])

    def on_bridge(self, address: str) -> bool:
        """Whether it is a bridge's own, or lies in a /16 (Docker's pools) that bridges alone have."""
        if address in self._bridges:
            return address not in self._others
        network = _network(address)
        return network in map(_network, self._bridges) and network not in map(_network, self._others)


def _network(address: str) -> str:
    return ".".join(address.split(".")[:2])
