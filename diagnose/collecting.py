"""`diagnose collect`: a bundle of this machine, with progress on a terminal."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from collectors.live import Step, collect, default_name
from collectors.live.sources import table
from collectors.live.system import host_name
from collectors.live.tree import Tree
from collectors.pack import bundle_folder, is_archive, pack
from diagnose import __version__
from kb.errors import InputError

MOST_SAMPLE_S = 600.0


@dataclass(frozen=True)
class Wanted:
    """What a user asks for beyond what is always taken."""

    root: Path = Path("/")
    pids: tuple[int, ...] = ()
    pythons: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    sample_s: float = 0.0


def seconds_of(text: str) -> float:
    """Seconds of `20s`, `20` or `2m`. Raises InputError for anything else, and for more than ten minutes."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d{1,3})?)(s|m)?", text.strip())
    seconds = float(match[1]) * (60 if match[2] == "m" else 1) if match else 0.0
    if not 0 < seconds <= MOST_SAMPLE_S:
        raise InputError(f"expected a time of at most ten minutes such as 20s after --sample, found {text!r}")
    return seconds


def collect_bundle(out: Path | None, deadline_s: float, wanted: Wanted = Wanted()) -> Path:
    """The path of the bundle that was written. Raises InputError where it can't be written there.

    Without `out` it is in the working directory, or where that can't be written in that for temporary files.
    """
    if not wanted.root.is_dir():
        raise InputError(f"expected the root of a system, found no folder at {wanted.root}; mount it there")
    name = default_name(host_name(Tree(str(wanted.root.resolve()))), datetime.now(timezone.utc))
    target = out or _where_one_may_write() / name
    rows = table(
        pids=wanted.pids,
        pythons=tuple(_absolute(path) for path in wanted.pythons),
        logs=tuple(os.path.abspath(pattern) for pattern in wanted.logs),  # noqa: PTH100 - patterns, not paths
        sample_s=wanted.sample_s,
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _progress() as tell:
            folder = collect(
                bundle_folder(target),
                version=__version__,
                progress=tell,
                deadline_s=deadline_s + wanted.sample_s,
                root=wanted.root,
                sources=rows,
            )
    except OSError as error:
        raise _not_written(target, error) from error
    if not is_archive(target):
        return folder
    archive = _unused(target) if out is None else target
    try:
        return pack(folder, archive, remove=True)
    except OSError as error:  # the disk is full, for instance: the folder holds the same
        if out is None:
            archive.unlink(missing_ok=True)
        _warn(f"{_not_written(archive, error)}; the folder {folder} has everything")
        return folder


def _not_written(target: Path, error: OSError) -> InputError:
    why = (error.strerror or str(error)).lower()
    return InputError(f"could not write the bundle {target}: {why}; name another place with -o")


def _unused(target: Path) -> Path:
    """The name, or the next that nobody has: two may collect in one second. An empty file keeps it for us."""
    folder, suffix = bundle_folder(target).name, target.name[len(bundle_folder(target).name) :]
    for number in range(1, 100):
        name = target.with_name(f"{folder}-{number}{suffix}") if number > 1 else target
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return name
    return target


def _where_one_may_write() -> Path:
    """The working directory, or that for temporary files where nothing can be written there."""
    try:
        with tempfile.TemporaryFile(dir="."):
            return Path()
    except OSError as error:
        other = Path(tempfile.gettempdir())
        _warn(
            f"nothing can be written here ({(error.strerror or str(error)).lower()}); the bundle goes to {other}"
        )
        return other


def _absolute(program: str) -> str:
    """A path from the root; a bare name stays one."""
    return os.path.abspath(program) if "/" in program else program  # noqa: PTH100 - links must stay as they are


def _warn(text: str) -> None:
    print(f"diagnose: {text}", file=sys.stderr)  # noqa: T201


@contextmanager
def _progress() -> Iterator[Callable[[Step], None] | None]:
    """What to tell of each step: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda step: progress.update(
            task, total=step.total, completed=step.number - (step.outcome is None), description=step.name
        )
