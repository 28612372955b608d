"""TCP between the interfaces of this machine and to the job's meeting point, and what its own name resolves to."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

from probe_journal import Journal

SIOCGIFADDR = 0x8915
IFA_TENTATIVE, IFA_DADFAILED = 0x40, 0x08
OF_THE_LINK = "20"
INET6 = "/proc/net/if_inet6"
MOST_ADDRESSES = 8
MOST_ADDRESSES6 = 6
"""Each connection may take three seconds, and there are as many as the square of this."""
MOST_MASTERS = 4
CONNECT_S = 3.0
HELLO = b"diagnose probe"


def work(journal: Journal) -> None:
    """Asks for names and addresses, then connects."""
    limit_s = journal.asked["step_s"]
    name = socket.gethostname()
    with journal.step("own-name", limit_s, name=name) as found:
        found.update(_resolved(name))
    with journal.step("addresses", limit_s) as found:
        addresses, addresses6 = _addresses(), _addresses6()
        found["addresses"] = [f"{interface} {address}" for interface, address in addresses + addresses6]
    chosen = [address for _, address in addresses[:MOST_ADDRESSES]]
    chosen6 = [address for _, address in addresses6[:MOST_ADDRESSES6]]
    pairs = [(to, whence) for family in (chosen, chosen6) for to in family for whence in family]
    pairs = [(to, whence) for to, whence in pairs if to == whence or "%" not in to + whence]
    left_out = len(addresses) + len(addresses6) - len(chosen) - len(chosen6)
    journal.note("plan", connections=len(pairs), addresses_left_out=left_out)
    for to, whence in pairs:
        with journal.step("connect", limit_s, target=to, source=whence) as found:
            found.update(_between(whence, to))
    master, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "")
    if master and port.isdigit():
        with journal.step("master", limit_s, target=master, port=int(port)) as found:
            found.update(_to_master(master, int(port)))


def _resolved(name: str) -> dict[str, Any]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        # Nobody answers is another thing than nobody knows.
        return {"error": error.strerror, "again": error.errno == socket.EAI_AGAIN}
    return {"addresses": list(dict.fromkeys(str(entry[4][0]) for entry in found))}


def _addresses() -> list[tuple[str, str]]:
    """Each interface with an IPv4 address."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            found.append((name, socket.inet_ntoa(answer[20:24])))
    return found


def _addresses6() -> list[tuple[str, str]]:
    """Each interface with an IPv6 address, one of the link alone as `fe80::1%eth0`; none without IPv6."""
    found = []
    try:
        lines = [line.split() for line in Path(INET6).read_text(encoding="ascii").splitlines()]
    except OSError:
        return []
    for digits, _, _, scope, flags, name in lines:
        if int(flags, 16) & (IFA_TENTATIVE | IFA_DADFAILED):
            continue
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits))
        found.append((name, f"{address}%{name}" if scope == OF_THE_LINK else address))
    # Those that lead to other machines first.
    return sorted(found, key=lambda one: ("%" in one[1], one[0] != "lo", one[0]))


def _between(whence: str, to: str) -> dict[str, Any]:
    """Whether a few bytes get from one own address to another."""
    port = None
    try:
        with socket.create_server((to, 0), family=_family(to)) as server:
            server.settimeout(CONNECT_S)
            port = server.getsockname()[1]
            began = time.perf_counter()
            with socket.create_connection((to, port), CONNECT_S, (whence, 0)) as client:
                accepted, _ = server.accept()
                with accepted:
                    accepted.settimeout(CONNECT_S)
                    client.sendall(HELLO)
                    arrived = accepted.recv(len(HELLO)) == HELLO
            took_ms = round((time.perf_counter() - began) * 1000, 3)
    except OSError as error:
        return {"port": port, **_refused(error)}
    return {"port": port, "result": "ok" if arrived else "wrong-data", "took_ms": took_ms}


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _to_master(master: str, port: int) -> dict[str, Any]:
    """What came of it: the first address of the name that answers counts, and each is told."""
    try:
        found = socket.getaddrinfo(master, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return _refused(error)
    tried: list[dict[str, Any]] = []
    for address in dict.fromkeys(str(entry[4][0]) for entry in found[:MOST_MASTERS]):
        try:
            with socket.create_connection((address, port), CONNECT_S):
                tried.append({"address": address, "result": "ok"})
                break
        except OSError as error:
            tried.append({"address": address, **_refused(error)})
    told = {key: one for key, one in tried[-1].items() if key != "address"}
    return {**told, "tried": tried} if len(tried) > 1 else told


def _refused(error: OSError) -> dict[str, Any]:
    if isinstance(error, socket.gaierror):
        return {"result": "no-name", "error": error.strerror}
    if isinstance(error, socket.timeout):
        return {"result": "timeout"}
    unreachable = error.errno in {errno.ENETUNREACH, errno.EHOSTUNREACH}
    refused = error.errno == errno.ECONNREFUSED
    result = "unreachable" if unreachable else "refused" if refused else "failed"
    return {"result": result, "error": error.strerror or str(error)}


if __name__ == "__main__":
    Journal().run(work)
