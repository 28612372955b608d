"""Writes the log of a job of many ranks: set-up, channels, collective traces, training progress, three real faults.

Usage: python benchmarks/make_log.py OUT SIZE_MB [RANKS]. The same arguments give the same bytes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

GPUS_PER_HOST = 8
BUS = ("1b000", "43000", "52000", "61000", "9d000", "c3000", "d1000", "df000")


def prefix(rank: int) -> str:
    """What NCCL puts before each line of this rank."""
    return f"gpu-{rank // GPUS_PER_HOST:03d}:{41000 + rank}:{51000 + rank} [{rank % GPUS_PER_HOST}] NCCL INFO "


def set_up(ranks: int) -> Iterator[str]:
    """The lines of every rank until its communicator is complete."""
    for rank in range(ranks):
        head = prefix(rank)
        comm = f"ncclCommInitRankConfig comm 0x7f{rank:08x} rank {rank} nranks {ranks} cudaDev {rank % 8} nvmlDev {rank % 8}"
        comm += f" busId {BUS[rank % 8]} commId 0x6f2a91c0d4e8b317"
        yield f"{head}cudaDriverVersion 12080\n"
        yield f"{head}Bootstrap: Using eth0:10.{rank // 2048}.{rank // 8 % 256}.17<0>\n"
        yield f"{head}NCCL version 2.26.2+cuda12.6\n"
        yield f"{head}NCCL_SOCKET_IFNAME set by environment to eth0\n"
        yield f"{head}{comm} - Init START\n"
        yield f"{head}Bootstrap timings total 0.91{rank:04d} (create 0.01, send 0.02, recv 0.8, ring 0.05, delay 0.0)\n"
        for channel in range(16):
            peer = (rank + 1) % ranks
            way = "P2P/CUMEM" if peer // GPUS_PER_HOST == rank // GPUS_PER_HOST else "NET/IB/0/GDRDMA"
            yield f"{head}Channel {channel:02d}/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}] via {way}\n"
        yield f"{head}{comm} - Init COMPLETE\n"


def running(ranks: int, rng: random.Random) -> Iterator[str]:
    """Training: mostly traces of collectives, some progress, for ever."""
    step = 0
    while True:
        step += 1
        yield f"[2026-02-03 11:{step // 60 % 60:02d}:{step % 60:02d}] iteration {step}/ 500000 | loss {rng.random():.6f} | lr 3.0E-04\n"
        for _ in range(64):
            yield trace(rng.randrange(ranks), ranks, step, rng)


def trace(rank: int, ranks: int, step: int, rng: random.Random) -> str:
    """What NCCL says of one collective where it traces them all."""
    kind = rng.choice(("AllReduce", "AllGather", "ReduceScatter"))
    return (
        f"{prefix(rank)}{kind}: opCount {step:x} sendbuff 0x{rng.getrandbits(44):x} recvbuff 0x{rng.getrandbits(44):x} "
        f"count {1 << rng.randrange(10, 26)} datatype 9 op 0 root 0 comm 0x7f{rank:08x} [nranks={ranks}] stream 0x55d0\n"
    )


def faults(ranks: int) -> Iterator[str]:
    """One rank runs out of memory; its peers lose their connection to it; the watchdogs of all others follow."""
    dead = ranks // 3
    yield f"[rank{dead}]: Traceback (most recent call last):\n"
    yield f'[rank{dead}]:   File "/opt/train/train.py", line 412, in step\n'
    yield f"[rank{dead}]:     loss.backward()\n"
    yield (
        f"[rank{dead}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU {dead % 8} has a total "
        "capacity of 79.11 GiB of which 812.06 MiB is free. Process 41170 has 78.30 GiB memory in use. Of the allocated "
        "memory 74.12 GiB is allocated by PyTorch, and 2.11 GiB is reserved by PyTorch but unallocated.\n"
    )
    for rank in (dead - 1, dead + 1):
        warn = prefix(rank).replace("NCCL INFO ", "")
        yield "\n"
        yield (
            f"[2026-02-03 12:40:07] {warn}misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer "
            f"gpu-{dead // GPUS_PER_HOST:03d}<51{dead}>\n"
        )
    for rank in range(ranks):
        if rank != dead:
            yield (
                f"[rank{rank}]:[E203 12:50:08.40827{rank % 10} ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
                "operation timeout: WorkNCCL(SeqNum=81725, OpType=ALLREDUCE, NumelIn=25165824, NumelOut=25165824, "
                "Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"
            )


def of_ranks(ranks: int, steps: int) -> Iterator[str]:
    """The log of each rank by itself: its set-up, so many collectives, and what it says of the end."""
    begun = list(set_up(ranks))
    each = len(begun) // ranks
    rng = random.Random(ranks)
    for rank in range(ranks):
        head = f"gpu-{rank // GPUS_PER_HOST:03d}:{41000 + rank}:"
        told = [*begun[rank * each : (rank + 1) * each], *(trace(rank, ranks, step, rng) for step in range(steps))]
        yield "".join([*told, *(line for line in faults(ranks) if head in line)])


def lines(size: int, ranks: int) -> Iterator[str]:
    """The whole log, about `size` bytes long."""
    written = 0
    tail = "".join(faults(ranks))
    for line in set_up(ranks):
        written += len(line)
        yield line
    for line in running(ranks, random.Random(ranks)):
        if written + len(tail) > size:
            break
        written += len(line)
        yield line
    yield tail


def main() -> None:
    """Writes the file that the arguments ask for."""
    out, size_mb, *more = sys.argv[1:]
    with Path(out).open("w", encoding="ascii") as stream:
        stream.writelines(lines(int(float(size_mb) * 1_000_000), int(more[0]) if more else 512))


if __name__ == "__main__":
    main()
