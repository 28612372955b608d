"""The messages by which torch and Gloo say that processes did not meet, and what they tell. No reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from collectors.readers._regex import regex
from collectors.readers.errno_words import connection_reason, is_loopback, peer_of
from kb.facts import Fact
from kb.facts.collectives import GlooMesh, NameUnresolved, RendezvousFailure
from kb.facts.nccl_failures import ConnectionFailure, InterfaceMissing

MARKERS = (
    *(
        "client socket has timed out",
        "client socket has failed to connect to",
        "clients joined",
        "wait timeout after",
    ),
    *("Socket Timeout", "Failed to recv, got 0 bytes", "failed on SocketImpl(", "RendezvousTimeoutError"),
    *("RendezvousConnectionError", "Error waiting on exit barrier", "monitoredBarrier", "connectFullMesh failed"),
    *("retrieving ncclUniqueId from", "gloo/transport/tcp", "hostname of the client socket cannot be"),
    *(
        "connection to the C10d store has failed",
        "connect() timed out. Original timeout",
        "to complete rendezvous",
    ),
    *("network addresses of (", "Unable to resolve hostname to a (local) address", "[Gloo] Rank "),
    *("NCCL WARN Net : error encountered when getting address info", "failed to send a keep-alive heartbeat"),
)


class Meeting(NamedTuple):
    """A type of fact and its fields."""

    fact_type: type[Fact]
    fields: dict[str, Any]


_CONNECT = regex(
    r"The client socket has (?:timed out after (?P<waited>\d{1,12})(?P<unit>ms|s) while trying to connect to"
    r"|failed to connect to any network address of) \((?P<host>[^,()]{1,200}), (?P<port>\d{1,5})\)"
)
_RETRY = regex(
    r"The client socket has failed to connect to (?P<peer>\S{1,200}) "
    r"\(errno: (?P<errno>\d{1,4}) - (?P<why>[^)]{1,80})\)"
)
_NOT_FAULTS = frozenset(("97", "99"))
"""Address family not supported, cannot assign: how a machine without IPv6 answers before IPv4 is tried."""
_CLIENTS = regex(
    r"Timed out after (?P<waited>\d{1,9}) seconds waiting for clients\. "
    r"(?P<joined>\d{1,7})/(?P<expected>\d{1,7}) clients joined"
)
_UNIQUE_ID = regex(
    r"(?:\[\d{1,7}\] )?is setting up NCCL communicator and retrieving ncclUniqueId from \[(?P<from>\d{1,7})\] via "
    r"c10d key-value store by key '[^']{0,200}', but (?:store->get\('[^']{0,200}'\) got error: )?(?P<why>.{1,600})"
)
_WAIT = regex(r"wait timeout after (?P<waited>\d{1,12})ms, keys: (?P<key>\S{1,300})")
_BARE_TIMEOUT = regex(r"Socket Timeout\s*$")
_LOST = regex(r"Failed to recv, got 0 bytes\. Connection was likely closed")
_SOCKET = regex(
    r"\w{1,40} failed on SocketImpl\(fd=\d{1,7}, addr=\S{1,200}, remote=(?P<remote>\S{1,200}?)\): "
    r"(?P<why>.{1,200})"
)
_AGENT = regex(
    r"(?:\s{0,20}\"message\": \"|[a-z_.]{1,100}\.)?Rendezvous(?P<kind>Timeout|Connection)Error"
    r"(?:\s*$|: ?(?P<why>.{0,200}))"
)
_AGENT_STORE = regex(r"The connection to the C10d store has failed")
_OLD_CONNECT = regex(r"connect\(\) timed out\. Original timeout was (?P<waited>\d{1,12}) ms")
"""Up to torch 1.10; without an address."""
_ELASTIC = regex(r"Timeout (?P<waited>\d{1,9})s? to complete (?:the )?rendezvous")
"""DLRover's agents, in place of torchrun's."""
_AGENT_LOST = regex(r"The node '.{1,200}' has failed to send a keep-alive heartbeat to the rendezvous")
_EXIT = regex(r"Error waiting on exit barrier\. Elapsed: (?P<waited>\d{1,9})(?:\.\d{1,20})? seconds")
_BARRIER = regex(
    r"Ranks? (?P<ranks>\d{1,7}(?:, \d{1,7}){0,1000}) failed to pass monitoredBarrier in (?P<waited>\d{1,12}) ms"
)
_BARRIER_REACHED = regex(
    r"Rank \d{1,7} successfully reached monitoredBarrier, but received errors .{0,60}from rank (\d{1,7})"
)
_MESH = regex(r"Gloo connectFullMesh failed (?:with|\.{2,3}|…) ?(?:\[\S{1,200}\] )?(?P<why>.{1,500})")
_REMOTE = regex(r"remote=(?P<remote>\S{1,100}?)(?:[\s,)]|$)")
_GLOO_PAIR = regex(r"\[?\S{0,160}gloo/transport/tcp/\w{1,40}\.cc:\d{1,6}\] (?P<why>.{1,300})")
_GLOO_PEER = regex(r"Connection (?:closed|reset) by peer (?P<peer>\S{1,100})")
_GLOO_CONNECT = regex(r"(?:connect|Connect timeout) (?P<peer>\S{1,100}?)(?:: (?P<why>.{1,100}))?$")
_GLOO_INTERFACE = regex(r".{0,120}?Unable to find (?:address|interface) for: (?P<name>\S{1,60})")
_GLOO_RANK = regex(
    r"\[Gloo\] Rank (?P<rank>\d{1,7}) is connected to (?P<connected>\d{1,7}) peer ranks\. "
    r"Expected number of connected peer ranks is : (?P<expected>\d{1,7})"
)
_GLOO_LOOPBACK = regex(
    r"Unable to resolve hostname to a \(local\) address\.(?: Using(?: the(?: loopback.{0,200})?)?)?\s*$"
)
"""A terminal may break it before its end; a question that quotes it goes on in another way."""
_CLIENT_NAME = regex(r"The hostname of the client socket cannot be retrieved\. err=(?P<error>-?\d{1,4})")
_ADDRESSES = regex(
    r"The IPv4 network addresses of \((?P<name>[^,()]{1,200}), \S{1,20}\) cannot be retrieved "
    r"\(gai error: (?P<code>-?\d{1,4}) - (?P<error>[^)]{1,100})\)"
)
_UNKNOWN_NAMES = frozenset(("-2", "-3", "-5"))
"""EAI_NONAME, EAI_AGAIN, EAI_NODATA; others speak of address families. A name without IPv6 is no fault."""
_NCCL_NAME = regex(r".{0,300}NCCL WARN Net : error encountered when getting address info ?: (?P<error>.{1,80})")


def _seconds(number: str, unit: str) -> float:
    return int(number) / 1000 if unit == "ms" else float(number)


def _address(host: str, port: int | None) -> dict[str, Any]:
    return {"host": host, "port": port, "loopback": is_loopback(host)}


def _connect(text: str) -> Meeting | None:
    fields: dict[str, Any]
    match, retry = _CONNECT.match(text), _RETRY.match(text)
    if match is not None:
        waited = _seconds(match["waited"], match["unit"]) if match["waited"] else None
        reason = "timed-out" if match["waited"] else "other"
        fields = {"stage": "connect", "reason": reason, "waited_s": waited}
        return Meeting(RendezvousFailure, fields | _address(match["host"], int(match["port"])))
    if retry is not None and retry["errno"] not in _NOT_FAULTS:
        peer = peer_of(retry["peer"])
        fields = {"reason": connection_reason(retry["why"]), "reported_by": "torch", "retried": True}
        if peer is not None:
            fields |= {"peer": peer.host, "port": peer.port, "peer_loopback": peer.loopback}
        return Meeting(ConnectionFailure, fields)
    return None


def _store(text: str) -> Meeting | None:
    fields: dict[str, Any]
    if (clients := _CLIENTS.match(text)) is not None:
        fields = {"stage": "clients", "reason": "timed-out", "waited_s": float(clients["waited"])}
        fields |= {"joined": int(clients["joined"]), "expected": int(clients["expected"])}
        return Meeting(RendezvousFailure, fields)
    unique = _UNIQUE_ID.match(text)
    text = unique["why"] if unique is not None else text
    origin = {"waits_for_rank": int(unique["from"])} if unique is not None else {}
    if (wait := _WAIT.match(text)) is not None:
        fields = {"stage": "store-key", "reason": "timed-out", "waited_s": _seconds(wait["waited"], "ms")}
        return Meeting(RendezvousFailure, fields | origin | {"key": wait["key"]})
    if _BARE_TIMEOUT.match(text):
        return Meeting(RendezvousFailure, {"stage": "store-key", "reason": "timed-out"} | origin)
    lost: dict[str, Any] = {"stage": "store-lost", "reason": "closed", "consequence": True}
    if (broken := _SOCKET.match(text)) is not None:
        remote = peer_of(broken["remote"])
        return Meeting(RendezvousFailure, lost | (_address(remote.host, remote.port) if remote else {}))
    if _LOST.match(text) or (unique is not None and re.search(r"[Cc]onnection|[Bb]roken pipe", text[:200])):
        return Meeting(RendezvousFailure, lost | origin)
    return None


def _agent(text: str) -> Meeting | None:
    fields: dict[str, Any]
    if (left := _EXIT.match(text)) is not None:
        fields = {
            "stage": "exit-barrier",
            "reason": "timed-out",
            "waited_s": float(left["waited"]),
            "consequence": True,
        }
        return Meeting(RendezvousFailure, fields | {"consequence": True})
    if (agent := _AGENT.match(text)) is not None:
        reason = "timed-out" if agent["kind"] == "Timeout" else "other"
        return Meeting(RendezvousFailure, {"stage": "agent-join", "reason": reason})
    if (elastic := _ELASTIC.match(text)) is not None:
        fields = {"stage": "agent-join", "reason": "timed-out", "waited_s": float(elastic["waited"])}
        return Meeting(RendezvousFailure, fields)
    if _AGENT_STORE.match(text):
        return Meeting(RendezvousFailure, {"stage": "agent-join", "reason": "other"})
    if (old := _OLD_CONNECT.match(text)) is not None:
        fields = {"stage": "connect", "reason": "timed-out", "waited_s": _seconds(old["waited"], "ms")}
        return Meeting(RendezvousFailure, fields)
    if _AGENT_LOST.match(text):
        return Meeting(RendezvousFailure, {"stage": "store-lost", "reason": "closed", "consequence": True})
    if (barrier := _BARRIER.match(text)) is not None:
        fields = {"stage": "barrier", "reason": "timed-out", "waited_s": _seconds(barrier["waited"], "ms")}
        return Meeting(RendezvousFailure, fields | {"missing": barrier["ranks"]})
    if (reached := _BARRIER_REACHED.match(text)) is not None:
        fields = {"stage": "barrier", "reason": "other", "waits_for_rank": int(reached[1]), "consequence": True}
        return Meeting(RendezvousFailure, fields)
    return None


def _gloo(text: str) -> Meeting | None:
    fields: dict[str, Any]
    if (mesh := _MESH.match(text)) is not None:
        remote = _REMOTE.search(mesh["why"])
        peer = peer_of(remote["remote"]) if remote is not None else None
        reason = connection_reason(mesh["why"].rpartition("SO_ERROR:")[2])
        fields = {
            "stage": "full-mesh",
            "reason": reason if reason in {"refused", "no-route", "timed-out"} else "other",
        }
        return Meeting(RendezvousFailure, fields | (_address(peer.host, peer.port) if peer else {}))
    if (rank := _GLOO_RANK.match(text)) is not None:
        connected, expected = int(rank["connected"]), int(rank["expected"])
        fields = {"rank": int(rank["rank"]), "connected": connected, "expected": expected}
        return Meeting(GlooMesh, fields | {"complete": connected >= expected})
    if (interface := _GLOO_INTERFACE.match(text)) is not None and "gloo" in text[:200]:
        fields = {"wanted": interface["name"], "variable": "GLOO_SOCKET_IFNAME", "reported_by": "gloo"}
        return Meeting(InterfaceMissing, fields)
    if (pair := _GLOO_PAIR.match(text)) is not None and (tried := _GLOO_CONNECT.match(pair["why"])) is not None:
        peer = peer_of(tried["peer"])
        reason = connection_reason(tried["why"]) if tried["why"] else "timed-out"
        fields = {"reason": reason, "reported_by": "gloo"}
        if peer is not None:
            fields |= {"peer": peer.host, "port": peer.port, "peer_loopback": peer.loopback}
            return Meeting(ConnectionFailure, fields)
    if (pair := _GLOO_PAIR.match(text)) is not None and (gone := _GLOO_PEER.match(pair["why"])) is not None:
        peer = peer_of(gone["peer"])
        fields = {"reason": "closed", "step": "transfer", "reported_by": "gloo", "consequence": True}
        if peer is not None:
            fields |= {"peer": peer.host, "peer_loopback": peer.loopback}
        return Meeting(ConnectionFailure, fields)
    return None


def _names(text: str) -> Meeting | None:
    fields: dict[str, Any]
    if _GLOO_LOOPBACK.match(text):
        fields = {"role": "own", "fell_back_to_loopback": True, "reported_by": "gloo"}
        return Meeting(NameUnresolved, fields)
    if (client := _CLIENT_NAME.match(text)) is not None:
        return Meeting(NameUnresolved, {"role": "client", "error": f"gai {client['error']}"})
    if (addresses := _ADDRESSES.match(text)) is not None and addresses["code"] in _UNKNOWN_NAMES:
        return Meeting(NameUnresolved, {"role": "store", "name": addresses["name"], "error": addresses["error"]})
    if (nccl := _NCCL_NAME.match(text)) is not None:
        return Meeting(NameUnresolved, {"role": "store", "error": nccl["error"].strip(), "reported_by": "nccl"})
    return None


_FORMS: tuple[Callable[[str], Meeting | None], ...] = (_connect, _store, _agent, _gloo, _names)


def meeting_of(text: str) -> Meeting | None:
    """What a message, without what launchers, loggers and exceptions put before it, says of a meeting."""
    return next((found for form in _FORMS if (found := form(text[:2000])) is not None), None)
