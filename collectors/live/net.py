"""The network of this machine from /proc and /sys alone, in the words of ip, ss and show_gids.

For machines and containers that have none of these tools, and for what belongs to one process.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from typing import TYPE_CHECKING

from collectors.live.tree import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collectors.live.tree import Tree

_FLAGS = ((0x2, "BROADCAST"), (0x8, "LOOPBACK"), (0x10, "POINTOPOINT"), (0x1000, "MULTICAST"), (0x1, "UP"))
_LINKS = {"1": "ether", "32": "infiniband", "772": "loopback"}
_SIOCGIFADDR, _SIOCGIFNETMASK = 0x8915, 0x891B
_STATES = {
    "01": "ESTAB",
    "02": "SYN-SENT",
    "03": "SYN-RECV",
    "04": "FIN-WAIT-1",
    "05": "FIN-WAIT-2",
    "06": "TIME-WAIT",
    "07": "UNCONN",
    "08": "CLOSE-WAIT",
    "09": "LAST-ACK",
    "0A": "LISTEN",
    "0B": "CLOSING",
}
_TABLE_BYTES = 4 << 20
_SS_HEAD = "State Recv-Q Send-Q Local Address:Port Peer Address:Port"


def interfaces(tree: Tree) -> Iterator[str]:
    """`ip addr` of every interface. Addresses of IPv4 come from the kernel, so that another root shows none."""
    six = _addresses6(tree)
    for folder in tree.glob("/sys/class/net/*"):
        name = folder.rpartition("/")[2]
        try:
            flags = int(tree.read(f"{folder}/flags"), 16)
            number, mtu, kind, state = (
                tree.read(f"{folder}/{what}") for what in ("ifindex", "mtu", "type", "operstate")
            )
        except (OSError, ValueError):  # gone meanwhile, or no interface (bonding_masters)
            continue
        words = [word for bit, word in _FLAGS if flags & bit] + (
            ["LOWER_UP"] if _has_carrier(tree, folder) else []
        )
        yield f"{number}: {name}: <{','.join(words)}> mtu {mtu} state {state.upper()} group default"
        yield f"    link/{_LINKS.get(kind, 'none')}"
        yield from (f"    inet {address}" for address in (_address4(name) if tree.root == "/" else ()))
        yield from (f"    inet6 {address}" for address in six.get(name, ()))


def routes(tree: Tree) -> Iterator[str]:
    """`ip route` of the main table of IPv4."""
    for line in tree.read(f"{_tables(tree)}/route", _TABLE_BYTES).splitlines()[1:]:
        fields = line.split()
        if len(fields) < 8:
            continue
        name, target, gateway, metric, mask = fields[0], fields[1], fields[2], fields[6], fields[7]
        prefix = _ones(int(mask, 16))
        where = "default" if int(mask, 16) == 0 else f"{_quad(target)}/{prefix}"
        via = f" via {_quad(gateway)}" if int(gateway, 16) else ""
        yield f"{where}{via} dev {name} metric {metric}"


def listening_ports(tree: Tree) -> Iterator[str]:
    """`ss -ltn`: the TCP ports on which something listens."""
    yield _SS_HEAD
    for _, state, row in sockets(tree, _tables(tree)):
        if state == "LISTEN":
            yield row


def sockets(tree: Tree, folder: str) -> Iterator[tuple[str, str, str]]:
    """Inode, state and row of `ss -tn` of each TCP socket in the tables of `folder`."""
    for table in ("tcp", "tcp6"):
        try:
            lines = tree.read(f"{folder}/{table}", _TABLE_BYTES).splitlines()[1:]
        except OSError as error:
            complain(f"{folder}/{table}", error)
            continue
        for line in lines:
            fields = line.split()
            if len(fields) < 10 or ":" not in fields[4]:  # cut at the limit
                continue
            state = _STATES.get(fields[3], "UNKNOWN")
            sent, received = (int(part, 16) for part in fields[4].split(":"))
            peer = "0.0.0.0:*" if state == "LISTEN" else _endpoint(fields[2])
            yield fields[9], state, f"{state} {received} {sent} {_endpoint(fields[1])} {peer}"


def gids(tree: Tree) -> Iterator[str]:
    """`show_gids`: the identifiers of each port of each RDMA device that are set."""
    yield "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV"
    for port in tree.glob("/sys/class/infiniband/*/ports/*"):
        device, number = port.split("/")[4], port.rpartition("/")[2]
        for path in tree.glob(f"{port}/gids/*"):
            index = path.rpartition("/")[2]
            try:
                gid = tree.read(path)
                if not gid.strip("0:"):
                    continue
                kind = tree.read(f"{port}/gid_attrs/types/{index}")
                netdev = tree.read(f"{port}/gid_attrs/ndevs/{index}")
            except OSError:  # an entry that is not set has no type
                continue
            address = _mapped(gid)
            yield f"{device}\t{number}\t{index}\t{gid}\t{address}\tv{2 if 'v2' in kind else 1}\t{netdev}"


def _tables(tree: Tree) -> str:
    """Where the tables of the network are: ours, or those of the first process of another root."""
    return "/proc/net" if tree.root == "/" else "/proc/1/net"


def _has_carrier(tree: Tree, folder: str) -> bool:
    try:
        return tree.read(f"{folder}/carrier") == "1"
    except OSError:  # EINVAL where the interface is down
        return False


def _address4(name: str) -> list[str]:
    """The first IPv4 address of an interface with the length of its prefix; none where it has none."""
    request = name.encode()[:15].ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            address, mask = (
                fcntl.ioctl(any_socket.fileno(), what, request)[20:24] for what in (_SIOCGIFADDR, _SIOCGIFNETMASK)
            )
        except OSError:
            return []
    return [f"{socket.inet_ntoa(address)}/{_ones(int.from_bytes(mask, 'big'))}"]


def _addresses6(tree: Tree) -> dict[str, list[str]]:
    """The IPv6 addresses of each interface."""
    found: dict[str, list[str]] = {}
    try:
        lines = tree.read(f"{_tables(tree)}/if_inet6", _TABLE_BYTES).splitlines()
    except OSError:  # without IPv6
        return {}
    for line in lines:
        fields = line.split()
        if len(fields) > 5:
            address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(fields[0]))
            found.setdefault(fields[5], []).append(f"{address}/{int(fields[2], 16)}")
    return found


def _endpoint(text: str) -> str:
    """`10.0.70.9:29500` of `0946000A:733C`, and `[::1]:80` likewise. The kernel prints words in its own order."""
    host, _, port = text.partition(":")
    if len(host) == 8:
        return f"{_quad(host)}:{int(port, 16)}"
    words = struct.pack("=4I", *(int(host[at : at + 8], 16) for at in range(0, 32, 8)))
    return f"[{socket.inet_ntop(socket.AF_INET6, words)}]:{int(port, 16)}"


def _ones(mask: int) -> int:
    return bin(mask).count("1")  # noqa: FURB161 - the oldest Python that this runs on has no int.bit_count


def _quad(text: str) -> str:
    return socket.inet_ntoa(struct.pack("=I", int(text, 16)))


def _mapped(gid: str) -> str:
    """The IPv4 address that an identifier carries, or nothing."""
    head, _, tail = gid.rpartition("ffff:")
    if head.strip("0:") or tail.count(":") != 1:
        return ""
    return socket.inet_ntoa(bytes.fromhex(tail.replace(":", "")))
