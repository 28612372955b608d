"""What failed under NCCL: transfers, connections, CUDA calls, shared memory; and the errors that it returned.

    [2026-01-31 12:00:00] a17:311:340 [0] misc/socket.cc:58 NCCL WARN socketStartConnect: Connect to 10.0.0.5<4711> failed : No route to host
    a17:311:340 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.2.0.5<33092> with error 12, opcode 0, len 0, vendor err 129
    a17:311:340 [0] NCCL INFO transport/nvls.cc:324 -> 1

Follows NCCL 2.3 to 2.32 (NVIDIA/nccl: include/checks.h, misc/, os/, transport/, init.cc). The same words under
INFO are no failure, but for shared memory that NCCL says it tries again to extend. A warning that is cut gives
what still stands in it.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from collectors.readers._nccl_last_errors import MARKERS as LAST
from collectors.readers._nccl_last_errors import last_errors
from collectors.readers._nccl_socket_addresses import LISTS, SocketAddresses
from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.nccl_failure_forms import MARKERS, failure_of
from collectors.readers.nccl_lines import NcclLine, nccl_lines
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts import Fact
from kb.facts.nccl_failures import (
    ConnectionFailure,
    IbAsyncEvent,
    IbCallFailure,
    IbCompletionError,
    InterfaceMissing,
    NcclCudaFailure,
    NcclDuplicateGpu,
    NcclErrorReturn,
    NcclNvmlFailure,
    NcclShmFailure,
    NcclVersionMismatch,
)

TYPES: tuple[type[Fact], ...] = (
    *(ConnectionFailure, IbAsyncEvent, IbCallFailure, IbCompletionError, InterfaceMissing),
    *(NcclCudaFailure, NcclDuplicateGpu, NcclErrorReturn, NcclNvmlFailure, NcclShmFailure, NcclVersionMismatch),
)
MOST_JOINED = 300

_RETURN = regex(
    r"(?P<place>[\w./-]{1,200}\.\w{1,4}):\d{1,6}(?: \(\w{1,80}\))? -> (?P<code>\d{1,3})(?: \[.{1,40}\])?\s*$"
)
_CODES = (
    "other",
    "cuda",
    "system",
    "internal",
    "invalid-argument",
    "invalid-usage",
    "remote",
    "in-progress",
    "timeout",
)
_START = ("Init START", "Bootstrap : Using", "Bootstrap: Using", "NET : Using interface")
_SOURCES = (".cc:", ".cu:", ".h:")
"""Every line that returns an error names one, and few others do."""


class _Log:
    """All failures of one section, by type and fields."""

    def __init__(self) -> None:
        self.found: Tallies[tuple[type[Fact], tuple[tuple[str, Any], ...]]] = Tallies()
        self.ranks: dict[tuple[type[Fact], tuple[tuple[str, Any], ...]], set[int | None]] = {}
        self.peers: dict[tuple[type[Fact], tuple[tuple[str, Any], ...]], tuple[dict[str, Any], set[str]]] = {}
        self.returns: Tallies[str] = Tallies()
        self.innermost: dict[str, str] = {}
        self.from_the_start = False
        self.addresses = SocketAddresses()
        self._last: dict[str, int] = {}

    def take(self, section: Section, line: NcclLine) -> None:
        """Adds one record."""
        if line.level == "INFO" and (returned := _RETURN.match(line.text[:400])) is not None:
            code = _code(int(returned["code"]))
            if code != "in-progress":
                self.innermost.setdefault(code, returned["place"].rsplit("/src/", 1)[-1])
                self.returns.add(code, line.index, line.process)
            return
        if line.text.startswith(_START) or line.text.endswith("Init START"):
            self.from_the_start = True
        self.addresses.take(line.text)
        failure = failure_of(line, _with_torn_end(section, line))
        if failure is None:
            return
        fact_type, fields, named = failure
        key = (fact_type, tuple(sorted(fields.items())))
        if self.found.add(key, line.index, line.process) is None:
            return
        self.ranks.setdefault(key, set()).add(line.rank)
        _, peers = self.peers.setdefault(key, (named, set()))
        if named.get("peer") and len(peers) < 1000:
            peers.add(named["peer"])


def _code(number: int) -> str:
    return _CODES[number] if number < len(_CODES) else "other"


def _with_torn_end(section: Section, line: NcclLine) -> str:
    """The text of a warning with the next line, where a terminal has broken it after a comma."""
    following = line.index + 1
    torn = line.level == "WARN" and line.text.endswith((",", " len")) and following < len(section.lines)
    if torn and section.number(following) == section.number(line.index) + 1:
        return f"{line.text} {section.lines[following][:MOST_JOINED].strip()}"
    return line.text


def read(section: Section) -> Iterator[Reading]:
    """One fact for each different failure, with how often and by how many processes it was told."""
    log = _Log()
    seen = False
    for record in nccl_lines(section, *MARKERS, *_START, *LISTS, *_SOURCES):
        seen = True
        log.take(section, record)
    repeated = _Log()
    for record in last_errors(section):
        repeated.take(section, record)
    yield from _facts(section, log)
    yield from _facts(section, repeated, {fact_type for (fact_type, _), _ in log.found})
    for fact_type in TYPES if seen else ():
        yield section.looked(fact_type, complete=log.from_the_start)


def _facts(section: Section, log: _Log, told: Set[type[Fact]] = frozenset()) -> Iterator[Observed]:
    """The facts, but for those of types that NCCL's own lines have told of."""
    for key, tally in log.found:
        fact_type, fields = key
        if fact_type in told:
            continue
        first, peers = log.peers[key]
        extra: dict[str, Any] = dict(first)
        known = fact_type.model_fields
        if "processes" in known:
            extra["processes"] = tally.processes
        if "peers" in known:
            extra["peers"] = max(len(peers), 1)
        if fact_type is ConnectionFailure and (peer := dict(fields).get("peer")) and log.addresses.on_bridge(peer):
            extra["peer_bridge"] = True
        ranks = log.ranks[key]
        if "rank" in known and "other_rank" not in known and len(ranks) == 1:
            extra["rank"] = next(iter(ranks))
        fact = fact_type.model_validate(dict(fields) | extra | {"count": tally.count})
        yield section.observe(fact, tally.index)
    for code, tally in log.returns:
        values: dict[str, Any] = {"code": code, "innermost": log.innermost[code]}
        fact = NcclErrorReturn(**values, processes=tally.processes, count=tally.count)
        yield section.observe(fact, tally.index)


READER = Reader(
    "nccl-failures",
    read,
    markers=(
        *(*MARKERS, *_START, *LISTS, "NCCL INFO init.cc:", "NCCL INFO group.cc:", "NCCL INFO transport", *LAST),
        *("NCCL INFO graph/", "NCCL INFO misc/", "NCCL INFO include/", "NCCL INFO bootstrap.cc:"),
        *("NCCL INFO enqueue.cc:", "NCCL INFO proxy.cc:", "NCCL INFO channel.cc:"),
    ),
    context=(0, 1),
)
