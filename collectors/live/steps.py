"""One source to artifacts and their entries: which work its child does, and what its end means."""

from __future__ import annotations

import errno
import glob
import os
import signal
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from collectors.live.bundle import Bundle, Entry, Outcome
from collectors.live.run import Ran, execute, run
from collectors.live.source import MIB, File, Files, Listing, Processes, Pythons, PythonStacks, Source
from collectors.live.tree import Tree, copy, print_lines, print_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_FILES = 200
"""Of one row of `Files`; what is beyond is named as skipped."""

_OUTCOMES: dict[int, Outcome] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.ENODEV: "absent",
    errno.ENXIO: "absent",
    errno.EACCES: "no-permission",
    errno.EPERM: "no-permission",
}
_REFUSALS = (b"Operation not permitted", b"Permission denied", b"insufficient permissions")
_ERROR_CHARS = 300
_SHOWN = 3
_FLOOD_BYTES = 64 * MIB
"""Beyond the cap, after which a step is ended: it might go on for ever."""
_FLOODED = "ended, for it wrote without end"
# An unprivileged user's PATH lacks the first ones on Debian; the last holds nvidia-smi under WSL.
_MORE_PATH = (
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/lib/wsl/lib",
)


@dataclass
class Site:
    """Where steps take from and put to. `stop` says that somebody wants the run to end."""

    bundle: Bundle
    tree: Tree
    stop: Callable[[], bool]
    holders: list[int] | None = None
    """The processes that hold a GPU, once they were looked for."""

    def take(self, source: Source, limit_s: float) -> bool:
        """Takes one source within so many seconds and enters it in the bundle; true where it came whole.

        Raises OSError where the bundle cannot be written; the source's own failures are outcomes.
        """
        how, name = source.how, source.name
        if isinstance(how, Files):
            self._copy_all(source, how, limit_s)
            return False
        if isinstance(how, (Processes, PythonStacks, Pythons)):
            from collectors.live.job import take_job

            take_job(self, source, limit_s)
            return False
        if isinstance(how, File):
            return self._copy(source, how.path, how, limit_s)
        if isinstance(how, Listing):
            work = partial(print_lines, self.tree, how.like, how.lines)
            return self.step(source, Entry(name), f"listings/{name}.txt", work, limit_s)
        execution = partial(execute, how.argv, command_environ(os.environ))
        return self.step(source, Entry(name, command=list(how.argv)), f"commands/{name}.txt", execution, limit_s)

    def _copy(self, source: Source, path: str, how: File | Files, limit_s: float) -> bool:
        """Copies one file."""
        place = "files" + (path[:-3] if path.endswith(".gz") else path)  # noqa: FURB188 - `copy` unpacks it
        if self.bundle.has(place):  # another row had it
            self.add(Entry(source.name, file=path, error="not needed: it is in the bundle already"))
            return False
        work = partial(copy, self.tree, path, self._cap_bytes(source), how.keep)
        return self.step(source, Entry(source.name, file=path), place, work, limit_s)

    def _copy_all(self, source: Source, how: Files, limit_s: float) -> None:
        """Copies every file that matches, an entry each; one entry where none does."""
        until = time.monotonic() + limit_s
        listed = bytearray()
        patterns = filled(how.patterns, os.environ)
        work = partial(print_paths, self.tree, patterns)
        ran = run(work, listed.extend, deadline_s=limit_s, stop=self.stop)
        outcome, _, error = judge(ran, is_command=False, wrote=bool(listed))
        if outcome == "ok" and not listed:
            more = f" and {len(patterns) - _SHOWN} more" if len(patterns) > _SHOWN else ""
            outcome, error = "absent", f"nothing matches {' '.join(patterns[:_SHOWN])}{more}"
        if outcome != "ok":
            self.add(Entry(source.name, outcome=outcome, error=error))
            return
        paths = [os.fsdecode(path) for path in bytes(listed).split(b"\0") if path]
        for path in paths[:MOST_FILES]:
            left_s = until - time.monotonic()
            if self.stop():
                self.add(Entry(source.name, file=path, outcome="interrupted", error="not started"))
            elif left_s <= 0:
                self.add(Entry(source.name, file=path, error="not started: its source's time was spent"))
            else:
                self._copy(source, path, how, left_s)
        if len(paths) > MOST_FILES:
            self.add(Entry(source.name, error=f"{len(paths) - MOST_FILES} more files match"))

    def step(self, source: Source, entry: Entry, place: str, work: Callable[[], object], limit_s: float) -> bool:
        """Runs one child into one artifact; true where that came whole."""
        entry.outcome = "interrupted"  # until it is known better
        self.add(entry)
        began, cap_bytes = time.monotonic(), self._cap_bytes(source)
        if not cap_bytes:
            entry.outcome, entry.error = "skipped", "not taken: the bundle has reached its greatest size"
            return False
        with self.bundle.artifact(place, cap_bytes) as artifact:
            try:
                most = source.cap_bytes + _FLOOD_BYTES
                ran = run(work, artifact.write, deadline_s=limit_s, stop=self.stop, most_bytes=most)
                judged = judge(ran, is_command=entry.command is not None, wrote=artifact.bytes > 0)
                entry.outcome, entry.exit_code, entry.error = judged
                entry.truncated = ran.cut
                entry.note = ran.note or entry.note
                if entry.outcome == "ok":
                    artifact.write(b"")
                artifact.end()
                if cap_bytes < source.cap_bytes and (artifact.truncated or entry.truncated):
                    entry.error = entry.error or f"cut at {cap_bytes} bytes: the bundle nears its greatest size"
            finally:
                entry.seconds = round(time.monotonic() - began, 3)
                artifact.describe(entry)
        for what, content in (("stderr", ran.stderr), ("stuck", ran.left_stacks)):
            if content:
                self._add_beside(f"{entry.name}.{what}", f"{_stem(place)}.{what}.txt", content)
        is_empty = entry.command is not None and not entry.bytes  # nothing to see, or nothing that we may see
        whole = entry.outcome == "ok" and not entry.truncated and not is_empty
        return whole and artifact.head.startswith(source.whole_if)

    def _add_beside(self, name: str, place: str, content: bytes) -> None:
        """Keeps what belongs to an artifact beside it, in an entry that is not taken for the output."""
        if self.bundle.has(place):  # of several files of one name
            return
        entry = Entry(name, outcome="ok")
        with self.bundle.artifact(place, MIB) as artifact:
            artifact.write(content)
            artifact.end()
            artifact.describe(entry)
        self.add(entry)

    def _cap_bytes(self, source: Source) -> int:
        """What one artifact of the source may have, by its row and by the room in the bundle."""
        return min(source.cap_bytes, self.bundle.room())

    def add(self, entry: Entry) -> None:
        """Enters it in the manifest."""
        self.bundle.entries.append(entry)


def judge(ran: Ran, *, is_command: bool, wrote: bool) -> tuple[Outcome, int | None, str | None]:
    """The outcome of a step, the exit code where it was a command that ended, and the error in one line."""
    if ran.interrupted or ran.timed_out or ran.flooded:
        outcome: Outcome = "interrupted" if ran.interrupted else "timed-out" if ran.timed_out else "failed"
        what = {"interrupted": "interrupted", "timed-out": "did not end in time"}.get(outcome, _FLOODED)
        left = f"; left behind: {ran.left_behind}, not even SIGKILL ends it" if ran.left_behind else ""
        return outcome, None, what + left
    if ran.error is not None:
        return _OUTCOMES.get(ran.errno or 0, "failed"), None, one_line(ran.error)
    code = ran.exit_code
    shown = code if is_command else None
    if code == 0:
        return "ok", shown, None
    if code is not None and code < 0:
        return "failed", shown, f"ended by {signal.Signals(-code).name}"
    first = next((line for line in ran.stderr.splitlines() if line.strip()), b"").decode("utf-8", "replace")
    refused = not wrote and any(refusal in ran.stderr for refusal in _REFUSALS)
    return ("no-permission" if refused else "failed"), shown, one_line(first) or f"exit code {code}"


def _stem(place: str) -> str:
    """The place without the ending of texts."""
    return place[:-4] if place.endswith(".txt") else place  # noqa: FURB188 - the oldest Python lacks it


def one_line(text: str) -> str:
    """The text on one line, without control characters, cut to what fits a table."""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:_ERROR_CHARS]


def filled(patterns: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The patterns with a leading `~` or `$NAME` filled in; what is then empty or relative is left out."""
    home = glob.escape(environ.get("HOME", ""))
    full = []
    for pattern in patterns:
        path = (home and home + pattern[1:]) if pattern.startswith("~/") else pattern
        path = glob.escape(environ.get(path[1:], "")) if path.startswith("$") else path
        if path.startswith("/"):
            full.append(os.path.normpath(path))
    return tuple(full)


def command_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for commands: English, no pagers or colours, wide tables, and a full PATH."""
    given = [folder for folder in environ.get("PATH", "").split(":") if folder.startswith("/")]
    path = ":".join(dict.fromkeys([*given, *_MORE_PATH]))
    # dpkg cuts names such as linux-modules-nvidia-565-server-open-6.8.0-60-generic at 200 columns.
    fixed = {
        "LC_ALL": "C",
        "LANGUAGE": "C",
        "COLUMNS": "400",
        "PAGER": "cat",
        "SYSTEMD_PAGER": "",
        "SYSTEMD_COLORS": "0",
    }
    return {**environ, "PATH": path, **fixed}
