"""Names of network interfaces and addresses: what they tell on their own. No reader."""

from __future__ import annotations

from collectors.readers._regex import regex
from kb.facts.network import InterfaceRole

_ROLES: tuple[tuple[InterfaceRole, str], ...] = (
    ("loopback", r"lo\d{0,2}$"),
    ("docker-bridge", r"docker\d|docker_gwbridge|br-[0-9a-f]{12}$|podman\d"),
    ("virtual-bridge", r"virbr|lxcbr|lxdbr|lxc$|cni\d|cbr\d|nerdctl|kube-bridge|microk8s"),
    (
        "veth",
        r"veth|cali[0-9a-f]|lxc[0-9a-f]{4}|lxc_health|tap|vnet|fwpr|fwln|fwbr|azv|gke[0-9a-f]|eni[0-9a-f]{6}",
    ),
    (
        "tunnel",
        r"tun\d|wg\d|tailscale|flannel|vxlan|cilium_|tunl|ip6tnl|sit\d|gre|erspan|ppp|zt|genev|kube-ipvs|dummy",
    ),
    ("bond", r"bond\d|team\d"),
    ("infiniband", r"ib\d|ibp|ibs\d"),
    ("wireless", r"wl"),
    ("vlan", r"[\w-]{1,14}\.\d{1,4}$|vlan\d"),
)
_BY_NAME = tuple((role, regex(names)) for role, names in _ROLES)
_VIRTUAL = frozenset(("loopback", "docker-bridge", "virtual-bridge", "veth", "tunnel"))

IPV4 = r"\d{1,3}(?:\.\d{1,3}){3}"
"""An IPv4 address as a part of a regular expression."""


def role_of(name: str, *, of_infiniband: bool = False) -> InterfaceRole:
    """What an interface of this name is."""
    if of_infiniband:
        return "infiniband"
    return next((role for role, names in _BY_NAME if names.match(name)), "physical")


def is_virtual(role: InterfaceRole) -> bool:
    """Whether it leads to no other machine by itself."""
    return role in _VIRTUAL


def is_loopback(address: str) -> bool:
    """Whether the address is this machine's own, whatever machine that is."""
    plain = address.strip("[]").lower()
    return plain.startswith(("127.", "::ffff:127.")) or plain == "::1"
