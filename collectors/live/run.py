"""One step in a child process: its standard output is the artifact; it ends by a deadline or is left behind.

Reading a file of /proc or /sys can hang in the kernel just as a command can. A thread that hangs so keeps the
whole process from exiting, because that stays a zombie until every thread is gone; a child does not.
So every step, reading included, is a forked child in a session of its own, and the parent only ever waits
with a limit. The child is forked rather than spawned by `subprocess`, because starting a program whose file
system hangs would block the parent there; here it blocks the child. Nothing waits for a child that was left
behind, at interpreter exit neither.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import selectors
import signal
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from collectors.live.leftovers import print_group, words_of
from collectors.live.report import report, report_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STDERR_BYTES = 64 * 1024
"""What is kept of standard error."""

_CHUNK = 64 * 1024
_POLL_S = 0.02
# How long an ended child's pipes are still read: grandchildren may hold them open for ever.
_DRAIN_S = 0.2
_LOOK_S = 0.5
_KILL = ((signal.SIGTERM, 0.5), (signal.SIGKILL, 0.5))
# Handlers of the parent must not run in the child; Python ignores SIGPIPE, which commands do not expect.
_TO_DEFAULT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


@dataclass(frozen=True)
class Ran:
    """How a step ended. `exit_code` is negative for a signal, None where the work raised or was stopped.

    `errno` and `error` are what the work raised in the child, an exec that failed included.
    """

    exit_code: int | None = None
    errno: int | None = None
    error: str | None = None
    timed_out: bool = False
    interrupted: bool = False
    flooded: bool = False
    """Ended because it wrote more than it may."""
    cut: bool = False
    """The work said that it gave only a part."""
    note: str | None = None
    """What the work said of that part."""
    left_behind: str | None = None
    """Which processes did not die, in words."""
    left_stacks: bytes = b""
    """The same as a transcript of ps, with the kernel's stacks where they may be read."""
    stderr: bytes = b""


@dataclass
class _Child:
    """A running child and what it has said so far besides its standard output."""

    pid: int
    sink: Callable[[bytes], None]
    pipes: dict[int, str]
    most_bytes: int | None = None
    seen_bytes: int = 0
    stderr: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)

    @property
    def floods(self) -> bool:
        """Whether it wrote more than it may."""
        return self.most_bytes is not None and self.seen_bytes > self.most_bytes

    def ended(self) -> bool:
        """Whether the child itself has ended. It stays a zombie, so that its number cannot be given away."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def send(self, number: int) -> None:
        """Signals the child and everything it started in its group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:  # not yet leader of its own group
            os.kill(self.pid, number)
        except PermissionError:  # a set-uid program; the deadline still frees us from it
            pass

    def take(self, descriptor: int) -> None:
        """Reads what one pipe holds now, and closes it at its end."""
        chunk = os.read(descriptor, _CHUNK)
        what = self.pipes[descriptor]
        if not chunk:
            del self.pipes[descriptor]
            os.close(descriptor)
        elif what == "stdout":
            self.seen_bytes += len(chunk)
            self.sink(chunk)
        else:
            kept = self.stderr if what == "stderr" else self.report
            kept += chunk[: max(0, STDERR_BYTES - len(kept))]

    def read_ready(self, timeout_s: float) -> bool:
        """Reads every pipe that has something within that time; false where none had."""
        if not self.pipes:
            time.sleep(timeout_s)
            return False
        with selectors.PollSelector() as selector:
            for descriptor in self.pipes:
                selector.register(descriptor, selectors.EVENT_READ)
            ready = [key.fd for key, _ in selector.select(timeout_s)]
        for descriptor in ready:
            self.take(descriptor)
        return bool(ready)

    def watch(self, seconds: float, stop: Callable[[], bool]) -> bool:
        """Reads until the child has ended; false where it must be ended: time, flood or a stop asked for."""
        until = time.monotonic() + seconds
        pause_s = 0.001
        while not self.ended():
            left_s = until - time.monotonic()
            if left_s <= 0 or self.floods or stop():
                return False
            if not self.read_ready(min(left_s, pause_s)):
                pause_s = min(pause_s * 2, _POLL_S)
        return True

    def drain(self) -> None:
        """Reads the rest of the pipes of an ended child."""
        until = time.monotonic() + _DRAIN_S
        while self.pipes and time.monotonic() < until:
            self.read_ready(_POLL_S)

    def close(self) -> None:
        """Lets go of the pipes."""
        for descriptor in list(self.pipes):
            os.close(descriptor)
        self.pipes.clear()


def run(
    work: Callable[[], object],
    sink: Callable[[bytes], None],
    *,
    deadline_s: float,
    stop: Callable[[], bool] = lambda: False,
    most_bytes: int | None = None,
) -> Ran:
    """How `work` ended, run in a child whose standard output goes to `sink` as it comes.

    `work` may replace the child by a command (`execute`). After `deadline_s` seconds, after `most_bytes` of
    output, or when `stop` says so, the child's process group gets SIGTERM, then SIGKILL; a child that survives
    both is left behind. The call takes at most two seconds more than the deadline.
    """
    child = _start(work, sink)
    child.most_bytes = most_bytes
    try:
        in_time = child.watch(deadline_s, stop)
        flooded = not in_time and child.floods
        interrupted = not in_time and not flooded and stop()
        child.most_bytes = None  # from here on it is only waited for
        status: int | None = None
        if in_time or _kill(child):
            child.drain()
            child.send(signal.SIGKILL)  # what it started and left running
            left = b"" if in_time else _left_behind(child.pid, leader_ended=True)
            status = _exit_code(os.waitpid(child.pid, 0)[1])
        else:
            left = _left_behind(child.pid, leader_ended=False)
    except BaseException:
        child.send(signal.SIGKILL)
        raise
    finally:
        child.close()
    said: dict[str, Any] = {}
    for line in child.report.splitlines():
        said.update(json.loads(line))
    return Ran(
        exit_code=status if in_time and "error" not in said else None,
        errno=said.get("errno"),
        error=said.get("error"),
        timed_out=not in_time and not interrupted and not flooded,
        interrupted=interrupted,
        flooded=flooded,
        cut=said.get("cut", False),
        note=said.get("note"),
        left_behind=words_of(left) or (None if status is not None else f"process {child.pid}"),
        left_stacks=left,
        stderr=bytes(child.stderr),
    )


def _left_behind(pid: int, *, leader_ended: bool) -> bytes:
    """What is left of a group after SIGKILL, as a transcript; looked at in a child, since looking may hang."""
    found = bytearray()
    try:
        watcher = _start(partial(print_group, pid, leader_ended=leader_ended), found.extend)
    except OSError:  # no process to be had: the step's outcome counts more
        return b""
    try:
        if watcher.watch(_LOOK_S, lambda: False):
            watcher.drain()
            os.waitpid(watcher.pid, 0)
        else:
            watcher.send(signal.SIGKILL)
            if watcher.watch(_LOOK_S, lambda: False):
                os.waitpid(watcher.pid, 0)
    finally:
        watcher.close()
    return bytes(found)


def execute(argv: tuple[str, ...], environ: Mapping[str, str]) -> NoReturn:
    """Becomes the command, found in the PATH of `environ`, for use as `work`. OSError where it cannot."""
    os.chdir("/")  # ours may be on a file system that hangs
    try:
        os.execvpe(argv[0], argv, environ)  # noqa: S606 - no shell is the point
    except OSError as error:
        error.filename = argv[0]
        if error.errno == errno.EACCES and not _is_found(argv[0], environ):
            # A folder of PATH that may not be searched makes Python say so, though no other has the program.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0]) from error
        raise


def _is_found(program: str, environ: Mapping[str, str]) -> bool:
    """Whether some folder of PATH is seen to have the program."""
    places = [program] if "/" in program else [f"{folder}/{program}" for folder in os.get_exec_path(environ)]
    return any(os.path.lexists(place) for place in places)


def _start(work: Callable[[], object], sink: Callable[[bytes], None]) -> _Child:
    """A child at work. It never returns from here."""
    pairs = {what: _pipe() for what in ("stdout", "stderr", "report")}
    pid = os.fork()
    if pid == 0:
        _be_child(work, {what: write for what, (_, write) in pairs.items()})
    for read, write in pairs.values():
        os.close(write)
        os.set_blocking(read, False)
    return _Child(pid, sink, {read: what for what, (read, _) in pairs.items()})


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are above 2, also where our own standard streams are closed."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]


def _be_child(work: Callable[[], object], pipes: dict[str, int]) -> NoReturn:
    """The child's whole life. No clean-up of the parent's may run here, so it ends by _exit alone."""
    try:
        os.setsid()
        for number in _TO_DEFAULT:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(pipes["stdout"], 1)
        os.dup2(pipes["stderr"], 2)
        report_to(pipes["report"])
        work()
    except OSError as error:
        report(errno=error.errno, error=_words(error))
    except BaseException as error:  # noqa: BLE001 - a forked child must not unwind into the parent's code
        report(errno=None, error=f"{type(error).__name__}: {error}")
    finally:
        os._exit(0)


def _words(error: OSError) -> str:
    """What the system said, with the file."""
    where = f": {error.filename}" if isinstance(error.filename, str) else ""
    return f"{error.strerror or error}{where}"


def _exit_code(status: int) -> int:
    """The exit code, or the signal's number below zero."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _kill(child: _Child) -> bool:
    """Whether the child is gone after SIGTERM, then SIGKILL."""
    for number, grace_s in _KILL:
        child.send(number)
        if child.watch(grace_s, lambda: False):
            return True
    return False
