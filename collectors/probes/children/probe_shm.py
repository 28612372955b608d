"""Shared memory as ranks use it: the size of /dev/shm, a file of some MiB in it, and a segment by shm_open."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path
from typing import Any

from probe_journal import Cannot, Journal

MIB = 1 << 20


def work(journal: Journal) -> None:
    """Measures, writes and takes away again."""
    folder, limit_s = journal.asked["folder"], journal.asked["step_s"]
    with journal.step("size", limit_s, folder=folder) as found:
        try:
            size = os.statvfs(folder)
        except FileNotFoundError:
            raise Cannot(f"there is no {folder}") from None
        found["size_mib"] = size.f_frsize * size.f_blocks // MIB
        found["free_mib"] = size.f_frsize * size.f_bavail // MIB
    path = Path(folder) / f"diagnose-probe-{os.getpid()}"
    # Never all that is left: what the probe itself would use up is no finding, and the job may need it.
    mib = min(journal.asked["write_mib"], found["free_mib"] // 2)
    with journal.step("write", limit_s, mib=mib) as found:
        found.update(_write(path, mib))
    with journal.step("shm_open", limit_s) as found:
        found.update(_shm_open(f"/diagnose-probe-{os.getpid()}-s"))


def _write(path: Path, mib: int) -> dict[str, Any]:
    """How much could be written, and what ended it. posix_fallocate, so that a lack of room is no SIGBUS."""
    written = 0
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        return _refused(error, written_mib=0)
    try:
        for at in range(mib):
            os.posix_fallocate(descriptor, at * MIB, MIB)
            os.pwrite(descriptor, bytes([at % 255 + 1]) * MIB, at * MIB)
            written += 1
        wrong = sum(os.pread(descriptor, MIB, at * MIB) != bytes([at % 255 + 1]) * MIB for at in range(mib))
    except OSError as error:
        return _refused(error, written_mib=written)
    finally:
        os.close(descriptor)
        path.unlink()
    return {"written_mib": written, "wrong_mib": wrong}


def _shm_open(name: str) -> dict[str, Any]:
    """Whether a segment can be made by the call that programs use, and mapped."""
    try:
        import _posixshmem
    except ImportError:
        return {"skipped": "this Python has no shm_open"}
    try:
        descriptor = _posixshmem.shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600)
    except OSError as error:
        return _refused(error)
    try:
        os.ftruncate(descriptor, mmap.PAGESIZE)
        with mmap.mmap(descriptor, mmap.PAGESIZE) as segment:
            segment[:4] = b"here"
    except OSError as error:
        return _refused(error)
    finally:
        os.close(descriptor)
        _posixshmem.shm_unlink(name)
    return {"made": True}


def _refused(error: OSError, **found: Any) -> dict[str, Any]:
    return {**found, "errno": errno.errorcode.get(error.errno or 0, str(error.errno)), "error": error.strerror}


if __name__ == "__main__":
    Journal().run(work)
