"""One step in a child: whatever it does, the parent goes on by the deadline and has what it gave."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from live_support import Tools
from processes import gone

from collectors.live import run as run_module
from collectors.live.run import STDERR_BYTES, Ran, execute, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def ran(work: Callable[[], object], deadline_s: float = 10.0) -> tuple[Ran, bytes]:
    """How the work ended, and its standard output."""
    output = bytearray()
    return run(work, output.extend, deadline_s=deadline_s), bytes(output)


def command(*argv: str, deadline_s: float = 10.0) -> tuple[Ran, bytes]:
    """How the command ended, and its standard output."""
    return ran(partial(execute, argv, os.environ), deadline_s)


def test_output_and_exit_code_of_a_command_that_fails_are_kept(tools: Tools) -> None:
    """A command that exits 3 gives its text, its error text and the 3."""
    tools.add("fails", "echo some text; echo some trouble >&2; exit 3")

    end, output = command("fails")

    assert (end.exit_code, output, end.stderr) == (3, b"some text\n", b"some trouble\n")
    assert not end.timed_out


def test_bytes_come_untouched() -> None:
    """Binary output is neither decoded nor cut at zero bytes."""
    every = bytes(range(256)) * 1000

    end, output = ran(lambda: _write_all(every))

    assert (0, every) == (end.exit_code, output)


def _write_all(content: bytes) -> None:
    while content:
        content = content[os.write(1, content) :]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(None, errno.ENOENT), (0o644, errno.EACCES)],
    ids=["no such command", "not executable"],
)
def test_a_command_that_cannot_start_tells_why(tools: Tools, mode: int | None, expected: int) -> None:
    """The error number of exec comes back, and no exit code."""
    if mode is not None:
        tools.add("lacking-tool", "exit 0", mode)

    end, output = command("lacking-tool")

    assert (None, expected, b"") == (end.exit_code, end.errno, output)


def test_a_folder_of_path_that_may_not_be_searched_is_no_refusal_of_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python remembers EACCES of one folder over ENOENT of all others; nowhere is the command seen."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "execvpe", refuse)

    assert command("no-such-tool")[0].errno == errno.ENOENT
    assert command("uname")[0].errno == errno.EACCES


def test_a_signal_is_a_negative_exit_code(tools: Tools) -> None:
    """A command that dies of SIGSEGV has exit code -11."""
    tools.add("crashes", "kill -SEGV $$")

    assert command("crashes")[0].exit_code == -signal.SIGSEGV


def test_a_hanging_step_ends_at_its_deadline() -> None:
    """What came before the hang is kept; the child is dead afterwards."""

    def work() -> None:
        os.write(1, str(os.getpid()).encode())
        time.sleep(60)

    began = time.monotonic()
    end, output = ran(work, 0.3)

    assert (end.timed_out, end.exit_code, end.left_behind) == (True, None, None)
    assert time.monotonic() - began < 5.0
    assert gone(int(output))


def test_a_command_that_ignores_sigterm_is_killed(tools: Tools) -> None:
    """SIGKILL follows, to the whole group."""
    tools.add("stubborn", "trap '' TERM; echo $$; while :; do sleep 60; done")

    end, output = command("stubborn", deadline_s=0.5)

    assert (end.timed_out, end.left_behind) == (True, None)
    assert gone(int(output))


def test_a_grandchild_that_holds_the_pipe_holds_nobody_up(tools: Tools) -> None:
    """The command's own end counts; what it left running in its group is killed."""
    tools.add("leaves", "sleep 60 & echo $!; exit 0")

    began = time.monotonic()
    end, output = command("leaves")

    assert (end.exit_code, end.timed_out) == (0, False)
    assert time.monotonic() - began < 5.0
    assert gone(int(output))


def test_an_endless_flood_ends_at_the_deadline() -> None:
    """Output without end is read, not waited for."""
    seen = 0

    def sink(chunk: bytes) -> None:
        nonlocal seen
        seen += len(chunk)

    end = run(partial(execute, ("yes",), os.environ), sink, deadline_s=0.3)

    assert end.timed_out
    assert seen > 100_000


def test_standard_error_is_bounded(tools: Tools) -> None:
    """A flood on standard error keeps its first 64 KiB, and the command still ends by itself."""
    tools.add("noisy", "head -c 1000000 /dev/zero >&2")

    end, _ = command("noisy")

    assert (end.exit_code, len(end.stderr)) == (0, STDERR_BYTES)


def test_a_child_that_cannot_be_killed_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in the D state takes no signal: the step ends without it and says its number and state."""
    monkeypatch.setattr(run_module._Child, "send", lambda *_: None)

    end, output = ran(lambda: (os.write(1, str(os.getpid()).encode()), time.sleep(60)), 0.3)

    os.kill(int(output), signal.SIGKILL)
    os.waitpid(int(output), 0)
    assert end.timed_out
    assert (end.left_behind or "").startswith(f"process {output.decode()}, state S")


def test_a_child_left_behind_does_not_hold_the_interpreter() -> None:
    """Our own exit waits for nobody, and the child holds none of our standard streams open."""
    code = (
        "import os, time\n"
        "from collectors.live import run\n"
        "run._Child.send = lambda *_: None\n"
        "work = lambda: (os.write(1, str(os.getpid()).encode()), time.sleep(60))\n"
        "run.run(work, lambda chunk: print(chunk.decode()), deadline_s=0.5)\n"
    )

    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=20)

    os.kill(int(ended.stdout), signal.SIGKILL)
    assert time.monotonic() - began < 15.0


def test_a_stop_interrupts_a_step() -> None:
    """Somebody who wants the end does not wait for the deadline."""
    end = run(lambda: time.sleep(60), bytearray().extend, deadline_s=30.0, stop=lambda: True)

    assert (end.interrupted, end.timed_out) == (True, False)


def test_a_full_disk_ends_the_step_and_its_child() -> None:
    """What the sink raises comes out, and the child is not left running."""
    pids: list[int] = []

    def sink(chunk: bytes) -> None:
        pids.append(int(chunk))
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run(lambda: (os.write(1, str(os.getpid()).encode()), time.sleep(60)), sink, deadline_s=10.0)

    os.waitpid(pids[0], 0)
    assert gone(pids[0])


def test_an_error_of_the_work_comes_back_in_words() -> None:
    """What is no OSError is named by its type; the child never runs the parent's code."""
    end, _ = ran(lambda: {}["nothing"])  # type: ignore[var-annotated]

    assert end.error == "KeyError: 'nothing'"


def test_an_unreadable_file_gives_its_error_number(tmp_path: Path) -> None:
    """A folder read as a file is EISDIR, with its name in the words."""
    end, _ = ran(lambda: os.read(os.open(tmp_path, os.O_RDONLY), 1))

    assert end.errno == errno.EISDIR
