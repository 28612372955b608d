"""Ports of RDMA devices line by line, whichever tool printed them. No reader."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from kb.facts.network import RdmaPort

_State: TypeAlias = Literal["active", "armed", "initializing", "down", "unknown"]
_Transport: TypeAlias = Literal["infiniband", "iwarp", "efa", "usnic", "unspecified"]

_DEVICE = regex(
    r"(?:CA '|hca_id:\s{1,8}|Infiniband device ')(?P<device>[\w.-]{1,60})'?"
    r"(?: port (?P<port>\d{1,3}) status:)?\s*$"
)
_ASKED = regex(
    r"(?:\+{1,4} |[$#] )?(?:sudo )?ibv_devinfo\b.{0,60}? -d ?(?P<device>[\w.-]{1,60})(?: -i ?(?P<port>\d{1,3}))?\b"
)
"""In the trace of a script, whose filter may leave no more than the state."""
_PORT = regex(r"\s{0,24}(?:Port (?P<port>\d{1,3}):|port:\s{1,8}(?P<number>\d{1,3}))\s*$")
_KEY = regex(r"\s{0,40}(?P<key>[A-Za-z][\w ]{1,24}?):\s{0,24}(?P<value>\S.{0,80}?)\s*$")
_LINK = regex(
    r"(?:link )?(?P<device>[\w.-]{1,60})/(?P<port>\d{1,3}) (?:subnet_prefix \S{1,40} )?(?:lid \d{1,6} )?"
    r"(?:sm_lid \d{1,6} )?(?:lmc \d{1,3} )?state (?P<state>[A-Z]{2,12}) physical_state (?P<physical>[A-Z_]{2,20})"
    r"(?: netdev (?P<netdev>[\w.-]{1,30}))?"
)
_NETDEV = regex(
    r"(?P<device>[\w.-]{1,60}) port (?P<port>\d{1,3}) ==> (?P<netdev>[\w.-]{1,30}) \((?P<state>Up|Down)\)\s*$"
)
_SYSFS = regex(
    r"(?:\S{0,80}?)/sys/class/infiniband/(?P<device>[\w.-]{1,60})/ports/(?P<port>\d{1,3})/"
    r"(?P<name>state|phys_state|rate|link_layer|lid|sm_lid):(?P<value>.{1,60})$"
)
_STATES: tuple[tuple[str, _State], ...] = (
    ("active", "active"),
    ("armed", "armed"),
    ("init", "initializing"),
    ("down", "down"),
)
_TRANSPORTS: tuple[tuple[str, _Transport], ...] = (
    ("infiniband", "infiniband"),
    ("iwarp", "iwarp"),
    ("usnic", "usnic"),
    ("unspecified", "unspecified"),
    ("efa", "efa"),
)
_AMAZON = "0x1d0f"
_NUMBER = regex(r"\d{1,6}")
_CODE = regex(r"^\d: |\s\(\d{1,3}\)$|_")


@dataclass
class _Port:
    """What the lines of one port say, by the names that facts use."""

    device: str
    port: int
    first: int
    last: int
    values: dict[str, str] = field(default_factory=dict)


class PortLines:
    """Takes lines in order and gives the ports that they describe."""

    def __init__(self) -> None:
        self._ports: dict[tuple[str, int], _Port] = {}
        self._device: tuple[str, int] | None = None
        self._of_device: dict[str, str] = {}
        self._here: _Port | None = None

    def take(self, line: str, index: int) -> None:
        """Adds one line; one that no tool prints is passed over."""
        device = _DEVICE.match(line)
        if device:
            self._device, self._of_device, self._here = (device["device"], index), {}, None
            if device["port"]:
                self._here = self._port(device["device"], int(device["port"]), index)
            return
        asked = _ASKED.match(line)
        if asked:
            self._device, self._of_device = (asked["device"], index), {}
            self._here = self._port(asked["device"], int(asked["port"] or 1), index)
            return
        whole = _LINK.match(line) or _NETDEV.match(line) or _SYSFS.match(line)
        if whole:
            self._take_whole(whole, index)
            return
        port = _PORT.match(line)
        if port and self._device:
            self._here = self._port(self._device[0], int(port["port"] or port["number"]), self._device[1])
            self._here.values |= self._of_device
            return
        pair = _KEY.match(line) if self._device else None
        if pair:
            self._take_pair(pair["key"].lower(), pair["value"], index)

    def _port(self, device: str, number: int, index: int) -> _Port:
        return self._ports.setdefault((device, number), _Port(device, number, index, index))

    def _take_whole(self, match: re.Match[str], index: int) -> None:
        """A line that says everything on one port, or one value of it."""
        found = match.groupdict()
        port = self._port(match["device"], int(match["port"]), index)
        port.last = index
        if found.get("name"):
            names = {
                "phys_state": "physical state",
                "link_layer": "link layer",
                "lid": "base lid",
                "sm_lid": "sm lid",
            }
            port.values[names.get(match["name"], match["name"])] = match["value"].strip()
            return
        if found.get("physical"):
            port.values["physical state"] = match["physical"]
        port.values.setdefault("state", {"Up": "active"}.get(match["state"], match["state"]))
        if found.get("netdev"):
            port.values["netdev"] = match["netdev"]

    def _take_pair(self, key: str, value: str, index: int) -> None:
        known = {
            "port_lid": "base lid",
            "sm_lid": "sm lid",
            "link_layer": "link layer",
            "phys state": "physical state",
            "phys_state": "physical state",
            "active_mtu": "mtu",
        }.get(key, key)
        if self._here is None:
            self._of_device.setdefault(known, value)
        else:
            self._here.values.setdefault(known, value)
            self._here.last = index

    @property
    def is_cut(self) -> bool:
        """Whether the last device was given without its ports."""
        return self._device is not None and self._here is None

    def facts(self) -> list[tuple[RdmaPort, int, int]]:
        """The ports, each with its first and last line."""
        return [(_fact(port), port.first, port.last) for port in self._ports.values() if "state" in port.values]


def _fact(port: _Port) -> RdmaPort:
    values = port.values
    layer = values.get("link layer", "").lower()
    said = values["state"].lower()
    state: _State = next((state for word, state in _STATES if word in said), "unknown")
    rate = _NUMBER.search(values.get("rate", ""))
    physical = _CODE.sub("", values.get("physical state", "").strip()).lower()
    mtu = _NUMBER.match(values.get("mtu", ""))
    return RdmaPort(
        device=port.device,
        port=port.port,
        state=state,
        physical=physical or None,
        link_layer="infiniband" if layer == "infiniband" else "ethernet" if layer == "ethernet" else None,
        transport=_transport(values),
        rate_gbps=int(rate[0]) if rate else None,
        subnet_manager=_managed(values) if layer == "infiniband" else None,
        netdev=values.get("netdev"),
        mtu=int(mtu[0]) if mtu else None,
    )


def _transport(values: dict[str, str]) -> _Transport | None:
    if values.get("vendor_id", "").lower() == _AMAZON:
        return "efa"
    said = values.get("transport", "").lower()
    return next((transport for word, transport in _TRANSPORTS if word in said), None)


def _managed(values: dict[str, str]) -> bool | None:
    """Whether a subnet manager configured the port; addresses may stand in hexadecimal."""
    lids = [values[name] for name in ("base lid", "sm lid") if name in values]
    if not lids:
        return None
    return all(lid.lower() not in {"0", "0x0", "0xffff", "65535"} for lid in lids)
