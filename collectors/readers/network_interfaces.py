"""Network interfaces: ip addr, ip link, ifconfig, ethtool.

    2: eth0@if35: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default
        inet 10.0.70.9/20 brd 10.0.79.255 scope global eth0
    bond0.137: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9000

Follows iproute2 (long and -br), net-tools 1.60 and 2, ethtool. Ends of containers' cables that carry no address
are left out. An interface whose first line is cut gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._addresses import IPV4, is_virtual, role_of
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.network import NetworkInterface

_State: TypeAlias = Literal["up", "down", "no-carrier", "unknown"]

_NAME = r"(?P<name>[A-Za-z][\w.:-]{0,30}?)"
_IP = regex(
    rf"\d{{1,5}}: {_NAME}(?:@\w[\w.-]{{0,30}})?: <(?P<flags>[A-Z0-9_,-]{{0,200}})> mtu (?P<mtu>\d{{1,6}})"
    r"(?:.{0,200}? state (?P<state>[A-Z]{2,20}))?"
)
_BRIEF = regex(
    rf"{_NAME}(?:@\w[\w.-]{{0,30}})?\s{{2,40}}(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)"
    r"(?P<rest>(?:\s.{0,600})?)$"
)
_IFCONFIG = regex(rf"{_NAME}: flags=\d{{1,6}}<(?P<flags>[A-Z0-9_,-]{{0,200}})>\s{{1,4}}mtu (?P<mtu>\d{{1,6}})")
_OLD = regex(rf"{_NAME}\s{{1,12}}Link encap:(?P<encap>\w[\w -]{{1,30}})")
_OLD_FLAGS = regex(r"\s{4,16}(?P<flags>[A-Z][A-Z ]{2,80}?)\s{1,4}MTU:(?P<mtu>\d{1,6})")
_ETHTOOL = regex(rf"Settings for {_NAME}:\s*$")
_SPEED = regex(r"\s{1,12}Speed: (?P<speed>\d{1,7})Mb/s")
_LINK = regex(r"\s{1,12}Link detected: (?P<link>yes|no)")
_INET = regex(rf"\s{{4,16}}inet (?:addr:)?(?P<address>{IPV4})(?:/(?P<prefix>\d{{1,2}}))?")
_INET6 = regex(r"\s{4,16}inet6 (?:addr: ?)?(?P<address>[0-9a-f:]{2,39})(?:/(?P<prefix>\d{1,3}))?")
_ADDRESS = regex(rf"(?P<address>{IPV4})/(?P<prefix>\d{{1,2}})")
_INFINIBAND = "link/infiniband"
_MOST_INTERFACES = 200


@dataclass
class _Interface:
    """One interface as far as it was read."""

    name: str
    first: int
    last: int
    state: _State = "unknown"
    mtu: int | None = None
    address: str | None = None
    prefix: int | None = None
    address6: str | None = None
    speed: int | None = None
    of_infiniband: bool = False


def read(section: Section) -> Iterator[Reading]:
    """NetworkInterface for each, and that all were looked at where the command shows all."""
    found: dict[str, _Interface] = {}
    here: _Interface | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        begun = _begun(line, index)
        if begun:
            here = found.setdefault(begun.name, begun) if len(found) < _MOST_INTERFACES else None
        elif here is not None and line[:1].isspace():
            _take(here, line, index)
        elif line.strip():
            here = None
    for interface in found.values():
        role = role_of(interface.name, of_infiniband=interface.of_infiniband)
        if role == "veth" and interface.address is None:
            continue
        fact = NetworkInterface(
            name=interface.name,
            state=interface.state,
            role=role,
            virtual=is_virtual(role),
            address=interface.address,
            prefix=interface.prefix,
            address6=interface.address6,
            mtu=interface.mtu,
            speed_mbps=interface.speed,
        )
        yield section.observe(fact, interface.first, interface.last)
    if found:
        yield section.looked(NetworkInterface, complete=_shows_all(section, found), reason="not-collected")


def _shows_all(section: Section, found: dict[str, _Interface]) -> bool:
    """Whether every interface is there: a listing that is not of one, and begins with the loopback."""
    command = command_of(section)
    return "|" not in command and " dev " not in command and " show " not in command and "lo" in found


def _begun(line: str, index: int) -> _Interface | None:
    """The interface that begins on this line."""
    match = _IP.match(line) or _IFCONFIG.match(line)
    if match:
        flags = set(match["flags"].split(","))
        return _Interface(match["name"], index, index, _state(flags), int(match["mtu"]))
    brief = _BRIEF.match(line) if not line[:1].isspace() else None
    if brief:
        states: dict[str, _State] = {"UP": "up", "DOWN": "down", "LOWERLAYERDOWN": "no-carrier", "UNKNOWN": "up"}
        interface = _Interface(brief["name"], index, index, states.get(brief["state"], "unknown"))
        address = _ADDRESS.search(brief["rest"])
        if address:
            interface.address, interface.prefix = address["address"], int(address["prefix"])
        return interface if address or brief["rest"].strip() or brief["state"] != "UNKNOWN" else None
    old = _OLD.match(line)
    if old:
        return _Interface(old["name"], index, index, of_infiniband=old["encap"].startswith("InfiniBand"))
    setting = _ETHTOOL.match(line)
    return _Interface(setting["name"], index, index) if setting else None


def _state(flags: set[str]) -> _State:
    if "UP" not in flags:
        return "down"
    return "no-carrier" if "NO-CARRIER" in flags or not flags & {"LOWER_UP", "RUNNING"} else "up"


def _take(interface: _Interface, line: str, index: int) -> None:
    """Adds an indented line below the first one."""
    inet, inet6 = _INET.match(line), _INET6.match(line)
    if inet and interface.address is None:
        interface.address = inet["address"]
        interface.prefix = int(inet["prefix"]) if inet["prefix"] else None
    elif inet6 and interface.address6 is None and not inet6["address"].startswith("fe80"):
        interface.address6 = inet6["address"]
    elif _INFINIBAND in line:
        interface.of_infiniband = True
    elif old := _OLD_FLAGS.match(line):
        interface.state, interface.mtu = _state(set(old["flags"].split())), int(old["mtu"])
    elif speed := _SPEED.match(line):
        interface.speed = int(speed["speed"])
    elif link := _LINK.match(line):
        interface.state = "up" if link["link"] == "yes" else "no-carrier"
    else:
        return
    interface.last = index


READER = Reader(
    "network-interfaces",
    read,
    markers=("> mtu ", ">  mtu ", "Link encap:", "Settings for ", "LOWER_UP"),
    commands=("ip addr", "ip a", "ip link", "ip -br", "ip -4", "ifconfig", "ethtool "),
)
