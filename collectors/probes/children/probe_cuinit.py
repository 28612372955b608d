"""cuInit, the first thing that a CUDA program does: what it returns, how long it takes, how many GPUs it finds."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any

from probe_journal import Cannot, Journal


def work(journal: Journal) -> None:
    """Loads libcuda, starts CUDA, counts devices."""
    limit_s = journal.asked["start_s"]
    with journal.step("load", limit_s) as found:
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Cannot(f"libcuda.so.1 can't be loaded: {error}") from None
        found["library"] = _mapped("libcuda.so")
    with journal.step("cuInit", limit_s) as found:
        began = time.perf_counter()
        found["code"] = driver.cuInit(0)
        found["took_s"] = round(time.perf_counter() - began, 3)
        if found["code"]:
            found["name"] = _name(driver, found["code"])
    with journal.step("count", limit_s) as found:
        version, count = ctypes.c_int(), ctypes.c_int()
        found["code"] = driver.cuDriverGetVersion(ctypes.byref(version))
        found["driver_cuda"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
        found["count_code"] = driver.cuDeviceGetCount(ctypes.byref(count))
        found["devices"] = count.value if found["count_code"] == 0 else None


def _name(driver: Any, code: int) -> str | None:
    """CUDA_ERROR_… of a code, in the words of the driver; None where it knows none."""
    text = ctypes.c_char_p()
    try:
        status = driver.cuGetErrorName(code, ctypes.byref(text))
    except AttributeError:  # before CUDA 6.5
        return None
    return text.value.decode() if status == 0 and text.value else None


def _mapped(name: str) -> str | None:
    """The file of a library that this process has mapped."""
    with Path("/proc/self/maps").open(encoding="utf-8", errors="replace") as maps:
        return next((line.split(None, 5)[5].strip() for line in maps if name in line), None)


if __name__ == "__main__":
    Journal().run(work)
