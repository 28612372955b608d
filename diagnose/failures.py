"""What a user is told when a run fails for another reason than evidence or rules: one line, no traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MOST_OF_A_DEFECT = 200


def in_one_line(error: Exception) -> str:
    """What is wrong with the arguments, or with this program; empty where the help was shown instead."""
    return _usage(error) if hasattr(error, "format_message") else _defect(error)


def _usage(error: Any) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{message}; see `{context.command_path} --help`" if message and context else message


def _defect(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_OF_A_DEFECT]
    return f"a defect of this program: {text}{where}; please report it, with the evidence if you can"
