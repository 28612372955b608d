"""How `diagnose explain` does on large logs, side by side with what else could be done to them.

Prints: time against `rg -c -F -f` with the same literals; time over four sizes; peak memory on a tenfold log;
time of a bug report of 120,000 lines. Usage: python benchmarks/large_logs.py [SIZE_MB]. Needs ripgrep (rg).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from make_log import lines

from collectors.readers import readers

RUNS = 3
DIAGNOSE = Path(sys.executable).with_name("diagnose")


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MiB of the best of some runs; memory of children counts as the largest of them."""
    best, peak = float("inf"), 0.0
    for _ in range(RUNS):
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        best = min(best, time.perf_counter() - started)
        peak = max(peak, usage.ru_maxrss / 1024)
    return best, peak


def write(path: Path, size_mb: float) -> str:
    """The path of a log of that size."""
    with path.open("w", encoding="ascii") as stream:
        stream.writelines(lines(int(size_mb * 1_000_000), 512))
    return str(path)


def bug_report(path: Path) -> str:
    """The path of a bug report of 120,000 lines: banners, a quoted table, and a long kernel log."""
    banner = "____________________________________________\n\n"
    kernel = "".join(
        f"[{n:>8}.{n % 1000000:06d}] usb 1-{n % 9}: new high-speed USB device number {n}\n" for n in range(120_000)
    )
    text = "Start of NVIDIA bug report log file.  Please include this file\n" + banner
    path.write_text(
        f"{text}*** /proc/version\nLinux version 6.8.0\n\n{banner}/bin/dmesg\n\n{kernel}\n{banner}End of NVIDIA bug report log file.\n"
    )
    return str(path)


def main() -> None:
    """Measures one thing after the other, each on fresh files."""
    size_mb = float(sys.argv[1]) if len(sys.argv) > 1 else 400.0
    literals = sorted({marker for one in readers() for marker in (one.lines or one.markers) if "\n" not in marker})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        patterns = folder / "patterns"
        patterns.write_text("\n".join(literals) + "\n")
        log = write(folder / "job.log", size_mb)
        ours, _ = run([str(DIAGNOSE), "explain", log])
        if shutil.which("rg"):
            theirs, _ = run(["rg", "-c", "-F", "-f", str(patterns), log])
            print(
                f"{size_mb:.0f} MB, {len(literals)} literals: diagnose explain {ours:.2f} s, rg -c -F -f {theirs:.2f} s, ratio {ours / theirs:.2f}"
            )
        else:
            print(f"{size_mb:.0f} MB: diagnose explain {ours:.2f} s (rg is not here)")
        for part in (8, 4, 2, 1):
            seconds, _ = run([str(DIAGNOSE), "explain", write(folder / "part.log", size_mb / part)])
            print(f"{size_mb / part:6.0f} MB: {seconds:.2f} s")
        _, small = run([str(DIAGNOSE), "explain", write(folder / "part.log", size_mb / 2)])
        _, large = run([str(DIAGNOSE), "explain", write(folder / "job.log", size_mb * 5)])
        print(
            f"peak memory: {small:.0f} MiB on {size_mb / 2:.0f} MB, {large:.0f} MiB on {size_mb * 5:.0f} MB, ratio {large / small:.2f}"
        )
        seconds, _ = run([str(DIAGNOSE), "explain", bug_report(folder / "nvidia-bug-report.log")])
        print(f"bug report of 120,000 lines: {seconds:.2f} s")


if __name__ == "__main__":
    main()
