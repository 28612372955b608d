"""Where results go: the form that was asked for, on a terminal, in a pipe or in a file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.render.neutral import json_text
from kb.errors import InputError

if TYPE_CHECKING:  # rich is slow to import, and JSON does without
    from rich.console import Console

    from diagnose.render.report import Report

CLOSED_PIPE = 141


def rendered(report: Report, form: str, output: Path | None, *, everything: bool, quiet: bool) -> str:
    """The report in one of the forms text, json, markdown; it is on its way to `output`, or to the terminal."""
    if form == "json":
        from diagnose.render.json_report import report_json

        return as_json(report_json(report, everything=everything))
    if form == "markdown":
        from diagnose.render.markdown import render_markdown

        return render_markdown(report, everything=everything)
    from diagnose.render.text import render_text

    return on_console(output, lambda console: render_text(report, console, everything=everything, quiet=quiet))


def on_console(output: Path | None, render: Callable[[Console], None]) -> str:
    """What a renderer prints: with colour on a terminal, without any elsewhere; 80 columns unless wider."""
    from rich.console import Console

    stream = io.StringIO()
    terminal = output is None and sys.stdout is not None and sys.stdout.isatty()
    width = Console().width if terminal else 80
    console = Console(file=stream, force_terminal=terminal, width=max(width, 80), highlight=False, soft_wrap=False)
    render(console)
    text = stream.getvalue()
    return text if terminal else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def as_json(value: Any) -> str:
    """The value as JSON text; what no encoding can hold is replaced."""
    return json_text(value)


def write(text: str, output: Path | None) -> None:
    """Writes the result to the file, or to standard output. Raises InputError where it can't.

    Where nobody reads standard output any more, the program ends at once, as a signal would end it.
    """
    try:
        if output is None:
            _to_stdout(text)
        else:
            output.write_text(text, encoding="utf-8", errors="replace")
    except BrokenPipeError:
        raise SystemExit(CLOSED_PIPE) from None
    except OSError as error:
        place = output or "standard output"
        raise InputError(
            f"could not write {place}: {(error.strerror or 'error').lower()}; name another file with -o"
        ) from error


def _to_stdout(text: str) -> None:
    if sys.stdout is None:  # closed by the caller, who wants the exit status alone
        return
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or it would be tried again at the end
        raise
