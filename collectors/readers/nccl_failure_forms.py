"""The forms of NCCL's warnings that tell what failed, and the facts that they give. No reader.

Each form is the stable middle of a message; where its words changed, the releases are named beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from collectors.readers._regex import regex
from collectors.readers.errno_words import STICKY, cuda_class, errno_class, peer_of
from collectors.readers.ib_completions import completion_class
from collectors.readers.nccl_connection_forms import Failure, connection, ofi_peer, retried
from collectors.readers.nccl_lines import NcclLine
from kb.facts.nccl_failures import (
    IbAsyncEvent,
    IbCallFailure,
    IbCompletionError,
    InterfaceMissing,
    NcclCudaFailure,
    NcclDuplicateGpu,
    NcclNvmlFailure,
    NcclShmFailure,
    NcclVersionMismatch,
)

MARKERS = (
    *(
        "Got completion from peer",
        "Got completion with",
        "nvml",
        "libnvidia-ml",
        "Cuda failure",
        "CUDA error ",
        "async event",
        "async fatal event",
        "ibv_",
    ),
    *("onnect to ", "Connect to ", "Call to connect", "Call to recv", "Call to send", "Connection closed by"),
    *("connect returned", "PollConnect", "Accept failed", "shared memory", "failed to extend", "Failed to extend"),
    *("posix_fallocate", "shm_open", "Duplicate GPU", "are using the same GPU", "Mismatched NCCL version"),
    *("NCCL version mismatch", "essage truncated", "collective mismatch error", "socket interface found"),
    "listening interface found",
    *("no interface found", "no device found matching", "No interface found", "no device found after"),
    *("No IP interface found", "connecting to address  with family", "completed with error"),
    *("ncclCommInitRank failed",),
)


_COMPLETION = regex(
    r"Got completion (?:from peer (?P<peer>\S{1,100}) )?with "
    r"(?:error (?P<old>\d{1,3})|status=(?:\w{1,40}\()?(?P<status>\d{1,3}))(?P<rest>.{0,600})"
)
_OPCODE = regex(r"opcode[ =](?:\w{1,40}\()?(\d{1,10})")
_VENDOR = regex(r"vendor[ _]err[ =](\d{1,10})")
_HCA = regex(r" hca (\S{1,60})")
_GIDS = regex(r"localGid (?P<local>[0-9a-fA-F:.]{2,45}) remoteGids? ?(?P<remote>[0-9a-fA-F:.]{2,45})")
_IB_CALL = regex(
    r"(?:Call to )?(?P<call>ibv_\w{1,40}|mlx5dv_\w{1,40})(?:\(\))? failed(?: with(?: error)?)? ?(?P<why>.{0,500})"
)
_IB_DEVICE = regex(r"\bdev(?:ice)? (?P<device>[\w.+-]{1,40}:\d{1,3})")
_GID = regex(r"local GID index (\d{1,4})")
_NEXT_STATE = regex(r"next state (\w{2,8})")
_IB_EVENT = regex(
    r"NET/IB ?: (?:(?P<device>[\w.+-]{1,40}:\d{1,3}) )?"
    r"(?:Got (?P<mild>non-fatal )?async event|async (?P<fatal>fatal) event)"
    r"(?P<on>[^:]{0,300}): (?P<text>.{1,120}?)(?:\(\d{1,4}\))?\s*$"
)
_EVENTS = (
    ("port-down", r"port error|port down|link.?down"),
    ("port-up", r"port active|port up"),
    ("gid-change", r"gid"),
    ("lid-change", r"lid change|sm change|client re-?register|pkey"),
    ("device-fatal", r"device fatal|local catastrophic|internal error"),
    ("cq-error", r"cq error|cq overrun"),
    ("qp-fatal", r"qp (?:fatal|request|access)|local work queue|access violation|invalid request"),
)
_CUDA = regex(r"(?:Cuda failure|CUDA error) ?(?P<code>\d{1,4})? ?'(?P<text>[^']{1,200})'")
_SHM = regex(
    r"Error while (?P<doing>creating|attaching to|\w{1,20}) shared memory segment (?P<path>\S{1,200})"
    r"(?: \(size (?P<size>\d{1,15})\))?(?P<why>, error: .{1,100})?"
    r"|Error: failed to extend (?P<extended>\S{1,200}) to (?P<to>\d{1,15}) bytes(?P<said>,.{1,100})?"
    r"|fallocate: Failed to extend (?P<trying>\S{1,200}) to (?P<again>\d{1,15}) bytes, error: (?P<retry>.{1,100})"
    r"|Call to posix_fallocate failed ?: ?(?P<fallocate>.{1,100})"
    r"|(?:Error: failed to create shared memory file (?P<file>\S{1,200}), error|Call to shm_?open failed ?:)"
    r" ?(?P<create>.{1,100})"
    r"|Could not map (?P<mapped>/\S{1,200}) size \d{1,15}, error: (?P<mapping>.{1,100})"
)
_DUPLICATE = regex(
    r"Duplicate GPU detected : rank (\d{1,7}) and rank (\d{1,7}) both on CUDA device ([0-9a-f]{1,12})"
)
_VERSIONS = regex(
    r"Mismatched NCCL version detected : rank (?P<rank>\d{1,7}) version (?P<version>[\d.]{3,20}) "
    r"rank (?P<other>\d{1,7}) version (?P<other_version>[\d.]{3,20})"
)
_NVML = regex(r"(?P<call>nvml[A-Za-z]\w{1,60})\([^)]{0,60}\) failed: (?P<why>.{1,100})")
_NVML_REASONS = (
    ("not found", "not-found"),
    ("not supported", "not-supported"),
    ("driver not loaded", "driver-not-loaded"),
    ("mismatch", "version-mismatch"),
    ("permission", "no-permission"),
    ("gpu is lost", "gpu-lost"),
    ("unknown error", "unknown"),
)
_INTERFACE = regex(
    r"(?:Bootstrap : no socket interface found|NET/Socket : No usable listening interface found"
    r"|NET/Socket : no interface found|NET/IB : No IP interface found"
    r"|\w{0,20}: ?connecting to address  with family \d{1,8} is neither"
    r"|no device found (?:matching|after excluding) (?P<wanted>[^,]{1,100}?), verify (?P<variable>NCCL_\w{3,40})"
    r"|no device found matching (?P<name>NCCL_\w{3,40})=(?P<value>[^,]{1,100}), ignoring)"
)


def release_of(code: str) -> str:
    """A version, or NCCL_VERSION_CODE as one: 22707 is 2.27.7, and up to 2.8 2708 was 2.7.8."""
    if not code.isdecimal():
        return code
    number, major = int(code), 10_000 if int(code) >= 10_000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def _completion(text: str) -> Failure | None:
    match = _COMPLETION.search(text)
    if match is None:
        return None
    status = int(match["old"] or match["status"])
    opcode, vendor, hca = (form.search(match["rest"]) for form in (_OPCODE, _VENDOR, _HCA))
    class_ = completion_class(status)
    fields: dict[str, Any] = {"class_": class_, "status": status, "consequence": class_ == "flushed"}
    fields |= {"vendor_error": int(vendor[1]) if vendor else None, "device": hca[1] if hca else None}
    fields |= {"gids": _gids_of(match["rest"]), "old_form": match["old"] is not None}
    peer = peer_of(match["peer"] or "")
    named = {"peer": peer.host if peer else match["peer"], "opcode": int(opcode[1]) if opcode else None}
    return Failure(IbCompletionError, fields, named)


def _gids_of(text: str) -> Literal["ipv4", "ipv6", "link-local", "mixed"] | None:
    """The kind of the identifiers of both sides, where the line has them."""
    match = _GIDS.search(text)
    if match is None:
        return None
    local, remote = (_gid_kind(match[side]) for side in ("local", "remote"))
    return local if local == remote else "mixed"


def _gid_kind(gid: str) -> Literal["ipv4", "ipv6", "link-local"]:
    plain = gid.lower()
    return "ipv4" if plain.startswith("::ffff:") else "link-local" if plain.startswith("fe80:") else "ipv6"


def _ib_event(text: str) -> Failure | None:
    match = _IB_EVENT.match(text)
    if match is None:
        return None
    said = match["text"]
    event = next((name for name, form in _EVENTS if re.search(form, said, re.IGNORECASE)), "other")
    fields = {"event": event, "device": match["device"], "fatal": match["fatal"] is not None, "text": said}
    return Failure(IbAsyncEvent, fields, {})


def _ib_call(text: str) -> Failure | None:
    match = _IB_CALL.search(text)
    if match is None:
        return None
    device, gid, state = (form.search(match["why"]) for form in (_IB_DEVICE, _GID, _NEXT_STATE))
    fields = {
        "call": match["call"],
        "reason": errno_class(match["why"]),
        "device": device["device"] if device else None,
        "gid_index": int(gid[1]) if gid else None,
        "state": state[1] if state else None,
    }
    return Failure(IbCallFailure, fields, {})


def _cuda(text: str, place: str | None) -> Failure | None:
    match = _CUDA.search(text)
    if match is None:
        return None
    class_ = cuda_class(match["text"])
    file = place.rsplit(":", 1)[0].rsplit("/src/", 1)[-1] if place else None
    fields = {"class_": class_, "text": match["text"], "code": int(match["code"]) if match["code"] else None}
    return Failure(NcclCudaFailure, {**fields, "file": file, "consequence": class_ in STICKY}, {})


def _shm(text: str) -> Failure | None:
    match = _SHM.match(text)
    if match is None:
        return None
    parts = match.groupdict()
    path = parts["path"] or parts["extended"] or parts["trying"] or parts["file"] or parts["mapped"] or ""
    size = parts["size"] or parts["to"] or parts["again"]
    why = next(
        (parts[name] for name in ("why", "said", "retry", "fallocate", "create", "mapping") if parts[name]), None
    )
    problem = (
        "extend" if parts["to"] or parts["again"] or parts["fallocate"] else "map" if parts["mapped"] else "create"
    )
    if parts["doing"] and parts["doing"].startswith("attach"):
        problem = "attach"
    fields = {
        "problem": problem,
        "reason": errno_class(why) if why else None,
        "size_bytes": int(size) if size else None,
        "folder": path.rpartition("/")[0] or None,
        "retried": parts["trying"] is not None,
    }
    return Failure(NcclShmFailure, fields, {})


def _usage(text: str) -> Failure | None:
    duplicate, versions = _DUPLICATE.match(text), _VERSIONS.match(text)
    if duplicate is not None:
        ranks = ", ".join(map(str, sorted((int(duplicate[1]), int(duplicate[2])))))
        return Failure(NcclDuplicateGpu, {"ranks": ranks, "bdf": duplicate[3]}, {})
    if text.startswith(("Multiple Ranks are using the same GPU", "Multiple ranks are using the same GPU")):
        return Failure(NcclDuplicateGpu, {"ranks": None, "bdf": None}, {})
    if versions is not None:
        fields = {"reported_by": "init", "rank": int(versions["rank"]), "version": release_of(versions["version"])}
        fields |= {"other_rank": int(versions["other"]), "other_version": release_of(versions["other_version"])}
        return Failure(NcclVersionMismatch, fields, {})
    if text.startswith("Message truncated : received "):
        return Failure(NcclVersionMismatch, {"reported_by": "bootstrap"}, {})
    ras = re.match(
        r"NCCL version mismatch with remote peer .{1,100}\(local: ([\d.]{3,20}), remote ([\d.]{3,20})\)", text
    )
    if ras is not None:
        fields = {"reported_by": "ras", "version": release_of(ras[1]), "other_version": release_of(ras[2])}
        return Failure(NcclVersionMismatch, fields, {})
    return None


def _nvml(text: str) -> Failure | None:
    if text.startswith("Failed to open libnvidia-ml"):
        return Failure(NcclNvmlFailure, {"call": None, "reason": "library-not-found"}, {})
    match = _NVML.match(text)
    if match is None:
        return None
    reason = next((name for words, name in _NVML_REASONS if words in match["why"].lower()), "other")
    return Failure(NcclNvmlFailure, {"call": match["call"], "reason": reason}, {})


def _interface(text: str) -> Failure | None:
    match = _INTERFACE.match(text)
    if match is None:
        return None
    wanted, variable = match["wanted"] or match["value"], match["variable"] or match["name"]
    return Failure(InterfaceMissing, {"wanted": wanted, "variable": variable}, {})


_FORMS: tuple[Callable[[str], Failure | None], ...] = (
    *(_completion, _ib_event, connection, ofi_peer, _shm, _usage, _interface, _nvml, _ib_call),
)


def failure_of(line: NcclLine, text: str) -> Failure | None:
    """What a warning says failed; None for INFO, but for what NCCL says that it tries again."""
    text = text[:1500]
    if line.level == "INFO":
        return _shm(text) if text.startswith("fallocate: Failed to extend ") else retried(text)
    found = next((found for form in _FORMS if (found := form(text)) is not None), None)
    return found or _cuda(text, line.place)
