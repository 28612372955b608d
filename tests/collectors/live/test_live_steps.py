"""What the end of a step means, and what commands are given."""

from __future__ import annotations

import errno

import pytest

from collectors.live.run import Ran
from collectors.live.steps import command_environ, filled, judge, one_line


@pytest.mark.parametrize(
    ("ran", "wrote", "expected"),
    [
        (Ran(exit_code=0), True, ("ok", 0, None)),
        (Ran(exit_code=3, stderr=b"\n unit not found\n"), True, ("failed", 3, "unit not found")),
        (Ran(exit_code=9), False, ("failed", 9, "exit code 9")),
        (Ran(exit_code=-11), False, ("failed", -11, "ended by SIGSEGV")),
        (
            Ran(exit_code=1, stderr=b"dmesg: read kernel buffer failed: Operation not permitted\n"),
            False,
            ("no-permission", 1, "dmesg: read kernel buffer failed: Operation not permitted"),
        ),
        (
            Ran(exit_code=1, stderr=b"one file: Permission denied\n"),
            True,
            ("failed", 1, "one file: Permission denied"),
        ),
        (Ran(errno=errno.ENOENT, error="No such file"), False, ("absent", None, "No such file")),
        (
            Ran(errno=errno.EACCES, error="Permission denied"),
            False,
            ("no-permission", None, "Permission denied"),
        ),
        (Ran(errno=errno.EIO, error="Input/output error"), True, ("failed", None, "Input/output error")),
        (Ran(timed_out=True), True, ("timed-out", None, "did not end in time")),
        (
            Ran(timed_out=True, left_behind="process 7, state D in rm_wait"),
            False,
            (
                "timed-out",
                None,
                "did not end in time; left behind: process 7, state D in rm_wait, not even SIGKILL ends it",
            ),
        ),
        (Ran(interrupted=True), False, ("interrupted", None, "interrupted")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_end_has_one_outcome(ran: Ran, wrote: bool, expected: tuple[str, int | None, str | None]) -> None:
    """Outcome, exit code and a one-line error follow from how the child ended."""
    assert expected == judge(ran, is_command=True, wrote=wrote)


def test_a_file_has_no_exit_code() -> None:
    """The exit code of the child that read a file is nobody's business."""
    assert judge(Ran(exit_code=0), is_command=False, wrote=True) == ("ok", None, None)


def test_commands_get_english_and_no_folder_that_depends_on_where_we_are() -> None:
    """Relative folders leave PATH, the system's come in at the end, the rest of the environment stays."""
    given = command_environ({"PATH": ".::/opt/x:bin:/usr/bin", "LD_LIBRARY_PATH": "/y", "LC_ALL": "de_DE.UTF-8"})

    assert given["PATH"].split(":")[:3] == ["/opt/x", "/usr/bin", "/usr/local/sbin"]
    assert (given["LC_ALL"], given["LD_LIBRARY_PATH"]) == ("C", "/y")


def test_home_and_variables_are_filled_in_or_the_pattern_is_left_out() -> None:
    """An unset variable must not become a path, and signs in a home are no wildcards."""
    patterns = ("/etc/nccl.conf", "~/.nccl.conf", "$NCCL_CONF_FILE", "$UNSET")
    environ = {"HOME": "/home/[x]", "NCCL_CONF_FILE": "/a/../b.conf"}

    assert filled(patterns, environ) == ("/etc/nccl.conf", "/home/[[]x]/.nccl.conf", "/b.conf")
    assert filled(patterns, {}) == ("/etc/nccl.conf",)


def test_an_error_is_one_line_without_escapes() -> None:
    """A tool's error text cannot carry terminal escapes or line ends into a table."""
    assert one_line("\x1ba\x1b[31mb\nc".lstrip("\x1b")) == "a [31mb c"
