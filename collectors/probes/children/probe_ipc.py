"""GPU memory that one process lends to another (CUDA IPC), as frameworks and NCCL do.

One process for each GPU. They are told what to do by lines of JSON on their standard input, and answer on their
standard output; the lent memory travels as the text that torch makes of it.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import traceback
from typing import Any, Iterable

from probe_journal import Ended, Journal
from probe_patterns import blank, check, fill


class Workers:
    """The processes, by the GPU that each has; they end with the block."""

    def __init__(self, journal: Journal, gpus: Iterable[int]) -> None:
        self._journal = journal
        self._gpus = gpus
        self._running: dict[int, Any] = {}

    def __enter__(self) -> Workers:
        for index in self._gpus:
            self._start(index)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.kill()

    def exchange(self, way: str, src: int, dst: int, elements: int, salt: int) -> dict[str, Any]:
        """What came of bringing a pattern from `src` to `dst`: one of the two lends its memory to the other."""
        lender, guest = (src, dst) if way == "ipc-read" else (dst, src)
        self._ask(lender, do="lend" if way == "ipc-read" else "lend-blank", elements=elements, salt=salt)
        handle = self._ask(lender, do="handle")["handle"]
        if way == "ipc-read":
            return self._ask(guest, do="read", handle=handle, salt=salt, src=lender)
        self._ask(guest, do="write", handle=handle, salt=salt, dst=lender)
        return self._ask(lender, do="check", salt=salt)

    def _start(self, index: int) -> None:
        asked = json.dumps({**self._journal.asked, "index": index})
        with self._journal.step("ipc-start", self._journal.asked["start_s"], gpu=index) as found:
            self._running[index] = subprocess.Popen(
                [sys.executable, "-B", __file__, asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            found["pid"] = self._running[index].pid
            self._ask(index, do="start")

    def _ask(self, index: int, **what: Any) -> dict[str, Any]:
        """The answer of one process. Ended where it is gone, RuntimeError with its words where it failed."""
        process = self._running[index]
        try:
            process.stdin.write(json.dumps(what).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise Ended(f"the process of GPU {index}", process.wait())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"GPU {index}: {answer['error']}")
        return answer


class Worker:
    """One process with one GPU, the memory that it lends, and what it is told to do."""

    def __init__(self, asked: dict[str, Any]) -> None:
        import torch.multiprocessing
        from probe_gpus import gpus_of

        torch.multiprocessing.set_sharing_strategy("file_system")
        self._index = asked["index"]
        self._gpus = gpus_of(asked)
        self._gpus.use(self._index)
        self._lent: Any = None
        self._opened: Any = None

    def answer(self, what: dict[str, Any]) -> dict[str, Any]:
        """What came of one command."""
        found = getattr(self, "_" + what.pop("do").replace("-", "_"))(**what)
        self._gpus.settle(self._index)
        return found or {}

    def _start(self) -> None:
        self._empty(1)

    def _empty(self, elements: int) -> Any:
        import torch

        return torch.empty(elements, dtype=torch.int32, device=self._gpus.device(self._index))

    def _lend(self, elements: int, salt: int) -> None:
        self._lent = self._empty(elements)
        fill(self._lent, salt)

    def _lend_blank(self, elements: int, salt: int) -> None:
        self._lent = self._empty(elements)
        blank(self._lent, salt)

    def _handle(self) -> dict[str, Any]:
        from multiprocessing.reduction import ForkingPickler

        return {"handle": base64.b64encode(bytes(ForkingPickler.dumps(self._lent))).decode()}

    def _open(self, handle: str) -> Any:
        self._opened = None
        self._opened = pickle.loads(base64.b64decode(handle))  # noqa: S301 - of our own process
        return self._opened

    def _read(self, handle: str, salt: int, src: int) -> dict[str, Any]:
        lent = self._open(handle)
        target = self._empty(lent.numel())
        blank(target, salt)
        self._gpus.settle(self._index)
        self._gpus.move("ipc-read", (src, self._index), lent, target)
        self._gpus.settle(self._index)
        found: dict[str, Any] = check(target, salt)
        return found

    def _write(self, handle: str, salt: int, dst: int) -> None:
        lent = self._open(handle)
        source = self._empty(lent.numel())
        fill(source, salt)
        self._gpus.settle(self._index)
        self._gpus.move("ipc-write", (self._index, dst), source, lent)

    def _check(self, salt: int) -> dict[str, Any]:
        found: dict[str, Any] = check(self._lent, salt)
        return found


def main() -> None:
    """Answers until there is no more to do."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    worker = Worker(json.loads(sys.argv[1]))
    for line in sys.stdin.buffer:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - told to the one who asked
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
