"""What the probes `cuinit`, `shm` and `network` of this program found, from their journals.

    {"diagnose_probe": "cuinit", "event": "end", "step": "cuInit", "code": 803, "took_s": 0.02, "name": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}
    {"diagnose_probe": "shm", "event": "end", "step": "write", "mib": 64, "written_mib": 3, "errno": "ENOSPC", "error": "No space left on device"}
    {"diagnose_probe": "network", "event": "end", "step": "connect", "target": "10.0.0.5", "source": "10.0.0.5", "port": 40123, "result": "ok"}

Follows `diagnose collect --probe` (collectors/probes). That nobody listens at the meeting point of a job is no
finding: it is so while no job runs. A journal that is cut gives the steps that stand there.
"""  # noqa: E501 - lines of the journal as they are

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from collectors.readers._cuda_codes import by_number
from collectors.readers._probe_journal import Record, Run, marker, runs, text_at, whole_at
from kb.evidence import Reader, Reading, Section
from kb.facts.base import Fact
from kb.facts.environment import CudaError
from kb.facts.network import ConnectionTest, NameResolution
from kb.facts.storage import NoSpace, SharedMemory

PROBES = ("cuinit", "shm", "network")

_Result: TypeAlias = Literal["ok", "refused", "timeout", "unreachable", "no-name", "partial"]
_CONTAINER_MIB = 64
_REFUSALS = ("EACCES", "EPERM", "EROFS")
_RESULTS = ("ok", "refused", "timeout", "unreachable", "no-name")


def read(section: Section) -> Iterator[Reading]:
    """CudaError of a cuInit that failed; SharedMemory and NoSpace; NameResolution and ConnectionTest."""
    kinds: dict[str, type[Fact]] = {}
    for run in runs(section, *PROBES):
        for index, fact in _FINDERS[run.probe](run):
            yield section.observe(fact, index)
            kinds[fact.kind] = type(fact)
    if SharedMemory.kind in kinds:
        yield section.looked(SharedMemory)
    for kind in (NameResolution, ConnectionTest):
        if kind.kind in kinds:
            yield section.looked(kind, complete=False, reason="not-collected")


def _cuinit(run: Run) -> Iterator[tuple[int, Fact]]:
    for index, record in run.of("end"):
        call, key = ("cuInit", "code") if record.get("step") == "cuInit" else ("cuDeviceGetCount", "count_code")
        number = whole_at(record, key)
        if not number:
            continue
        code = by_number(number)
        name = text_at(record, "name") or (code.text if code else "an error without a name")
        class_ = code.class_ if code else "other"
        yield index, CudaError(class_=class_, code=number, where="init", text=f"{call} returned {number}: {name}")
        return


def _shm(run: Run) -> Iterator[tuple[int, Fact]]:
    steps = {text_at(record, "step"): (index, record) for index, record in run.of("end")}
    if "size" not in steps:
        return
    at, size = steps["size"]
    written = [steps[step] for step in ("write", "shm_open") if step in steps]
    refused = next((one for one in written if one[1].get("errno") in _REFUSALS), None)
    mib = whole_at(size, "size_mib")
    whole = len(written) == 2 and not any("errno" in record for _, record in written)
    fact = SharedMemory(
        size_mib=mib,
        free_mib=whole_at(size, "free_mib"),
        default_of_containers=mib == _CONTAINER_MIB,
        writable=False if refused else True if whole else None,
        reported_by="probe",
    )
    yield (refused or (at, size))[0], fact
    for index, record in written:
        if record.get("errno") == "ENOSPC":
            done, asked = whole_at(record, "written_mib"), whole_at(record, "mib")
            text = f"{text_at(record, 'error')}: {done} of {asked} MiB written"
            yield index, NoSpace(place="shm", path=text_at(size, "folder"), text=text)
            return


def _network(run: Run) -> Iterator[tuple[int, Fact]]:
    for index, record in run.of("end"):
        step = record.get("step")
        fact = _own_name(record) if step == "own-name" else _connection(record, is_master=step == "master")
        if fact is not None and step in {"own-name", "connect", "master"}:
            yield index, fact


def _own_name(record: Record) -> NameResolution | None:
    name, found = text_at(record, "name"), record.get("addresses")
    if name is None:
        return None
    first = found[0] if isinstance(found, list) and found and isinstance(found[0], str) else None
    if first is None:
        problem: Literal["server-failed", "not-found"] = "server-failed" if record.get("again") else "not-found"
        return NameResolution(name=name, own=True, problem=problem, source="getent")
    return NameResolution(name=name, address=first, loopback=_is_loopback(first), own=True, source="getent")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.split("%", 1)[0]).is_loopback
    except ValueError:
        return False


def _connection(record: Record, *, is_master: bool) -> ConnectionTest | None:
    target, result = text_at(record, "target"), record.get("result")
    if target is None or result not in _RESULTS or (is_master and result == "refused"):
        return None
    return ConnectionTest(
        tool="other", target=target, port=whole_at(record, "port"), result=cast("_Result", result)
    )


_FINDERS = {"cuinit": _cuinit, "shm": _shm, "network": _network}

READER = Reader("probe-machine", read, markers=tuple(map(marker, PROBES)))
