"""The catalogue of defects of NCCL releases: which release has which, what is seen of it, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from kb.catalogues import entries
from kb.facts.base import version_key


@dataclass(frozen=True, slots=True)
class Defect:
    """One entry of the catalogue."""

    id: str
    title: str
    since: str
    before: str
    fixed: str
    fit: Literal["exact", "circumstantial"]
    source: str
    lines: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    cuda: str | None = None
    architectures: tuple[str, ...] = ()
    """Of the GPUs that have it; any where there is none."""
    tiers: tuple[str, ...] = ()
    machine: str | None = None
    built_before: str | None = None
    """Builds with this CUDA or a newer one don't have it."""
    setting: tuple[str, str | None] | None = None
    """Name and value; any value where it is None."""
    operation: str | None = None
    """alltoall: of a test or a collective that did not end."""
    hang: bool = False
    workaround: str | None = None

    def has(self, version: str, cuda: str | None = None) -> bool:
        """Whether a release, built with that CUDA where it is known, is one of those with the defect."""
        key, since, before = (version_key(one) for one in (version, self.since, self.before))
        if key is None or since is None or before is None or not since <= key < before:
            return False
        built, free = version_key(cuda or ""), version_key(self.built_before or "")
        return built is None or free is None or built < free


_OPTIONAL = ("cuda", "machine", "built_before", "operation", "hang", "workaround")


@cache
def defects() -> tuple[Defect, ...]:
    """All entries, in the order of the file."""
    return tuple(
        Defect(
            id=name,
            fixed=entry.get("fixed", entry["before"]),
            lines=tuple(entry.get("lines", ())),
            frames=tuple(entry.get("frames", ())),
            architectures=tuple(entry.get("gpus", {}).get("architecture", ())),
            tiers=tuple(entry.get("gpus", {}).get("tier", ())),
            setting=(entry["setting"]["name"], entry["setting"].get("value")) if "setting" in entry else None,
            **{key: entry[key] for key in ("title", "since", "before", "fit", "source")},
            **{key: entry[key] for key in _OPTIONAL if key in entry},
        )
        for name, entry in entries("nccl_defects.yaml").items()
    )
