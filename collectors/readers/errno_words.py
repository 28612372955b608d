"""What the C library and CUDA call their errors, as classes that rules can test. No reader.

`strerror` of glibc and musl; CUDA's texts from 9 to 13 of both interfaces (`cudaGetErrorString`,
`cuGetErrorString`), whose wording differs for a few. A text of another locale is `other`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from collectors.readers._regex import regex
from kb.facts.nccl_failures import ConnectionReason, CudaClass, ErrnoClass

_ERRNO: tuple[tuple[str, ErrnoClass], ...] = (
    ("no space left on device", "no-space"),
    ("permission denied", "no-permission"),
    ("operation not permitted", "not-permitted"),
    ("no such file or directory", "not-found"),
    ("file exists", "exists"),
    ("cannot allocate memory", "no-memory"),
    ("out of memory", "no-memory"),
    ("invalid argument", "invalid-argument"),
    ("bad address", "bad-address"),
    ("connection timed out", "timed-out"),
    ("operation timed out", "timed-out"),
    ("no such device", "no-device"),
    ("operation not supported", "not-supported"),
    ("not supported", "not-supported"),
    ("function not implemented", "not-supported"),
    ("protocol not", "not-supported"),
    ("too many open files", "too-many-files"),
    ("read-only file system", "read-only"),
    ("no file descriptors available", "too-many-files"),
    ("network is unreachable", "unreachable"),
    ("no route to host", "unreachable"),
    ("host is unreachable", "unreachable"),
    ("no data available", "no-data"),
)
_ERRNO_NUMBERS: dict[int, ErrnoClass] = {
    1: "not-permitted",
    2: "not-found",
    12: "no-memory",
    13: "no-permission",
    14: "bad-address",
    17: "exists",
    19: "no-device",
    22: "invalid-argument",
    24: "too-many-files",
    28: "no-space",
    30: "read-only",
    61: "no-data",
    95: "not-supported",
    101: "unreachable",
    110: "timed-out",
    113: "unreachable",
}
_CONNECTION: tuple[tuple[str, ConnectionReason], ...] = (
    ("refused", "refused"),
    ("no route to host", "no-route"),
    ("host is unreachable", "no-route"),
    ("network is unreachable", "unreachable"),
    ("timed out", "timed-out"),
    ("timeout", "timed-out"),
    ("reset by peer", "reset"),
    ("broken pipe", "reset"),
    ("closed by", "closed"),
    ("not permitted", "not-permitted"),
    ("permission denied", "not-permitted"),
)
_CUDA: tuple[tuple[CudaClass, str], ...] = (
    ("no-kernel-image", r"no kernel image"),
    ("symbol-not-found", r"named symbol not found|invalid device symbol"),
    ("invalid-device-function", r"invalid device function"),
    ("out-of-memory", r"out of memory"),
    ("peer-access-unsupported", r"peer access is not supported"),
    ("too-many-peers", r"peer mapping resources exhausted"),
    ("invalid-device", r"invalid device ordinal|invalid device context"),
    ("insufficient-driver", r"driver version is insufficient|api call is not supported in the installed"),
    ("compat-unsupported", r"forward compatibility was attempted"),
    ("driver-mismatch", r"unsupported display driver / cuda driver|system has unsupported display driver"),
    ("not-initialized", r"system not yet initialized|initialization error"),
    ("stub-library", r"stub library"),
    ("no-device", r"no cuda-capable device"),
    ("device-unavailable", r"busy or unavailable"),
    ("mapping-failed", r"mapping of buffer object failed|already mapped|not mapped|pages? fault"),
    ("invalid-handle", r"invalid resource handle|context is destroyed"),
    ("illegal-access", r"illegal memory access|misaligned address|illegal instruction|illegal address"),
    ("launch-failure", r"unspecified launch failure|device-side assert|launch (?:out of|timed out)"),
    ("uncorrectable-ecc", r"uncorrectable ecc"),
    ("nvlink-uncorrectable", r"uncorrectable nvlink|nvlink error"),
    ("hardware-stack", r"hardware stack error"),
    ("graph-capture", r"captur"),
    ("fabric", r"fabric|multicast|imex"),
    ("not-permitted", r"operation not permitted"),
    ("not-supported", r"operation not supported|not supported"),
    ("invalid-argument", r"invalid argument"),
    ("unknown", r"unknown error"),
)
_CUDA_FORMS = tuple((class_, regex(form, re.IGNORECASE)) for class_, form in _CUDA)
STICKY: frozenset[CudaClass] = frozenset(
    ("illegal-access", "launch-failure", "uncorrectable-ecc", "hardware-stack", "nvlink-uncorrectable")
)
"""Errors that an earlier kernel or the device raised: whoever calls CUDA next is told of them."""

_ADDRESS = regex(
    r"(?:(?P<host>[^\s<\[\]]{1,100}?)|\[(?P<bracketed>[\w:.-]{2,100})(?:%(?P<zone>[\w.-]{1,40}))?\])"
    r"(?:<(?P<port>\d{1,5})>|:(?P<colon>\d{1,5})(?=$|[\s,.;)]))"
)
_LOOPBACK = regex(r"127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|::1$|localhost(?:\.localdomain)?$|0:0:0:0:0:0:0:1$")


class Peer(NamedTuple):
    """An address as NCCL (`10.0.0.5<4711>`, `fe80::1%eth1<0>`), Gloo or torch (`[::1]:29500`) print it."""

    host: str
    port: int | None
    interface: str | None
    loopback: bool


def errno_class(text: str) -> ErrnoClass:
    """The class of an error by strerror's words, or by a number in front of or behind them."""
    lower = text[:300].lower()
    for words, class_ in _ERRNO:
        if words in lower:
            return class_
    numbers = re.findall(r"(?:errno ?:? ?|\()(\d{1,3})\b|^\s?(\d{1,3})$", lower)
    for pair in numbers:
        number = int(pair[0] or pair[1])
        if number in _ERRNO_NUMBERS:
            return _ERRNO_NUMBERS[number]
    return "other"


def connection_reason(text: str) -> ConnectionReason:
    """Why a connection failed, by strerror's words."""
    lower = text[:400].lower()
    return next((reason for words, reason in _CONNECTION if words in lower), "other")


def cuda_class(text: str) -> CudaClass:
    """The class of a CUDA error by CUDA's words."""
    text = text[:300]
    return next((class_ for class_, form in _CUDA_FORMS if form.search(text)), "other")


def peer_of(text: str) -> Peer | None:
    """The first address with a port in the text."""
    match = _ADDRESS.search(text[:400])
    if match is None:
        return None
    host, zone = match["host"] or match["bracketed"], match["zone"]
    if "%" in host:
        host, _, zone = host.partition("%")
    port = int(match["port"] or match["colon"])
    return Peer(host, port if 0 < port < 65_536 else None, zone or None, is_loopback(host))


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own."""
    return _LOOPBACK.match(host.strip("[]")) is not None
