"""`diagnose explain` on a small bundle against the bare import of its three largest dependencies, side by side.

Prints both medians and their ratio; the aim is at most 4. Usage: python benchmarks/start_up.py [EVIDENCE]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 9
STORY = Path(__file__).parent.parent / "tests" / "stories" / "driver-split"


def seconds(command: list[str]) -> float:
    """Wall time of one run of the command; as installed, with its bytecode at hand."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "diagnose-benchmark-bytecode")
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
    return time.perf_counter() - started


def main() -> None:
    """Measures both in turn, so that a busy machine disturbs both alike."""
    evidence = sys.argv[1] if len(sys.argv) > 1 else str(STORY)
    bare = [sys.executable, "-c", "import pydantic, typer, yaml"]
    explain = [str(Path(sys.executable).with_name("diagnose")), "explain", evidence]
    runs = [(seconds(bare), seconds(explain)) for _ in range(RUNS)]
    imports, whole = (statistics.median(column) for column in zip(*runs, strict=True))
    print(
        f"imports {imports:.3f} s   diagnose explain {whole:.3f} s   ratio {whole / imports:.2f} (aim: at most 4)"
    )


if __name__ == "__main__":
    main()
