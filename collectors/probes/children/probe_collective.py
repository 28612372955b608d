"""NCCL over all GPUs of this machine, one process each: only the start of a communicator, or checked sums too."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

from probe_journal import Cannot, Ended, Journal, import_torch, salt_of

TIMED_ROUNDS = 5
POLL_S = 0.05
GRACE_S = 1.0


def work(journal: Journal) -> None:
    """Starts the ranks and waits for them; the first that fails ends all."""
    asked = journal.asked
    torch = import_torch(journal)
    from probe_gpus import gpus_of

    with journal.step("devices", asked["start_s"]) as found:
        devices = gpus_of(asked).describe()
        found["devices"] = devices
    if len(devices) < 2:
        raise Cannot(
            f"torch of {sys.executable} sees {len(devices)} GPU(s); a communicator worth the name needs two"
        )
    with journal.step("store", asked["step_s"]) as found:
        wait = timedelta(seconds=asked["start_s"])
        store = torch.distributed.TCPStore("127.0.0.1", 0, len(devices), True, wait, wait_for_workers=False)
        found["port"] = store.port
    journal.note("plan", ranks=len(devices), sizes_bytes=asked["sizes_bytes"], direct=asked["direct"])
    ranks = {}
    for rank in range(len(devices)):
        told = json.dumps({**asked, "rank": rank, "ranks": len(devices), "port": store.port})
        ranks[rank] = subprocess.Popen([sys.executable, "-B", __file__, told], pass_fds=(journal.descriptor,))
    while None in (codes := [process.poll() for process in ranks.values()]) and not any(codes):
        time.sleep(POLL_S)
    if any(codes):
        rank, code = _first_to_fall(ranks)
        ended = Ended(f"rank {rank}", code)
        journal.note("fail", step="ranks", rank=rank, error=str(ended), signal=ended.signal)
        raise ended


def _first_to_fall(ranks: dict[int, Any]) -> tuple[int, int]:
    """The rank whose end ended the others, and its status; the others are killed.

    They fail within moments of each other: one that a signal ended comes before those that only lost their peer.
    """
    time.sleep(GRACE_S)
    codes = {rank: process.poll() for rank, process in ranks.items()}
    for process in ranks.values():
        process.kill()
    fallen = {rank: code for rank, code in codes.items() if code}
    return min(fallen.items(), key=lambda one: (one[1] > 0, one[0]))


def be_rank(journal: Journal) -> None:
    """One rank from its start to its end."""
    asked = journal.asked
    rank, ranks = asked["rank"], asked["ranks"]
    torch = import_torch(journal)
    from probe_gpus import gpus_of

    gpus = gpus_of(asked)
    gpus.use(rank)
    with journal.step("init", asked["init_s"]) as found:
        _init(torch, gpus, rank, ranks, asked)
        if gpus.group_backend == "nccl":
            found["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    for size_bytes in asked["sizes_bytes"]:
        with journal.step("allreduce", asked["step_s"], size_bytes=size_bytes) as found:
            found.update(_sums(torch, gpus, journal, size_bytes))


def _init(torch: Any, gpus: Any, rank: int, ranks: int, asked: dict[str, Any]) -> None:
    """Makes the communicator at once, where torch can be told to; older ones make it at the first collective."""
    init = torch.distributed.init_process_group
    wait = timedelta(seconds=asked["start_s"])
    store = torch.distributed.TCPStore("127.0.0.1", asked["port"], ranks, False, wait)
    is_nccl = gpus.group_backend == "nccl"
    can_be_eager = "device_id" in inspect.signature(init).parameters
    more = {"device_id": gpus.device(rank)} if is_nccl and can_be_eager else {}
    init(gpus.group_backend, store=store, rank=rank, world_size=ranks, **more)
    if is_nccl and not can_be_eager:
        gpus.all_reduce(torch.ones(1, dtype=torch.int64, device=gpus.device(rank)))
        gpus.settle(rank)


def _sums(torch: Any, gpus: Any, journal: Journal, size_bytes: int) -> dict[str, Any]:
    """Whether the sums over all ranks are exact, and how fast they come (not judged)."""
    from probe_patterns import MOST_OFFSETS, pattern

    rank, ranks = journal.asked["rank"], journal.asked["ranks"]
    elements = size_bytes // 8
    salts = [salt_of(journal, "allreduce", one, size_bytes) for one in range(ranks)]
    device = gpus.device(rank)
    total = pattern(0, elements, salts[rank], device).to(torch.int64)
    gpus.settle(rank)
    gpus.all_reduce(total)
    gpus.settle(rank)
    expected = torch.zeros(elements, dtype=torch.int64, device=device)
    for salt in salts:
        expected += pattern(0, elements, salt, device)
    differ = total != expected
    wrong = int(differ.sum().item())
    found: dict[str, Any] = {"elements": elements, "wrong": wrong}
    if wrong:
        found["first_wrong"] = [int(at) for at in differ.nonzero().flatten()[:MOST_OFFSETS].tolist()]
    began = time.perf_counter()
    for _ in range(TIMED_ROUNDS):
        gpus.all_reduce(total)
    gpus.settle(rank)
    seconds = (time.perf_counter() - began) / TIMED_ROUNDS
    found["busbw_gbps"] = round(size_bytes / seconds / 1e9 * 2 * (ranks - 1) / ranks, 3)
    return found


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    if "rank" in told:
        Journal(rank=told["rank"]).run(be_rank)
    else:
        Journal().run(work)
