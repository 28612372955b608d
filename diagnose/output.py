"""Where results go: the form that was asked for, on a terminal, in a pipe or in a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.render.neutral import json_text
from kb.errors import InputError

if TYPE_CHECKING:  # rich is slow to import, and JSON does without
    from rich.console import Console

    from diagnose.render.report import Report


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
    terminal = output is None and sys.stdout.isatty()
    width = Console().width if terminal else 80
    console = Console(file=stream, force_terminal=terminal, width=max(width, 80), highlight=False, soft_wrap=False)
    render(console)
    return stream.getvalue()


def as_json(value: Any) -> str:
    """The value as JSON text; what no encoding can hold is replaced."""
    return json_text(value)


def write(text: str, output: Path | None) -> None:
    """Writes the result to the file, or to standard output. Raises InputError where it can't."""
    if output is None:
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"could not write {output}: {(error.strerror or 'error').lower()}; name another file"
        ) from error
