"""Errors of GPUs that the NVIDIA driver numbers, from the kernel log: Xid, and the NVLink errors among them.

    NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
    NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, name=python3, Contained: SM (0x1). RST: No, D-RST: No
    NVRM: GPU at PCI:0000:38:00: GPU-2292fd47-e94b-823d-db62-ed1de6fd85c1

Follows osErrorLog and nvErrorLog of NVIDIA/open-gpu-kernel-modules 515-595, and drivers from 304 on: without
`PCI:`, without and with `pid=`, `name=`, with MIG instances. Lines are summed up by number, GPU and MIG instance,
this boot's and earlier ones' apart; what a file holds in several logs counts once. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sum, Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog, LogLine
from collectors.readers._regex import regex
from collectors.readers.xid_details import NvlinkKey, caused_by, detail_of, nvlink_of, stronger
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.xid import GpuIdentity, LoggedXid, NvlinkFault

_XID = regex(
    r"NVRM: Xid \((?:PCI:)?(?P<bdf>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?"
    r"(?: GPU-I:(?P<instance>\d{1,3}))?(?: GPU-CI:\d{1,3})?\): (?P<code>\d{1,4})\b,? ?(?P<rest>.{0,1500})"
)
_OWNER = regex(r"pid=(?:(?P<pid>\d{1,10})|[^,]{0,20}),? ?(?:name=(?P<name>.{0,40}?), )?(?P<body>.*)")
_IDENTITY = regex(
    r"NVRM: GPU at (?:PCI:)?(?P<bdf>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}): "
    r"(?P<uuid>GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$"
)
_UNKNOWN = "<unknown>"
_MOST_GPUS = 512
_MOST_OWNERS = 8


class _Key(NamedTuple):
    code: int
    bdf: str
    instance: int | None


def read(section: Section) -> Iterator[Reading]:
    """LoggedXid for each number, GPU and boot; NvlinkFault for each link and unit; GpuIdentity for each GPU."""
    log = KernelLog(section)
    xids: Sums[_Key] = Sums(log)
    links: Sums[NvlinkKey] = Sums(log)
    gpus: dict[GpuIdentity, int] = {}
    for line in log.lines("NVRM: Xid (", "NVRM: GPU at "):
        match = _XID.search(line.text)
        if match and line.by_kernel(match.start()):
            _note(line, match.start(), match.groupdict(), xids, links)
            continue
        named = _IDENTITY.search(line.text)
        if named and line.by_kernel(named.start()) and len(gpus) < _MOST_GPUS:
            gpus.setdefault(GpuIdentity(bdf=named["bdf"], uuid=named["uuid"]), line.index)
    found = [section.observe(_fact(key, sum_), sum_.index) for key, sum_ in xids]
    yield from found
    yield from _link_faults(section, links)
    yield from (section.observe(fact, index) for fact, index in gpus.items())
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, LoggedXid, whole=whole)
        yield _kernel_log.looked(section, NvlinkFault, whole=whole)


def _note(line: LogLine, start: int, said: dict[str, str], xids: Sums[_Key], links: Sums[NvlinkKey]) -> None:
    code, bdf = int(said["code"]), said["bdf"].lower()
    owner = _OWNER.match(said["rest"])
    body = owner["body"] if owner else said["rest"]
    instance = int(said["instance"]) if said["instance"] else None
    sum_ = xids.add(_Key(code, bdf, instance), line, start)
    known = sum_.said
    known["detail"] = stronger(known.get("detail"), detail_of(code, body), code)
    known["caused_by"] = known.get("caused_by") or caused_by(body)
    if owner and owner["name"] not in (None, _UNKNOWN) and len(known.get("names", ())) < _MOST_OWNERS:
        known["names"] = known.get("names", frozenset()) | {owner["name"]}
    if owner and owner["pid"] and not known.get("pid"):
        known["pid"] = int(owner["pid"])
        known["process"] = None if owner["name"] in (None, _UNKNOWN) else owner["name"]
    link = nvlink_of(bdf, code, body)
    if link is not None:
        links.add(link, line, start)


def _fact(key: _Key, sum_: Sum) -> LoggedXid:
    names: frozenset[str] = sum_.said.get("names", frozenset())
    return LoggedXid(
        code=key.code,
        bdf=key.bdf,
        count=sum_.count,
        boot=sum_.boot,
        time=sum_.first.at,
        last_time=sum_.last.at if sum_.count > 1 else None,
        first_s=sum_.first.at_s,
        last_s=sum_.last.at_s if sum_.count > 1 else None,
        process=sum_.said.get("process"),
        pid=sum_.said.get("pid"),
        processes=", ".join(sorted(names)) if len(names) > 1 else None,
        detail=sum_.said.get("detail"),
        caused_by=sum_.said.get("caused_by"),
        gpu_instance=key.instance,
        host=sum_.first.host,
    )


def _link_faults(section: Section, links: Sums[NvlinkKey]) -> Iterator[Observed]:
    for key, sum_ in links:
        yield section.observe(key.fact(sum_.count, sum_.boot, sum_.first.at, sum_.first.at_s), sum_.index)


READER = Reader(
    "xid",
    read,
    markers=("NVRM: Xid (", "NVRM: GPU at ", *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
)
