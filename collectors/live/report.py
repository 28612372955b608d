"""What the work of a step tells its parent besides its output. Outside a step's child nobody listens."""

from __future__ import annotations

import json
import os

_descriptor = -1


def report(**said: object) -> None:
    """Tells the parent, from within `work`, something besides the output: `cut`, `note`, `errno` and `error`."""
    os.write(_descriptor, json.dumps(said).encode() + b"\n")


def report_to(descriptor: int) -> None:
    """Makes this process report to that descriptor; for a child that is one step."""
    global _descriptor  # noqa: PLW0603 - the child is one step; `report` is called from deep inside the work
    _descriptor = descriptor
