"""The forms in which NCCL and libfabric say that a peer was not reached, and the facts that they give. No reader.

Each form is the stable middle of a message; where its words changed, the releases are named beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from collectors.readers._regex import regex
from collectors.readers.errno_words import connection_reason, peer_of
from kb.facts import Fact
from kb.facts.nccl_failures import ConnectionFailure


class Failure(NamedTuple):
    """A type of fact, the fields that tell one failure from another, and those that only the first one gives."""

    fact_type: type[Fact]
    fields: dict[str, Any]
    named: dict[str, Any]


_CONNECT = regex(
    r"(?:(?:Net : |\w{0,40}: ?)?[Cc]onnect to (?P<peer>\S{1,100}) "
    r"(?:failed ?: ?(?P<why>.{1,200})|returned (?P<returned>.{1,200}))"
    r"|Call to connect (?:failed|timeout) ?: ?(?P<call>.{1,200})"
    r"|\w{0,30}PollConnect (?:to (?P<polled>\S{1,100}) |poll\(\) )failed with error (?P<error>.{1,200})"
    r"|\w{0,40}: connect returned (?P<bare>.{1,100}?), exceeded"
    r"|\w{0,40}TryAccept: Accept failed: (?P<accept>.{1,100}))"
)
_RETRIED = regex(
    r"(?:Call to connect returned (?P<old>.{1,80}?)"
    r"|\w{0,40}: ?connect(?: to (?P<peer>\S{1,100}))? returned (?P<new>.{1,80}?)), retrying"
    r"(?: \((?P<try>\d{1,6})/(?P<tries>\d{1,6})\))?"
)
_NOT_YET_THERE = frozenset(("refused",))
"""What a peer that has not begun to listen answers; it may be there at the very next try."""
_TRANSFER = regex(
    r"(?:(?:Net : |\w{0,40}: )?Call to (?:recv|send)(?: (?:from|to))? (?P<peer>\S{1,100}) "
    r"failed ?: ?(?P<why>.{1,100})"
    r"|(?:Net : |\w{0,40}: )?Connection closed by (?:remote )?peer (?P<closed>\S{1,100}))"
)
_OFI_PEER = regex(
    r"NET/OFI .{0,200}completed with error.{0,300}?"
    r"(?P<why>[Uu]nresponsive (?:receiver|remote)|[Uu]nreachable remote)(?P<more>.{0,100})"
)
"""How the EFA provider of libfabric says that the other side does not answer (fi_efa(7), from 1.18 on)."""


def connection(text: str) -> Failure | None:
    """A connection that could not be made or broke, by the words of NCCL's sockets."""
    connect, transfer = _CONNECT.match(text), _TRANSFER.match(text)
    if connect is not None:
        peer = peer_of(connect["peer"] or connect["polled"] or "")
        parts = ("why", "returned", "call", "error", "bare", "accept")
        reason = connection_reason(next(connect[part] for part in parts if connect[part]))
        step, consequence = ("accept" if connect["accept"] else "connect"), reason == "reset"
    elif transfer is not None:
        peer = peer_of(transfer["peer"] or transfer["closed"])
        reason = "closed" if transfer["closed"] else connection_reason(transfer["why"])
        step, consequence = "transfer", reason in {"closed", "reset", "other"}
    else:
        return None
    fields: dict[str, Any] = {"reason": reason, "step": step, "consequence": consequence}
    fields |= {"peer": peer.host if peer else None, "peer_loopback": peer is not None and peer.loopback}
    named = {"port": peer.port, "interface": peer.interface} if peer else {}
    return Failure(ConnectionFailure, fields, named)


def retried(text: str) -> Failure | None:
    """A connection that NCCL tries again: the peer may only not be there yet.

    The last of the tries that it has (2.22 on count them, `(34/34)`, a minute after the first) counts as failed,
    unless the peer answered.
    """
    match = _RETRIED.match(text)
    if match is None:
        return None
    peer = peer_of(match["peer"] or "")
    reason = connection_reason(match["old"] or match["new"])
    last = match["try"] is not None and match["try"] == match["tries"] and reason not in _NOT_YET_THERE
    fields: dict[str, Any] = {"reason": reason, "retried": not last}
    fields |= {"peer": peer.host if peer else None, "peer_loopback": peer is not None and peer.loopback}
    return Failure(ConnectionFailure, fields, {})


def ofi_peer(text: str) -> Failure | None:
    """A peer that libfabric does not reach."""
    match = _OFI_PEER.match(text)
    if match is None:
        return None
    reason = "unreachable" if "nreachable" in match["why"] else "timed-out"
    gone = "previously responsive" in match["more"] or "was responsive" in match["more"]
    fields = {"reason": reason, "step": "transfer" if gone else "connect", "consequence": gone}
    return Failure(ConnectionFailure, fields, {})
