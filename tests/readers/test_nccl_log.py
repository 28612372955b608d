"""NCCL's log at the size of a large job, and what its warnings are about."""

from __future__ import annotations

from collections import Counter

import pytest

from collectors.readers.nccl_log import READER
from collectors.readers.nccl_warning_classes import warning_class
from kb.evidence import Observed, Section


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("Cuda failure 'named symbol not found'", "enqueue.cc:47", "cuda"),
        ("Cuda failure 1 'invalid argument'", "transport/nvls.cc:244", "cuda"),
        ("Cuda failure 'out of memory'", "init.cc:990", "memory"),
        ("Call to connect timeout : Connection refused", "include/socket.h:361", "network"),
        ("Call to ibv_modify_qp failed with 110 Connection timed out", "misc/ibvwrap.cc:203", "ib"),
        ("Call to posix_fallocate failed : No space left on device", "include/shm.h:28", "shm"),
        (
            "Net : Call to recv from 10.0.0.5<4711> failed : Connection reset by peer",
            "include/socket.h:1",
            "consequence",
        ),
        ("NET/IB : Got completion from peer 10.2.0.5<3> with status=12 opcode=0", "transport/net_ib.cc:1", "ib"),
        (
            "NET/IB : Got completion from peer 10.2.0.5<3> with status=5 opcode=0",
            "transport/net_ib.cc:1",
            "consequence",
        ),
        ("Mismatched NCCL version detected : rank 0 version 22005 rank 1 version 22203", "init.cc:1", "version"),
        ("Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000", "init.cc:1", "user_error"),
        ("Broadcast : sendbuff (nil) is not a valid pointer", "misc/argcheck.cc:1", "user_error"),
        ("Could not find a path for pattern 4, falling back to simple order", "graph/search.cc:1127", "topology"),
        ("ncclAsyncJobComplete: job 0x5f failed, job error 3", "group.cc:1", "consequence"),
        ("something that no release has said", "transport/shm.cc:9", "shm"),
        ("something that no release has said", None, "internal"),
    ],
)
def test_class_of_a_warning(text, place, expected):
    """The stable middle of the text decides, else the file that warned."""
    assert warning_class(text, place) == expected


def test_a_log_of_512_ranks_gives_one_init_a_rank_and_one_fact_for_all_they_say_alike():
    """Memory does not grow with the log."""
    lines = []
    for rank in range(512):
        head = f"n{rank // 8}:{1000 + rank % 8}:{2000 + rank % 8} [{rank % 8}] NCCL INFO "
        body = f"comm 0x{rank + 1:x} rank {rank} nranks 512 cudaDev 0 nvmlDev 0 busId 1000 commId 0x9c -"
        lines += [
            f"{head}Bootstrap: Using eth0:10.0.0.1<0>",
            f"{head}NCCL version 2.27.5+cuda12.9",
            f"{head}NCCL_DEBUG set by environment to INFO",
            f"{head}ncclCommInitRank {body} Init START",
            *(f"{head}Channel 0{c}/0 : {rank}[0] -> {rank + 1}[0] [send] via NET/IB/{c}/GDRDMA" for c in range(8)),
            f"{head}ncclCommInitRank {body} Init COMPLETE",
            f"n{rank // 8}:{1000 + rank % 8}:3000 [0] misc/socket.cc:49 NCCL WARN Connect to 10.0.0.{rank} failed",
        ]

    facts = [r.fact for r in READER.read(Section("job.log", lines)) if isinstance(r, Observed)]

    counts = Counter(fact.kind for fact in facts)
    assert counts["nccl_init"] == 512
    assert {kind: n for kind, n in counts.items() if kind != "nccl_init"} == {
        "nccl_version": 1,
        "nccl_setting": 1,
        "nccl_bootstrap": 1,
        "nccl_transport": 1,
        "nccl_warning": 1,
    }
