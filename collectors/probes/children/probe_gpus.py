"""The GPUs that torch sees, and the ways by which data get from one to another.

copy       by torch, which lets the two GPUs have peer access first: DMA straight from one to the other
kernel     the same, by the cores of a GPU that write into its peer's memory, as NCCL does
no-access  by the driver, peer access off: the driver goes through host memory
host       down to host memory and up again
"""

from __future__ import annotations

import ctypes
import runpy
from typing import Any

import torch


class Gpus:
    """All CUDA devices of this process."""

    group_backend = "nccl"

    def __init__(self, numbers: list[int] | None = None) -> None:
        """`numbers` are those by which the visible GPUs are known, if some are hidden from this process."""
        self._numbers = numbers
        self._contexts: dict[int, Any] = {}
        self._driver: Any = None

    def describe(self) -> list[dict[str, Any]]:
        """Index, name and, where torch knows it, the uuid of each GPU."""
        found = []
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            uuid = getattr(properties, "uuid", None)
            number = self._numbers[index] if self._numbers else index
            found.append({"index": number, "name": properties.name, **({"uuid": f"GPU-{uuid}"} if uuid else {})})
        return found

    def device(self, index: int) -> Any:
        """The torch device of a GPU."""
        return torch.device("cuda", self._place(index))

    def use(self, index: int) -> None:
        """Makes a GPU the one of this process."""
        torch.cuda.set_device(self._place(index))

    def offers_access(self, src: int, dst: int) -> bool:
        """Whether the driver offers the one GPU access to the memory of the other."""
        return bool(torch.cuda.can_device_access_peer(self._place(dst), self._place(src)))

    def settle(self, *indices: int) -> None:
        """Waits until these GPUs have done all their work."""
        for index in indices:
            torch.cuda.synchronize(self._place(index))

    def move(self, way: str, pair: tuple[int, int], source: Any, target: Any) -> None:
        """Brings the data of a tensor of the first GPU into one of the second, by one of the ways."""
        if way == "host":
            target.copy_(source.cpu())
        elif way == "no-access":
            self._copy_by_driver(pair, source, target)
        elif way == "kernel":
            # Every other element: torch can't give that to a copy engine.
            target[::2].copy_(source[::2])
            target[1::2].copy_(source[1::2])
        else:
            target.copy_(source)

    def all_reduce(self, tensor: Any) -> None:
        """Adds up the tensors of all ranks, in place."""
        torch.distributed.all_reduce(tensor)

    def _place(self, number: int) -> int:
        """Where among the visible GPUs the one of this number is."""
        return self._numbers.index(number) if self._numbers else number

    def _copy_by_driver(self, pair: tuple[int, int], source: Any, target: Any) -> None:
        """cuMemcpyPeer between the primary contexts, which are torch's own."""
        if self._driver is None:
            self._driver = ctypes.CDLL("libcuda.so.1")
        size_bytes = source.numel() * source.element_size()
        whence, to = self._context(pair[0]), self._context(pair[1])
        pointers = ctypes.c_uint64(target.data_ptr()), ctypes.c_uint64(source.data_ptr())
        self._call("cuMemcpyPeer", pointers[0], to, pointers[1], whence, ctypes.c_size_t(size_bytes))

    def _context(self, index: int) -> Any:
        if index not in self._contexts:
            device, context = ctypes.c_int(), ctypes.c_void_p()
            self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(self._place(index)))
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._contexts[index] = context
        return self._contexts[index]

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} returned CUDA error {status}")


def gpus_of(asked: dict[str, Any]) -> Gpus:
    """The GPUs, or what a test puts in their place: the class `StandIn` of a Python file."""
    if "stand_in" not in asked:
        return Gpus(asked.get("numbers"))
    stand_in: Gpus = runpy.run_path(asked["stand_in"])["StandIn"](asked)
    return stand_in
