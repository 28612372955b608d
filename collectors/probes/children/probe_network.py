"""TCP between the interfaces of this machine and to the job's meeting point, and what its own name resolves to."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import time
from typing import Any

from probe_journal import Journal

SIOCGIFADDR = 0x8915
MOST_ADDRESSES = 8
CONNECT_S = 3.0
HELLO = b"diagnose probe"


def work(journal: Journal) -> None:
    """Asks for names and addresses, then connects."""
    limit_s = journal.asked["step_s"]
    name = socket.gethostname()
    with journal.step("own-name", limit_s, name=name) as found:
        found.update(_resolved(name))
    with journal.step("addresses", limit_s) as found:
        addresses = _addresses()
        found["addresses"] = [f"{interface} {address}" for interface, address in addresses]
    chosen = addresses[:MOST_ADDRESSES]
    journal.note("plan", connections=len(chosen) ** 2, addresses_left_out=len(addresses) - len(chosen))
    for _, to in chosen:
        for _, whence in chosen:
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


def _between(whence: str, to: str) -> dict[str, Any]:
    """Whether a few bytes get from one own address to another."""
    port = None
    try:
        with socket.create_server((to, 0)) as server:
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


def _to_master(master: str, port: int) -> dict[str, Any]:
    try:
        with socket.create_connection((master, port), CONNECT_S):
            return {"result": "ok"}
    except OSError as error:
        return _refused(error)


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
