"""What goes with which release of the driver, and what each release of the container toolkit can and cannot do.

`driver_companions.csv`: parts of the stack with packages of their own, by role, and whether they must be of
exactly the driver's release (`since` which branch they come with it). `container_toolkits.csv`: entries on the
NVIDIA container toolkit, each from `since` until before `before`, empty where there is no bound. Kinds: `feature`
(a release without it lacks it), `default` (how it goes about a thing unless told otherwise), `defect`,
`vulnerability`. Sources: NVIDIA's release notes of the toolkit, and CVE records.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple, TypeAlias, cast

from kb.catalogues import rows
from kb.facts.base import version_key

ToolkitKind: TypeAlias = Literal["feature", "default", "defect", "vulnerability"]


class ToolkitEntry(NamedTuple):
    """Something that some releases of the container toolkit have and others have not."""

    id: str
    kind: ToolkitKind
    since: str | None
    before: str | None
    what: str
    do: str | None
    """The switch that undoes a default."""

    def has(self, version: str) -> bool:
        """Whether a release is among those that have it."""
        key = version_key(version) or 0
        return (version_key(self.since or "") or 0) <= key and (
            self.before is None or key < (version_key(self.before) or 0)
        )


@cache
def toolkit_entries() -> tuple[ToolkitEntry, ...]:
    """All entries on the container toolkit, in the order of the file."""
    return tuple(
        ToolkitEntry(
            row["id"],
            cast("ToolkitKind", row["kind"]),
            row["since"] or None,
            row["before"] or None,
            row["what"],
            row["do"] or None,
        )
        for row in rows("container_toolkits.csv")
    )


def toolkit_has(version: str, *kinds: ToolkitKind) -> str:
    """The ids of the entries of some kinds that a release has, `cgroup-v2 cdi-generate`."""
    return " ".join(entry.id for entry in toolkit_entries() if entry.kind in kinds and entry.has(version))


def toolkit_lacks(version: str) -> str:
    """The ids of the features that a release does not have yet."""
    return " ".join(entry.id for entry in toolkit_entries() if entry.kind == "feature" and not entry.has(version))


@cache
def follows_driver(role: str) -> bool | None:
    """Whether the packages of a role must be of exactly the driver's release; None if not listed."""
    return next(
        (row["follows_driver"] == "yes" for row in rows("driver_companions.csv") if row["role"] == role), None
    )
