"""Whether a machine stands in its own list of IMEX nodes."""

from __future__ import annotations

import pytest
from combining import combined, complete, in_part, observed

from kb.facts.fabric import ImexMembership, ImexNodes
from kb.facts.network import NetworkInterface

NODES = ImexNodes(nodes=2, addresses="192.0.2.11 2001:db8:0::12")
LOOPBACK = NetworkInterface(name="lo", role="loopback", virtual=True, address="127.0.0.1")


def card(address: str | None = None, address6: str | None = None) -> NetworkInterface:
    return NetworkInterface(name="eth0", role="physical", virtual=False, address=address, address6=address6)


@pytest.mark.parametrize(
    ("interface", "member"),
    [
        (card("192.0.2.11"), True),
        (card("192.0.2.99", "2001:db8::12"), True),
        (card("192.0.2.99"), False),
    ],
    ids=["by-ipv4", "by-ipv6-written-otherwise", "in-none"],
)
def test_the_list_is_held_against_the_interfaces(interface: NetworkInterface, member: bool) -> None:
    """Addresses count as what they are, not as they are written."""
    facts = combined(ImexMembership, NODES, LOOPBACK, interface, complete(NetworkInterface))

    assert facts == [ImexMembership(member=member, nodes=2)]


def test_that_none_is_ours_is_known_only_where_all_interfaces_were_listed() -> None:
    """Of a listing that was cut nothing follows, unless it holds one of the nodes."""
    assert combined(ImexMembership, NODES, card("192.0.2.99"), in_part(NetworkInterface)) == []
    assert combined(ImexMembership, NODES, card("192.0.2.11"), in_part(NetworkInterface)) != []


def test_names_and_an_empty_list_are_held_against_nothing() -> None:
    """What is no address can't be compared."""
    named, empty = ImexNodes(nodes=2), ImexNodes(nodes=0)

    assert combined(ImexMembership, named, empty, card("192.0.2.11"), complete(NetworkInterface)) == []


def test_it_rests_on_the_list_and_on_the_interface_that_is_in_it() -> None:
    """So that the proof shows both."""
    (found,) = observed(ImexMembership, NODES, card("192.0.2.99"), card("192.0.2.11"))

    assert [one.fact for one in found.basis] == [NODES, card("192.0.2.11")]
