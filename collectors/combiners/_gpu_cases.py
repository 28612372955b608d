"""What is said of each GPU, gathered from facts that name it by address, by number or not at all. No combiner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from collectors.combiners import Facts, derived
from kb.clock import later_by_s
from kb.evidence import Observed, Reading
from kb.facts.base import normal_bdf
from kb.facts.gpu import Gpu
from kb.facts.gpu_trouble import GpuTroubleFact
from kb.facts.xid import GpuIdentity, XidEvent


class GpuKey(NamedTuple):
    """What a GPU is known by: its address, else its number, else nothing."""

    bdf: str | None
    number: int | None

    @property
    def name(self) -> str:
        """In words."""
        if self.bdf is not None:
            return f"GPU {self.bdf}"
        return "a GPU" if self.number is None else f"GPU number {self.number}"


NO_GPU = GpuKey(None, None)


class Cases:
    """One trouble, GPU by GPU: the fields of its fact, and what they rest on."""

    def __init__(self, facts: Facts, fact_type: type[GpuTroubleFact]) -> None:
        self._type = fact_type
        self._bdfs, self._uuids = _addresses(facts)
        self.said: dict[GpuKey, dict[str, Any]] = {}
        self._basis: dict[GpuKey, list[Observed]] = {}
        self._joined = False

    def key(self, bdf: str | None, index: int | None) -> GpuKey:
        """What a GPU is known by here."""
        if bdf is None and index is not None:
            bdf = self._bdfs.get(index)
        return GpuKey(normal_bdf(bdf), None) if bdf is not None else GpuKey(None, index)

    def of_uuid(self, uuid: str | None) -> str | None:
        """The address of the GPU with this UUID."""
        return self._uuids.get(uuid) if uuid else None

    def add(self, bdf: str | None, index: int | None, seen: Observed, *, what: str = "", **fields: Any) -> None:
        """Takes in what one fact says. Flags stay set, lists grow, else the graver or the first one counts."""
        key = self.key(bdf, index)
        said = self.said.setdefault(key, {"what": what} if what else {})
        basis = self._basis.setdefault(key, [])
        if seen not in basis:
            basis.append(seen)
        _take_in(said, fields)
        if index is not None:
            said.setdefault("index", index)

    def joined(self) -> dict[GpuKey, dict[str, Any]]:
        """What is said of each GPU; what names none goes to the one that has the same trouble."""
        named = [key for key in self.said if key != NO_GPU]
        if not self._joined and NO_GPU in self.said and len(named) == 1:
            _take_in(self.said[named[0]], self.said.pop(NO_GPU))
            basis = self._basis[named[0]]
            basis += [seen for seen in self._basis.pop(NO_GPU) if seen not in basis]
        self._joined = True
        return self.said

    def affected(self) -> set[GpuKey]:
        """The GPUs that have it."""
        return set(self.joined())

    def readings(self) -> Iterator[Reading]:
        """The fact of each GPU."""
        for key, said in self.joined().items():
            fields = {
                name: ", ".join(map(str, sorted(value, key=_by_number))) if isinstance(value, frozenset) else value
                for name, value in said.items()
                if name != "what"
            }
            name = key.name.replace("GPU", said["what"], 1) if "what" in said else key.name
            fact = self._type.model_validate({"index": key.number, **fields, "name": name, "bdf": key.bdf})
            yield derived(fact, self._basis[key])


_GATHERED = frozenset({"xids", "links", "inspect"})
_GRAVER = {"failed": 3, "pending": 2, "exhausted": 1, "lost": 3, "diagnostic": 2, "no-handle": 1}


def _take_in(said: dict[str, Any], fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        old = said.get(name)
        if value is None:
            continue
        if name in _GATHERED:
            said[name] = (old or frozenset()) | (value if isinstance(value, frozenset) else {str(value)})
        elif isinstance(value, bool):
            said[name] = bool(old) or value
        elif old is None or _GRAVER.get(value, 0) > _GRAVER.get(old, 0):
            said[name] = value


def _by_number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (1_000_000, text)


def _addresses(facts: Facts) -> tuple[dict[int, str], dict[str, str]]:
    """The address of each GPU by nvidia-smi's number and by UUID; none where listings disagree on it."""
    by_index: dict[int, set[str]] = {}
    by_uuid: dict[str, str] = {}
    for gpu, _ in facts.of(Gpu):
        if gpu.index is not None and gpu.bdf is not None and gpu.reported_by == "nvidia-smi":
            by_index.setdefault(gpu.index, set()).add(gpu.bdf)
        if gpu.uuid and gpu.bdf:
            by_uuid[gpu.uuid] = gpu.bdf
    by_uuid |= {identity.uuid: identity.bdf for identity, _ in facts.of(GpuIdentity)}
    return {index: next(iter(bdfs)) for index, bdfs in by_index.items() if len(bdfs) == 1}, by_uuid


def order(one: XidEvent, other: XidEvent) -> bool | None:
    """Whether the first came no later than the other; None where it can't be told."""
    if one.first_s is not None and other.first_s is not None:
        return one.first_s <= other.first_s
    after = later_by_s(one.time, other.time)
    return None if after is None else after >= 0
