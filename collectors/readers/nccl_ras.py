"""What NCCL's RAS client says of a running job: processes that do not answer, communicators whose ranks differ.

    #0-0 (cf264af53edbe986) INCOMPLETE
      Missing communicator data from 1 rank
      The missing rank: 21

Follows NCCL 2.24 to 2.30 (src/ras/client_support.cc; user guide, Troubleshooting, RAS): the text of `ncclras`, the
JSON of `-f json` (2.28.7) and the lines of `-m` (2.29). A report that is cut gives what stands in it. That counts
of operations differ is normal while a job runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from collectors.readers._json_text import at, json_of, line_with
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.nccl_tools import RasCommunicator, RasProcess

MOST_NAMED = 32
MOST_BLOCKS = 500
MOST_PROCESSES = 5000

Problem = Literal["incomplete", "mismatch", "error"]

_GROUP = regex(
    r"\s{0,10}(?P<group>\d{1,6}) {1,12}(?P<comms>\d{1,7}) {1,12}\d{1,7} {1,12}\d{1,7}(?:-\d{1,7})? {1,12}"
    r"(?P<ranks>\d{1,8}) {1,12}\d{1,9} {1,12}(?P<status>[A-Z,]{2,40}) {1,12}(?P<errors>[A-Z,]{2,40})\s*$"
)
_BLOCK = regex(
    r"\s{0,4}#(?P<group>\d{1,6})-\d{1,7} \((?P<hash>[0-9a-f]{8,16})\) (?P<problem>INCOMPLETE|MISMATCH|ERROR)\s*$"
)
_MISSING = regex(r"\s{1,8}The missing ranks?: (?P<ranks>\d{1,8}(?:,? ?\d{1,8}){0,500})")
_COUNT_MISSING = regex(r"\s{1,8}Missing communicator data from (?P<count>\d{1,8}) ranks?\s*$")
_RANK = regex(
    r"\s{1,8}Rank (?P<rank>\d{1,8})(?: has launched up to operation (?P<launched>\d{1,15})"
    r"|(?P<none> has not launched any operations)| reported (?P<error>.{1,60}?)| has status \w{1,20})? -- "
)
_LAUNCHED = regex(
    r"\s{1,8}(?P<ranks>\d{1,8}) ranks have (?:launched up to operation (?P<launched>\d{1,15})|not launched any)"
)
_REPORTED = regex(r"\s{1,8}\d{1,8} ranks reported (?P<error>.{1,80})$")
_OPERATION = regex(r"\s{1,8}Communicator ranks have different (?P<operation>\w{1,30}) operation counts")
_PROCESS = regex(
    r"\s{1,8}Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,100}) managing GPUs? (?P<gpus>[\d,]{1,100})"
)
_EVENT = regex(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] PEER_DEAD: Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,100}) "
    r"managing GPUs? (?P<gpus>[\d,]{1,100})"
)
_DEAD = regex(r"\s{1,8}\d{1,7} job process(?:es)? (?:is|are) considered dead")
_ABSENT = regex(r"\s{1,8}Missing communicator data from \d{1,7} job process")
_PROBLEMS: dict[str, Problem] = {"INCOMPLETE": "incomplete", "MISMATCH": "mismatch", "ERROR": "error"}
_MARKERS = (
    *("Ranks    Status  Errors", "Communicators... (", "considered dead (unreachable via the RAS", "PEER_DEAD"),
    *("Missing communicator data from", '"missing_ranks_count"'),
)


def read(section: Section) -> Iterator[Reading]:
    """One fact for each group of healthy communicators, each that has a problem, and each process out of reach."""
    if any(line.startswith("{") for line in section.lines[:3]):
        yield from _json(section)
        return
    groups: dict[int, re.Match[str]] = {}
    processes: dict[tuple[str, int], Observed] = {}
    seen = False
    blocks = 0
    state: Literal["missing", "dead"] = "missing"
    for index, whole in enumerate(section.lines):
        line = whole[:1200]
        if (group := _GROUP.match(line)) is not None:
            groups[int(group["group"])] = group
            seen = True
            if group["errors"] == "OK":
                yield section.observe(_healthy(group), index)
        elif (block := _BLOCK.match(line)) is not None and blocks < MOST_BLOCKS:
            seen, blocks = True, blocks + 1
            yield _block(section, index, block, groups.get(int(block["group"])))
        elif _DEAD.match(line) or _ABSENT.match(line):
            state = "dead" if _DEAD.match(line) else "missing"
        elif (process := _PROCESS.match(line) or _EVENT.match(line)) is not None and len(
            processes
        ) < MOST_PROCESSES:
            gone: Literal["missing", "dead"] = "dead" if line.startswith("[") else state
            fact = RasProcess(state=gone, host=process["host"], pid=int(process["pid"]), gpus=process["gpus"])
            processes[fact.host, fact.pid] = section.observe(fact, index)
    yield from processes.values()
    if seen:
        to_the_end = any(line.startswith("Warnings") for line in section.lines)
        yield section.looked(RasCommunicator, complete=to_the_end and blocks < MOST_BLOCKS)
        yield section.looked(RasProcess, complete=to_the_end)


def _healthy(group: re.Match[str]) -> RasCommunicator:
    return RasCommunicator(
        ranks=int(group["ranks"]), communicators=int(group["comms"]), status=group["status"], problem=None
    )


def _block(section: Section, start: int, block: re.Match[str], group: re.Match[str] | None) -> Observed:
    """What stands under the heading of one communicator, up to the next empty line."""
    missing: list[int] = []
    launched: dict[int, list[int]] = {}
    fields: dict[str, Any] = {"ranks_missing": 0}
    current, end = None, start
    for index in range(start + 1, min(start + 2000, len(section.lines))):
        line = section.lines[index][:1200]
        if not line.strip() or _BLOCK.match(line):
            break
        end = index
        if (count := _COUNT_MISSING.match(line)) is not None:
            fields["ranks_missing"] = int(count["count"])
        elif (named := _MISSING.match(line)) is not None:
            missing += [int(rank) for rank in re.findall(r"\d+", named["ranks"])]
        elif (operation := _OPERATION.match(line)) is not None:
            fields["operation"] = operation["operation"]
        elif (counts := _LAUNCHED.match(line)) is not None:
            current = int(counts["launched"] or 0)
            launched.setdefault(current, [])
        elif (reported := _REPORTED.match(line)) is not None:
            fields.setdefault("error", reported["error"].strip())
        elif (rank := _RANK.match(line)) is not None:
            current = _rank(rank, fields, missing, launched, current)
    fields |= _launched(launched)
    if block["problem"] == "INCOMPLETE" and missing:
        fields |= {"ranks_missing": max(fields["ranks_missing"], len(missing)), "missing": _named(missing)}
    if group is not None:
        fields |= {"ranks": int(group["ranks"]), "status": group["status"]}
    fact = RasCommunicator(comm_id=f"0x{block['hash'].lstrip('0')}", problem=_PROBLEMS[block["problem"]], **fields)
    return section.observe(fact, start, end)


def _rank(
    rank: re.Match[str],
    fields: dict[str, Any],
    missing: list[int],
    launched: dict[int, list[int]],
    current: int | None,
) -> int | None:
    """Adds one rank to the group of ranks that it is listed under; gives the group for the next one."""
    number = int(rank["rank"])
    if rank["error"]:
        fields.setdefault("error", rank["error"])
        return current
    if rank["launched"] or rank["none"]:
        launched.setdefault(int(rank["launched"] or 0), []).append(number)
        return current
    if current is not None:
        launched[current].append(number)
    elif not launched:
        missing.append(number)
    return current


def _launched(launched: dict[int, list[int]]) -> dict[str, Any]:
    if not launched:
        return {}
    least = min(launched)
    behind = _named(launched[least]) if len(launched) > 1 and launched[least] else None
    return {"launched_least": least, "launched_most": max(launched), "behind": behind}


def _named(ranks: Sequence[int]) -> str:
    ordered = sorted(set(ranks))
    text = ", ".join(map(str, ordered[:MOST_NAMED]))
    return text if len(ordered) <= MOST_NAMED else f"{text} and {len(ordered) - MOST_NAMED} more"


def _json(section: Section) -> Iterator[Reading]:
    value = json_of(section)
    communicators = at(value, "communicators")
    if isinstance(at(value, "peer"), dict) and value.get("event") == "PEER_DEAD":
        yield from _json_process(section, value["peer"], "dead")
    if not isinstance(communicators, list):
        return
    for one in communicators[:MOST_BLOCKS]:
        if isinstance(one, dict) and isinstance(one.get("size"), int):
            yield _json_communicator(section, one)
            for rank in _dicts(one.get("missing_ranks")):
                dead = at(rank, "status", "considered_dead") is True
                if dead or at(rank, "status", "unresponsive") is True:
                    yield from _json_process(section, rank, "dead" if dead else "missing")
    yield section.looked(RasCommunicator, complete=len(communicators) <= MOST_BLOCKS)
    yield section.looked(RasProcess, complete=True)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _json_process(section: Section, peer: dict[str, Any], state: Literal["missing", "dead"]) -> Iterator[Observed]:
    host, pid, gpu, rank = peer.get("host"), peer.get("pid"), peer.get("cuda_dev"), peer.get("rank")
    if isinstance(host, str) and isinstance(pid, int):
        devices = peer.get("cuda_devs") if isinstance(peer.get("cuda_devs"), list) else [gpu]
        gpus = ",".join(str(one) for one in devices or () if isinstance(one, int)) or None
        fact = RasProcess(state=state, host=host, pid=pid, gpus=gpus, rank=rank if isinstance(rank, int) else None)
        yield section.observe(fact, line_with(section, f'"pid": {pid}'))


def _json_communicator(section: Section, one: dict[str, Any]) -> Observed:
    ranks, missing = _dicts(one.get("ranks")), _dicts(one.get("missing_ranks"))
    gone = [rank["rank"] for rank in missing if isinstance(rank.get("rank"), int)]
    operation, counts = _differing(ranks)
    errors = Counter(
        code
        for rank in ranks
        for key in ("init_state", "async_error")
        if (code := at(rank, "status", key)) not in {0, 7, None}
    )
    problem: Problem | None = "error" if errors else "incomplete" if gone else "mismatch" if counts else None
    identity = one.get("hash")
    fact = RasCommunicator(
        comm_id=identity if isinstance(identity, str) else None,
        ranks=one["size"],
        ranks_missing=len(gone),
        missing=_named(gone) if gone else None,
        status=_status(ranks),
        problem=problem,
        operation=operation,
        error=f"ncclResult {errors.most_common(1)[0][0]}" if errors else None,
        **_launched(counts),
    )
    return section.observe(fact, line_with(section, f'"hash": "{identity}"'))


def _status(ranks: Sequence[dict[str, Any]]) -> str | None:
    if not ranks:
        return None
    if any(at(rank, "status", "abort_flag") is True for rank in ranks):
        return "ABORT"
    if any(at(rank, "status", "finalize_called") is True for rank in ranks):
        return "FINALIZE"
    return "INIT" if any(at(rank, "status", "init_state") == 7 for rank in ranks) else "RUNNING"


def _differing(ranks: Sequence[dict[str, Any]]) -> tuple[str | None, dict[int, list[int]]]:
    """The first operation whose counts differ between ranks, and which ranks stand at each count."""
    names = sorted({name for rank in ranks for name in rank.get("collective_counts") or ()})
    for name in names:
        counts: dict[int, list[int]] = {}
        for rank in ranks:
            count = at(rank, "collective_counts", name)
            if isinstance(count, int) and isinstance(rank.get("rank"), int):
                counts.setdefault(count, []).append(rank["rank"])
        if len(counts) > 1:
            ranks_in_all = sum(map(len, counts.values()))
            return name, {at_count: few if 2 * len(few) < ranks_in_all else [] for at_count, few in counts.items()}
    return None, {}


READER = Reader("nccl-ras", read, markers=_MARKERS, commands=("ncclras",))
