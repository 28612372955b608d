"""In the place of GPUs, for tests: tensors of the CPU, the gloo backend, and a fault where one is asked for.

`fault` in what a probe is told: `kind`, `way`, and `pair`, or `rank` for collectives.
"""

from __future__ import annotations

import os
import signal

import torch
from probe_gpus import Gpus


class StandIn(Gpus):
    """As many GPUs as are asked for, all of them the CPU."""

    group_backend = "gloo"

    def __init__(self, asked):
        super().__init__()
        self._asked = asked
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"

    def describe(self):
        numbers = self._asked.get("numbers") or range(self._asked["devices"])
        return [{"index": index, "name": "stand-in"} for index in numbers]

    def device(self, index):  # noqa: ARG002
        return torch.device("cpu")

    def use(self, index):
        pass

    def offers_access(self, src, dst):
        return [src, dst] not in self._asked.get("without_access", [])

    def settle(self, *indices):
        pass

    def move(self, way, pair, source, target):
        fault = self._asked.get("fault", {})
        pairs = fault.get("pair", [])
        if fault.get("way") != way or list(pair) not in (pairs if isinstance(pairs[0], list) else [pairs]):
            target.copy_(source)
        elif not self._breaks(fault["kind"]):
            self._spoil(fault["kind"], source, target)

    def all_reduce(self, tensor):
        super().all_reduce(tensor)
        fault = self._asked.get("fault", {})
        if (
            fault.get("way") == "allreduce"
            and fault["rank"] == self._asked["rank"]
            and not self._breaks(fault["kind"])
        ):
            tensor[-1] += 1

    def _breaks(self, kind):
        if kind == "hang":
            signal.pause()
        if kind == "crash":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        if kind == "error":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return kind in {"hang", "crash"}

    def _spoil(self, kind, source, target):
        if kind == "zeros":
            target.zero_()
        elif kind == "one element":
            target.copy_(source)
            target[7] ^= 1
        # "stale": nothing arrives
