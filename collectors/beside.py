"""Work in a forked child, beside the rest: Python runs on one core otherwise."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def beside(work: Callable[[], T]) -> Callable[[], T]:
    """Starts the work in a child; the call of what is returned waits for its result.

    A child that does not bring its result (killed, out of memory) is made up for: the work is done here then.
    """
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no process to be had
        os.close(reading)
        os.close(writing)
        return work
    if child == 0:
        _work_and_end(work, reading, writing)
    os.close(writing)

    def result() -> T:
        with os.fdopen(reading, "rb") as stream:
            data = stream.read()
        os.waitpid(child, 0)
        return work() if not data else pickle.loads(data)  # noqa: S301 - written by our own child

    return result


def _work_and_end(work: Callable[[], object], reading: int, writing: int) -> None:
    try:
        os.close(reading)
        data = pickle.dumps(work(), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(writing, "wb") as stream:
            stream.write(data)
    finally:
        os._exit(0)  # nothing of the parent's is to be ended twice
