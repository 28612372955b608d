"""Where results go: the form that was asked for, whole, and what happens where nobody can take it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from diagnose.output import as_json, on_console, write
from kb.errors import InputError


class Terminal(io.StringIO):
    """A standard output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def long_red_line(console: Console) -> None:
    console.print(Text("word " * 40, style="red"))


def test_a_result_is_written_to_standard_output(capsys):
    """As it is, and nothing else."""
    write("größer ✓\n", None)

    assert capsys.readouterr() == ("größer ✓\n", "")


def test_a_result_is_written_to_a_file(tmp_path, capsys):
    """In UTF-8; standard output stays empty, and an older file is replaced."""
    target = tmp_path / "report.txt"
    target.write_text("older and longer")

    write("größer\n", target)

    assert target.read_bytes() == "größer\n".encode()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["\udcff", "a\ud800b"])
def test_what_no_encoding_holds_is_replaced(tmp_path, capsys, text):
    """A file name that is no UTF-8 stops nothing."""
    write(text, None)
    write(text, tmp_path / "report.txt")

    replaced = text.encode("utf-8", "replace")
    assert capsys.readouterr().out.encode() == replaced
    assert (tmp_path / "report.txt").read_bytes() == replaced
    assert as_json({"path": text}).isascii()


UNWRITABLE = {"a folder that is not there": "no/where.txt", "a folder": "."}


@pytest.mark.parametrize("name", UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_place_that_can_not_be_written_is_told(tmp_path, name):
    """What, why, and what to do."""
    with pytest.raises(InputError, match=r"^could not write .*: (no such|is a).*; name another file with -o$"):
        write("text", tmp_path / name)


def test_a_full_device_is_told(monkeypatch):
    """And not tried again at the end of the program, which would hide the exit status."""
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(InputError, match="could not write standard output: no space left on device"):
            write("text", None)
        full.flush()


def test_a_standard_output_that_is_closed_is_none(monkeypatch):
    """Who closes it wants the exit status alone."""
    monkeypatch.setattr(sys, "stdout", None)

    write("text", None)

    assert on_console(None, lambda console: console.print("text")) == "text\n"


def test_a_pipe_gets_no_colour_and_eighty_columns():
    """Nor spaces at the ends of lines."""
    lines = on_console(None, long_red_line).splitlines()

    assert lines == [" ".join(["word"] * 16), " ".join(["word"] * 16), " ".join(["word"] * 8)]


def test_a_terminal_gets_colour_and_its_own_width(monkeypatch):
    """Unless it asks for none."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = on_console(None, long_red_line)
    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b[31m" in coloured
    assert len(coloured.splitlines()) == 1
    assert "\x1b[31m" not in on_console(None, long_red_line)


def test_a_narrow_terminal_gets_eighty_columns(monkeypatch):
    """Less is not readable."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "20")

    assert len(on_console(None, lambda console: console.print("x" * 70)).splitlines()) == 1


def test_a_file_gets_no_colour(tmp_path, monkeypatch):
    """Also where the program runs on a terminal."""
    monkeypatch.setattr(sys, "stdout", Terminal())

    assert "\x1b" not in on_console(tmp_path / "report.txt", long_red_line)
