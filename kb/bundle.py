"""The bundle: raw evidence as the machine gave it, with a manifest that says how each piece was got."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

MANIFEST = "manifest.json"


class Artifact(BaseModel):
    """One raw file of a bundle, or the reason why there is none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: str | None = None
    """Inside the bundle; None where nothing was written."""
    name: str = ""
    file: str | None = None
    """The file it is a copy of."""
    command: tuple[str, ...] | None = None
    """The command that printed it."""
    outcome: Literal["ok", "absent", "no-permission", "timed-out", "failed", "interrupted", "skipped"] = "ok"
    exit_code: int | None = None
    error: str | None = None
    note: str | None = None
    """What was left out of it."""
    started: str | None = None
    """ISO 8601 with offset."""
    seconds: float | None = None
    bytes: int = 0
    sha256: str | None = None
    truncated: bool = False


class Bundle(BaseModel):
    """A manifest: what was collected from which machine, when."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_: Literal["diagnose.bundle/1"] = "diagnose.bundle/1"
    version: str = ""
    host: str | None = None
    view: str | None = None
    """Whose files were read: this system's, or those of another root, such as a host's in a container."""
    uid: int | None = None
    """Of the user who collected it; 0 is root."""
    started: str | None = None
    finished: str | None = None
    artifacts: tuple[Artifact, ...] = ()
