"""Memory and load of each GPU over time, from NVML or else from nvidia-smi, in the form of the latter.

A job that is blocked and one that is slow look alike in a single moment. Runs inside a step's child (see `run`):
NVML can hang for ever where a GPU died.
"""

from __future__ import annotations

import errno
import os
import subprocess
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from collectors.live.tree import Tree

QUERY = (
    "nvidia-smi --query-gpu=timestamp,index,memory.used,memory.total,utilization.gpu,utilization.memory,power.draw"
    " --format=csv"
)
_HEADER = (
    "timestamp, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%], utilization.memory [%],"
    " power.draw [W]"
)
_EVERY_S = 1.0
_MIB = 1 << 20
_UNKNOWN = "[N/A]"


def by_nvml(seconds: float) -> Callable[[Tree], Iterator[str]]:
    """The listing of one row a second and GPU. Raises OSError or NVML's error where NVML can't be had."""

    def lines(_tree: Tree) -> Iterator[str]:
        try:
            import pynvml
        except ImportError as error:
            raise OSError(errno.ENOENT, "the Python package nvidia-ml-py is not installed") from error
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            words = _words(pynvml, error)
            yield f"Failed to initialize NVML: {words}"
            raise OSError(_errno(pynvml, error), f"NVML: {words}") from error
        yield _HEADER
        devices = [_handle(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
        for _ in _moments(seconds):
            when = datetime.now().strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]  # noqa: DTZ005 - as nvidia-smi prints it
            for index, device in enumerate(devices):
                yield f"{when}, {index}, " + ", ".join(_values(pynvml, device))

    return lines


def by_nvidia_smi(seconds: float) -> Callable[[Tree], Iterator[str]]:
    """The same from one call of nvidia-smi a second. Raises OSError where there is none, or it fails."""

    def lines(_tree: Tree) -> Iterator[str]:
        for moment in _moments(seconds):
            ended = subprocess.run(QUERY.split(), stdout=subprocess.PIPE, check=False)
            rows = ended.stdout.decode("utf-8", "replace").splitlines()
            yield from rows if moment == 0 else rows[1:]
            if ended.returncode:
                raise OSError(errno.EIO, f"nvidia-smi ended with exit code {ended.returncode}")

    return lines


def _moments(seconds: float) -> Iterator[int]:
    """Numbers from 0 on, one each second, as long as there is time; two at least."""
    began = time.monotonic()
    number = 0
    while number < 2 or number * _EVERY_S <= seconds:
        time.sleep(max(0.0, began + number * min(_EVERY_S, seconds) - time.monotonic()))
        yield number
        number += 1


def _words(pynvml: Any, error: Any) -> str:
    """What NVML itself calls the error, as nvidia-smi does; the binding has words of its own for some."""
    try:
        said = pynvml.nvmlErrorString(error.value)
    except pynvml.NVMLError:  # there is no library that could say
        return str(error)
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _errno(pynvml: Any, error: Exception) -> int:
    """The error number that tells an absent library and a refusal from a failure."""
    if isinstance(error, pynvml.NVMLError_LibraryNotFound):
        return errno.ENOENT
    return errno.EACCES if isinstance(error, pynvml.NVMLError_NoPermission) else errno.EIO


def _handle(pynvml: Any, index: int) -> Any:
    try:
        return pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:  # a GPU that is lost has no handle; the others count
        os.write(2, f"NVML: GPU {index}: {error}\n".encode())
        return None


def _values(pynvml: Any, device: Any) -> Iterator[str]:
    """The columns of one GPU behind its number; what NVML does not tell is in brackets."""

    def asked(ask: Callable[[Any], Any]) -> Any:
        try:
            return None if device is None else ask(device)
        except pynvml.NVMLError:
            return None

    memory = asked(pynvml.nvmlDeviceGetMemoryInfo)
    load = asked(pynvml.nvmlDeviceGetUtilizationRates)
    power_mw = asked(pynvml.nvmlDeviceGetPowerUsage)
    for part in ("used", "total"):
        yield _UNKNOWN if memory is None else f"{getattr(memory, part) // _MIB} MiB"
    for part in ("gpu", "memory"):
        yield _UNKNOWN if load is None else f"{getattr(load, part)} %"
    yield _UNKNOWN if power_mw is None else f"{power_mw / 1000:.2f} W"
