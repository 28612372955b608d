"""How `diagnose explain` does on much evidence, side by side with what else could be done to it.

Prints: time against `rg -c -F -f` with the same literals; time over four sizes; time on both sides of the size up
to which a file is held whole; peak memory on a tenfold log; time of a bug report of 120,000 lines, of the logs of
512 ranks in a file each, and of a tree of many small files. On a machine that others use too, compare the seconds
of CPU, which are in brackets. Usage: python benchmarks/large_logs.py [SIZE_MB]. Needs ripgrep (rg).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from make_log import lines, of_ranks

from collectors.content import HELD
from collectors.readers import readers

RUNS = 3
RANKS = 512
DIAGNOSE = str(Path(sys.executable).with_name("diagnose"))


class Measured(NamedTuple):
    """The best of some runs; memory of children counts as the largest of them."""

    seconds: float
    cpu_seconds: float
    peak_mib: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s [{self.cpu_seconds:.2f}]"


def run(*command: str) -> Measured:
    """Runs the command some times, once before to fill the caches; as installed, with its bytecode at hand."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "diagnose-benchmark-bytecode")
    found = [_once(command, environment) for _ in range(1 + RUNS)][1:]
    return Measured(*map(min, zip(*(one[:2] for one in found), strict=True)), max(one.peak_mib for one in found))


def _once(command: tuple[str, ...], environment: dict[str, str]) -> Measured:
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    return Measured(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write(path: Path, size_mb: float) -> str:
    """The path of a log of that size."""
    with path.open("w", encoding="ascii") as stream:
        stream.writelines(lines(int(size_mb * 1_000_000), RANKS))
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


def rank_files(folder: Path) -> str:
    """A folder with the log of each rank in a file of its own, as NCCL_DEBUG_FILE writes them."""
    folder.mkdir()
    for rank, log in enumerate(of_ranks(RANKS, steps=60)):
        (folder / f"nccl.{rank}.log").write_text(log, encoding="ascii")
    return str(folder)


def tree(folder: Path) -> str:
    """A tree like that of a sosreport: 1,800 small files, a kernel log and a journal, 5 MB in all."""
    small = "".join(f"Key{number}:\t{number * 7919 % 1_000_003}\n" for number in range(25))
    for number in range(1800):
        path = folder / "proc" / str(number) / "status"
        path.parent.mkdir(parents=True)
        path.write_text(small)
    kernel = (f"[{n:>6}.{n % 1_000_000:06d}] usb 1-{n % 9}: new USB device number {n}\n" for n in range(15_000))
    (folder / "dmesg").write_text("".join(kernel))
    journal = (
        f"Mar 02 {n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d} node7 systemd[1]: Started Session {n} of User root.\n"
        for n in range(50_000)
    )
    (folder / "journalctl").write_text("".join(journal))
    return str(folder)


def against_rg(folder: Path, size_mb: float) -> None:
    """Measures one large log by both."""
    literals = sorted({marker for one in readers() for marker in (one.lines or one.markers) if "\n" not in marker})
    patterns = folder / "patterns"
    patterns.write_text("\n".join(literals) + "\n")
    log = write(folder / "job.log", size_mb)
    ours = run(DIAGNOSE, "explain", log)
    if not shutil.which("rg"):
        print(f"{size_mb:.0f} MB: diagnose explain {ours} (rg is not here)")
        return
    theirs = run("rg", "-c", "-F", "-f", str(patterns), log)
    ratios = f"ratio {ours.seconds / theirs.seconds:.2f} [{ours.cpu_seconds / theirs.cpu_seconds:.2f}]"
    print(f"{size_mb:.0f} MB, {len(literals)} literals: diagnose explain {ours}, rg -c -F -f {theirs}, {ratios}")


def main() -> None:
    """Measures one thing after the other, each on fresh files."""
    size_mb = float(sys.argv[1]) if len(sys.argv) > 1 else 400.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        against_rg(folder, size_mb)
        for part in (8, 4, 2, 1):
            print(
                f"{size_mb / part:6.0f} MB: {run(DIAGNOSE, 'explain', write(folder / 'part.log', size_mb / part))}"
            )
        held_mb = HELD / 1_000_000
        for part_mb in (held_mb - 0.5, held_mb + 0.5):
            print(f"{part_mb:6.1f} MB: {run(DIAGNOSE, 'explain', write(folder / 'part.log', part_mb))}")
        small = run(DIAGNOSE, "explain", write(folder / "part.log", size_mb / 2)).peak_mib
        large = run(DIAGNOSE, "explain", write(folder / "job.log", size_mb * 5)).peak_mib
        print(
            f"peak memory: {small:.0f} MiB on {size_mb / 2:.0f} MB, {large:.0f} MiB on {size_mb * 5:.0f} MB, ratio {large / small:.2f}"
        )
        print(f"bug report of 120,000 lines: {run(DIAGNOSE, 'explain', bug_report(folder / 'bug-report.log'))}")
        print(f"{RANKS} logs of a rank each: {run(DIAGNOSE, 'explain', rank_files(folder / 'ranks'))}")
        print(f"tree of 1,802 files: {run(DIAGNOSE, 'explain', tree(folder / 'tree'))}")


if __name__ == "__main__":
    main()
