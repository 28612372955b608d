"""A bundle as somebody asks for it: which sources, where it goes, what is done with it before it has its name.

Standard library alone, since the collector that is one file brings it along.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from collectors.live import Source, Step, collect, default_name
from collectors.live.bundle import MAX_BYTES, Bundle
from collectors.live.choose import UnknownSourceError, chosen, plan
from collectors.live.sources import table
from collectors.live.system import host_name
from collectors.live.tree import Tree
from collectors.pack import bundle_folder, is_archive, pack
from collectors.redact import Redactor, in_words, key_of, redact_folder

MOST_SAMPLE_S = 600.0


class RequestError(ValueError):
    """What was asked for cannot be done; the message says in one line why, and what to do."""


@dataclass(frozen=True)
class Wanted:
    """What a user asks for beyond what is always taken."""

    root: Path = Path("/")
    pids: tuple[int, ...] = ()
    pythons: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    sample_s: float = 0.0
    only: tuple[str, ...] = ()
    """Names of sources and patterns of them; see `choose`."""
    skip: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES
    redact: bool = False
    redact_key: str | None = None
    suffix: str = ".tar.zst"
    """Of the archive where no name is given for it."""


def seconds_of(text: str) -> float:
    """Seconds of `20s`, `20` or `2m`. Raises RequestError for anything else, and for more than ten minutes."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)(s|m)?", text.strip())
    seconds = float(match.group(1)) * (60 if match.group(2) == "m" else 1) if match else 0.0
    if not 0 < seconds <= MOST_SAMPLE_S:
        raise RequestError(f"expected a time of at most ten minutes such as 20s after --sample, found {text!r}")
    return seconds


def planned(wanted: Wanted) -> list[str]:
    """What would be read and run, a line for each source. Raises RequestError where one is named that is none."""
    return list(plan(_rows(wanted)))


def take_bundle(
    out: Path | None,
    deadline_s: float,
    wanted: Wanted,
    *,
    version: str,
    progress: Callable[[Step], None] | None = None,
    warn: Callable[[str], None],
    then: Callable[[Bundle, Callable[[], bool]], None] | None = None,
) -> Path:
    """The path of the bundle that was written. Raises RequestError where it can't be written there.

    Without `out` it is in the working directory, or where that can't be written in that for temporary files.
    `warn` hears of what did not go as asked, in lines. `then` may add to the bundle what takes its own time.
    """
    if not wanted.root.is_dir():
        raise RequestError(f"expected the root of a system, found no folder at {wanted.root}; mount it there")
    rows = _rows(wanted)
    host, key = host_name(Tree(str(wanted.root.resolve()))), key_of(wanted.redact_key)
    name = default_name(Redactor(key).known_host(host) if wanted.redact else host, datetime.now(timezone.utc))
    target = out or _where_one_may_write(warn) / name.replace(".tar.zst", wanted.suffix)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = collect(
            bundle_folder(target),
            version=version,
            progress=progress,
            deadline_s=deadline_s + wanted.sample_s,
            root=wanted.root,
            sources=rows,
            max_bytes=wanted.max_bytes,
            then=then,
            finishing=partial(_redacted, key, host, warn) if wanted.redact else None,
        )
    except OSError as error:
        raise _not_written(target, error) from error
    return _packed(folder, _unused(target) if out is None else target, warn) if is_archive(target) else folder


def say(text: str) -> None:
    """Prints a line to standard error."""
    print(f"diagnose: {text}", file=sys.stderr)  # noqa: T201


def _rows(wanted: Wanted) -> tuple[Source, ...]:
    """The sources that are taken."""
    rows = table(
        pids=wanted.pids,
        pythons=tuple(_absolute(path) for path in wanted.pythons),
        logs=tuple(os.path.abspath(pattern) for pattern in wanted.logs),  # noqa: PTH100 - patterns, not paths
        sample_s=wanted.sample_s,
    )
    try:
        return chosen(rows, wanted.only, wanted.skip)
    except UnknownSourceError as error:
        raise RequestError(str(error)) from error


def _packed(folder: Path, archive: Path, warn: Callable[[str], None]) -> Path:
    """The archive, or the folder where there is no room for it."""
    try:
        return pack(folder, archive, remove=True)
    except OSError as error:
        with suppress(OSError):
            if not archive.stat().st_size:  # made to keep the name
                archive.unlink()
        warn(f"{_not_written(archive, error)}; the folder {folder} has everything")
        return folder


def _unused(target: Path) -> Path:
    """The name, or the next that nobody has: two may collect in one second. An empty file keeps it for us."""
    folder, suffix = bundle_folder(target).name, target.name[len(bundle_folder(target).name) :]
    for number in range(1, 100):
        name = target.with_name(f"{folder}-{number}{suffix}") if number > 1 else target
        try:
            os.close(os.open(str(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return name
    return target


def _redacted(key: bytes, host: str, warn: Callable[[str], None], folder: Path) -> None:
    """Replaces the names in a bundle that is about to be finished, and says what was replaced."""
    for line in in_words(redact_folder(folder, key, [host])):
        warn(line)


def _not_written(target: Path, error: OSError) -> RequestError:
    why = (error.strerror or str(error)).lower()
    return RequestError(f"could not write the bundle {target}: {why}; name another place with -o")


def _where_one_may_write(warn: Callable[[str], None]) -> Path:
    """The working directory, or that for temporary files where nothing can be written there."""
    try:
        with tempfile.TemporaryFile(dir="."):
            return Path()
    except OSError as error:
        other = Path(tempfile.gettempdir())
        why = (error.strerror or str(error)).lower()
        warn(f"nothing can be written here ({why}); the bundle goes to {other}")
        return other


def _absolute(program: str) -> str:
    """A path from the root; a bare name stays one."""
    return os.path.abspath(program) if "/" in program else program  # noqa: PTH100 - links must stay as they are
