"""What tests ask of the processes that they started."""

from __future__ import annotations

import time
from pathlib import Path


def gone(pid: int) -> bool:
    """Whether a process runs no more a moment later. Without an init that reaps it may stay a zombie."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}:
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False
