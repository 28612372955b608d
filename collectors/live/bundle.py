"""The bundle on disk: a folder with the raw artifacts and manifest.json, which says how each was got.

It is built beside its place, readable by its owner alone, and takes its name at the end. The manifest is
written anew after each step, so that also a run that is killed leaves one. Secrets are taken out of whatever
is written, before it is on the disk. No artifact may take more than a third of the room that is left, so that
what floods is shortened and what comes last, which is nvidia-smi, still finds room.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from collectors.live.scrub import Scrubber, scrubbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = "diagnose.bundle/1"

Outcome: TypeAlias = Literal["ok", "absent", "no-permission", "timed-out", "failed", "interrupted", "skipped"]

MAX_BYTES = 200 * 1024 * 1024
"""What a bundle holds at most, unpacked."""
LEAST_BYTES = 1024 * 1024
"""The smallest limit that leaves room for a manifest and the small files that tell most."""

_HEAD_BYTES = 64
_SHARE = 3
_LEAST_ROOM = 1024
_RESERVE, _RESERVE_BYTES = ".room-for-the-manifest", 512 * 1024


def default_name(host: str, when: datetime) -> str:
    """The name of a bundle's archive, `diagnose-HOST-20260309T120211Z.tar.zst`. `when` knows its zone."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", host).strip("-.")[:64] or "unknown"
    return f"diagnose-{plain}-{when.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}.tar.zst"


def now() -> datetime:
    """The time with the offset of the machine's zone, in which its package logs are written."""
    return datetime.now(timezone.utc).astimezone()


@dataclass
class Entry:
    """What the manifest says of one artifact. Where nothing was written, `path` is None, `sha256` empty."""

    name: str
    path: str | None = None
    file: str | None = None
    command: list[str] | None = None
    outcome: Outcome = "skipped"
    exit_code: int | None = None
    error: str | None = None
    note: str | None = None
    """What was left out of a file that was too large."""
    started: str = field(default_factory=lambda: now().isoformat(timespec="milliseconds"))
    seconds: float = 0.0
    bytes: int = 0
    sha256: str = ""
    truncated: bool = False


class Artifact:
    """A file of the bundle while it is written: takes chunks up to a cap, and knows what it has.

    `cap_bytes` is of what comes in, `most_bytes` of what is written, which marks of secrets make longer.
    """

    def __init__(self, folder: Path, path: str, cap_bytes: int, most_bytes: int) -> None:
        self.path = path
        self.bytes = 0
        self.truncated = False
        self.head = b""
        self.scrubber = Scrubber()
        self._folder = folder
        self._file = folder / path
        self._left = cap_bytes
        self._most = most_bytes
        self._hash = hashlib.sha256()
        self._descriptor: int | None = None

    def write(self, chunk: bytes) -> None:
        """Adds what still fits under the cap, without secrets. Raises OSError where the disk does."""
        kept = chunk[: self._left]
        self.truncated = self.truncated or len(kept) < len(chunk)
        self._left -= len(kept)
        self._write(self.scrubber.feed(kept))

    def end(self) -> None:
        """Adds a last line that was not ended. Raises OSError where the disk does."""
        rest = self.scrubber.end()
        if rest:
            self._write(rest)

    def close(self) -> None:
        """Ends the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def describe(self, entry: Entry) -> None:
        """Enters size, sum and place; no place where nothing was written."""
        if self._file.exists():
            entry.path, entry.bytes, entry.sha256 = self.path, self.bytes, self._hash.hexdigest()
            entry.truncated = entry.truncated or self.truncated

    def _write(self, text: bytes) -> None:
        """Puts it on the disk, the file being made where it is the first."""
        if self._descriptor is None:
            for parent in reversed(self._file.relative_to(self._folder).parents):
                (self._folder / parent).mkdir(mode=0o700, exist_ok=True)  # `parents=True` would use the umask
            self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        kept = text[: self._most - self.bytes]
        self.truncated = self.truncated or len(kept) < len(text)
        while kept:
            written = os.write(self._descriptor, kept)
            self._hash.update(kept[:written])
            self.bytes += written
            self.head += kept[: min(written, _HEAD_BYTES - len(self.head))]
            kept = kept[written:]


class Bundle:
    """A bundle in the making. Raises FileExistsError at once where `out` is taken."""

    def __init__(
        self,
        out: Path,
        *,
        version: str,
        host: str,
        deadline_s: float,
        root: str = "/",
        max_bytes: int = MAX_BYTES,
    ) -> None:
        if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
            raise FileExistsError(f"{out} exists already; name another place for the bundle")
        out.parent.mkdir(parents=True, exist_ok=True)
        self.out = out
        self.folder = Path(tempfile.mkdtemp(prefix=f"{out.name}.partial-", dir=out.parent))
        self.entries: list[Entry] = []
        self._started, self._began = now(), time.monotonic()
        self._about: dict[str, object] = {
            "schema": SCHEMA,
            "version": version,
            "host": host,
            "view": "this system" if root == "/" else f"another root at {root}",
            "root": root,
            "uid": os.geteuid(),
            "started": _text_of(self._started),
        }
        self._deadline_s = deadline_s
        self._taken: set[str] = set()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._manifest_bytes = min(max(max_bytes // 16, 64 * 1024), 2 * 1024 * 1024)
        self._secrets: dict[str, int] = {}
        self._reserve = self.folder / _RESERVE
        with suppress(OSError):  # a disk that is full already
            self._reserve.write_bytes(b"\0" * _RESERVE_BYTES)

    def has(self, path: str) -> bool:
        """Whether an artifact was begun at this path of the bundle."""
        return path in self._taken

    def room(self) -> int:
        """How many bytes the next artifact may have; 0 where that would not be worth a file."""
        share = (self._max_bytes - self._manifest_bytes - self._bytes) // _SHARE
        return share if share >= _LEAST_ROOM else 0

    @contextmanager
    def artifact(self, path: str, cap_bytes: int) -> Iterator[Artifact]:
        """The artifact at `path` of the bundle, closed at the end. FileExistsError if there is one."""
        path = os.fsdecode(scrubbed(os.fsencode(path)))
        if path in self._taken:
            raise FileExistsError(f"{path} is in the bundle already")
        self._taken.add(path)
        artifact = Artifact(self.folder, path, cap_bytes, self.room())
        try:
            yield artifact
        finally:
            artifact.close()
            self._bytes += artifact.bytes
            for kind, count in artifact.scrubber.counts.items():
                self._secrets[kind] = self._secrets.get(kind, 0) + count

    def save(self) -> None:
        """Writes the manifest as it is now, whole or not at all."""
        finished, seconds = now(), time.monotonic() - self._began
        manifest = {
            **self._about,
            "finished": _text_of(finished),
            "seconds": round(seconds, 3),
            # How far the clock was set meanwhile: stamps before and after it differ by so much more.
            "clock_step_s": _step_s((finished - self._started).total_seconds() - seconds),
            "deadline_s": self._deadline_s,
            "secrets": dict(sorted(self._secrets.items())),
            "artifacts": [asdict(entry) for entry in self.entries],
        }
        content = scrubbed(f"{json.dumps(manifest, indent=1)}\n".encode())
        self._manifest_bytes = max(self._manifest_bytes, 2 * len(content))
        try:
            self._replace_manifest(content)
        except OSError:
            self._reserve.unlink()  # that is what it is kept for; FileNotFoundError where it was used up
            self._replace_manifest(content)

    def _replace_manifest(self, content: bytes) -> None:
        new = self.folder / "manifest.json.new"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        new.replace(self.folder / "manifest.json")

    def finish(self, finishing: Callable[[Path], object] | None = None) -> Path:
        """Where the bundle is, its manifest written: at `out`, or where it was built if that was taken.

        `finishing` may change the folder before it gets its name; what it raises is passed on, and it gets none.
        Else raises OSError only where no manifest at all could be written.
        """
        try:
            self.save()
        except OSError:
            with suppress(OSError):
                (self.folder / "manifest.json.new").unlink()
            if not (self.folder / "manifest.json").exists():  # of an earlier step
                raise
        with suppress(FileNotFoundError):
            self._reserve.unlink()
        if finishing is not None:
            finishing(self.folder)
        try:
            self.folder.rename(self.out)
        except OSError:  # somebody took the name meanwhile: the evidence counts more than its name
            return self.folder
        return self.out


def _text_of(when: datetime) -> str:
    """ISO 8601 with offset."""
    return when.isoformat(timespec="milliseconds")


def _step_s(apart_s: float) -> float:
    """How far the clock was set; what a clock that is kept in time drifts is no step."""
    return round(apart_s, 3) if abs(apart_s) >= 1.0 else 0.0
