"""RDMA transfers that ended in error, as programs beside NCCL say it: Mooncake, UCX (also under NIXL and MPI), perftest.

    … Worker: Process failed for slice (opcode: 1, …, local_nic: mlx5_6, peer_nic: 10.0.0.2:15348@mlx5_0, …): transport retry counter exceeded
    [node1:19546:0:19546] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)
     Failed status 12: wr_id 0 syndrom 0x81

Follows Mooncake's worker_pool.cpp (2024 to 2026) with the words of libibverbs, UCX 1.5 to 1.18 and perftest 4 to 24.
That a transfer was flushed is a consequence: another one of its queue pair failed first. A cut line gives nothing.
"""  # noqa: E501 - lines of logs stand as they are printed

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.ib_completions import completion_class
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_failures import IbCompletionError

MOST_COLUMNS = 2000

_WORDS = {
    "local length error": 1,
    "local QP operation error": 2,
    "local protection error": 4,
    "Work Request Flushed Error": 5,
    "memory management operation error": 6,
    "bad response error": 7,
    "local access error": 8,
    "remote invalid request error": 9,
    "remote access error": 10,
    "remote operation error": 11,
    "transport retry counter exceeded": 12,
    "RNR retry counter exceeded": 13,
}
"""What libibverbs calls a status (`ibv_wc_status_str`)."""
_SYNDROMES = dict(zip((1, 2, 4, 5, 6, *range(0x10, 0x17)), (1, 2, 4, 5, 6, *range(7, 14)), strict=True))
"""The status of each syndrome that an mlx5 adapter reports."""

_MOONCAKE = regex(
    r"Process failed for slice \((?:opcode: (?P<opcode>\d{1,3}))?.{0,200}?local_nic: (?P<device>[\w.-]{1,40}), "
    r"peer_nic: (?P<peer>\[?[\w.:-]{1,80}?\]?):\d{1,5}@[\w.-]{1,40}\b.{0,120}?\): (?P<words>[A-Za-z ]{8,60}?)\s*$"
)
_UCX = regex(
    r"(?: on|Error on) (?P<device>[a-z][\w-]{1,30}):\d{1,3}\b.{0,120}?"
    r"\(synd 0x(?P<syndrome>[0-9a-f]{1,2}) vend 0x(?P<vendor>[0-9a-f]{1,3})\b"
)
_PERFTEST = regex(
    r"\s{0,4}Failed status (?P<status>\d{1,3}): wr_id \d{1,20} syndrom 0x(?P<vendor>[0-9a-f]{1,8})\s*$"
)


class _Said(NamedTuple):
    """What lines have in common that are counted together."""

    status: int
    vendor_error: int | None
    device: str | None


def read(section: Section) -> Iterator[Reading]:
    """IbCompletionError for each status and adapter, with the first peer and how many there were."""
    said: Tallies[_Said] = Tallies()
    firsts: dict[_Said, tuple[int | None, str | None]] = {}
    for index, whole in section.matching("Process failed for slice", "(synd 0x", "Failed status "):
        found = _said(whole[:MOST_COLUMNS])
        if found is None:
            continue
        key, opcode, peer = found
        if said.add(key, index, peer or "") is not None:
            firsts.setdefault(key, (opcode, peer))
    for key, tally in said:
        opcode, peer = firsts[key]
        fact = IbCompletionError.model_validate(
            {
                "class": completion_class(key.status),
                "status": key.status,
                "vendor_error": key.vendor_error,
                "opcode": opcode,
                "peer": peer,
                "peers": tally.processes,
                "device": key.device,
                "consequence": completion_class(key.status) == "flushed",
                "count": tally.count,
            }
        )
        yield section.observe(fact, tally.index)
    if len(said):
        yield section.looked(IbCompletionError, complete=False)


def _said(line: str) -> tuple[_Said, int | None, str | None] | None:
    """What a line says, with the opcode and the peer that it names."""
    match: re.Match[str] | None
    if match := _MOONCAKE.search(line):
        status = _WORDS.get(match["words"])
        opcode = int(match["opcode"]) if match["opcode"] else None
        return (_Said(status, None, match["device"]), opcode, match["peer"].strip("[]")) if status else None
    if match := _UCX.search(line):
        status = _SYNDROMES.get(int(match["syndrome"], 16))
        return (_Said(status, int(match["vendor"], 16), match["device"]), None, None) if status else None
    if match := _PERFTEST.match(line):
        return _Said(int(match["status"]), int(match["vendor"], 16), None), None, None
    return None


READER = Reader(
    "rdma-transfers",
    read,
    markers=("Process failed for slice", "(synd 0x", "Failed status "),
)
