"""Whether this machine stands in its own list of IMEX nodes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Looked, Reading
from kb.facts.fabric import ImexMembership, ImexNodes
from kb.facts.network import NetworkInterface


def combine(facts: Facts) -> Iterator[Reading]:
    """One ImexMembership for each list of addresses; that none is ours only where all interfaces were listed.

    An interface tells its first addresses alone, so that a second one of the same kind is taken for none of ours.
    """
    interfaces = [(one, observed) for one, observed in facts.of(NetworkInterface) if one.role != "loopback"]
    looked = facts.looked(NetworkInterface)
    for nodes, observed in facts.of(ImexNodes):
        listed = {_plain(text) for text in (nodes.addresses or "").split()}
        if not listed:
            continue
        ours = [one for one in interfaces if {_plain(one[0].address), _plain(one[0].address6)} & listed]
        if ours or (interfaces and looked is not None and looked.complete):
            basis = [observed, *(of_interface for _, of_interface in (ours or interfaces)[:8])]
            yield derived(ImexMembership(member=bool(ours), nodes=nodes.nodes), basis)
            yield Looked(ImexMembership.kind, complete=True, where=observed.source.path)


def _plain(text: str | None) -> str | None:
    """An address in one way of writing."""
    return str(ipaddress.ip_address(text.partition("%")[0])) if text else None
