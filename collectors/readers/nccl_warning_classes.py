"""What a WARN of NCCL is about, judged by the part of its text that has stayed the same over the releases.

Follows the messages of NCCL 2.14.3 to 2.30.7 (NVIDIA/nccl, src/) and the strings of 2.32.3. Exact texts change
nearly every release, so each pattern is a stable middle; where none fits, the source file that warned decides.
No reader.
"""

from __future__ import annotations

import re

from collectors.readers._regex import regex
from kb.facts.nccl import NcclClass

_TEXTS: tuple[tuple[NcclClass, str], ...] = (
    # Another process failed first, or a layer above repeats what a layer below has said.
    ("consequence", r"connection closed by (?:remote )?peer|connection closed by localrank"),
    ("consequence", r"(?:call to|progressopt: call to) (?:recv|send)(?: from| to)? \S+ ?.{0,80}failed"),
    (
        "consequence",
        r"^\[(?:service thread|proxy \w+)[^\]]{0,40}\]|^proxy call to rank|ncclProxy(?:Call|Client)",
    ),
    ("consequence", r"ncclAsyncJobComplete|ncclCommSetAsyncError|commReclaim|abort state|saw abortFlag"),
    ("consequence", r"got completion.{0,120}(?:error 5,|status=5 |\(5\))|communicator was revoked"),
    (
        "consequence",
        r"socket recv failed while polling|commDestroySync|ncclProxyStop|pthread_join|thread join failed",
    ),
    (
        "consequence",
        r"hostStreamPlanCallback|ras thread terminating|failed to join thread|cleanup callback failed",
    ),
    ("consequence", r"closed (?:while|before|after)\b|: receive socket from|an earlier asynchronous send"),
    (
        "memory",
        r"failed to (?:cuda )?(?:host )?(?:malloc|calloc|alloc)|malloc\(size=|calloc\(.{0,40}returned null",
    ),
    ("memory", r"cuda failure[^']{0,12}'out of memory'|^allocation failed"),
    ("cuda", r"^cuda failure|nvlink sharp"),
    ("version", r"mismatched nccl version|nccl version mismatch|too old version of nccl"),
    (
        "version",
        r"nccl library (?:version )?is|^message truncated : received|^cumem (?:host is )?not supported",
    ),
    ("version", r"cannot be captured in a graph|driver is older than the minimum|^retrieve \S+ version"),
    ("version", r"incompatible version|requires cuda driver|begins with sm\d|due to old driver|dlv?sym failed"),
    ("version", r"backend version|exceeds device/fn maxSharedMem|git versions detected"),
    ("user_error", r"ncclRedOpDestroy|ncclGroupEnd: not in|must either be all|either none or all communicators"),
    (
        "user_error",
        r"blocking and nonblocking communicators|ncclCommGrow|ncclPutSignal|ncclWaitSignal|ncclSignal:",
    ),
    ("user_error", r"user requested|data type supplied to user-created|symmetric registration requirements"),
    (
        "user_error",
        r"window (?:address|registration)|(?:context|flags|index) -?\d+ is invalid|magic mismatch \(got",
    ),
    ("user_error", r"not supported in this communicator|does not support symmetric memory|match the parent"),
    ("user_error", r"register fails, buffer|\binvalid handle\b|multimem pointer requested|identical segment"),
    ("user_error", r"duplicate gpu detected|multiple ranks (?:are using|detected using) the same gpu"),
    ("user_error", r"invalid config|invalid rank requested|invalid (?:argument|usage|device)"),
    ("user_error", r"is not a valid pointer|argument is null|before the previous operation returned"),
    (
        "user_error",
        r"(?:must|should) be (?:in|initialized)|already been destroyed|invalid (?:root|type|reduction)",
    ),
    ("user_error", r"mismatchs? with nccl device|improper usage|exceeds ndev|matching (?:recv|send)"),
    ("user_error", r"argument not initialized"),
    ("config", r"could not open xml (?:topology|graph) file|error: network \S+ not found|ignoring nccl_"),
    ("config", r"user asked for a (?:min|max)imum|(?:must be a multiple of|maximum|minimum) -?\d+\)"),
    ("config", r"\b(?:min|max)ctas \d+ is|splitshare \d+ is not|nccl_work_fifo_\w+|nccl_cta_policy|prefix token"),
    ("config", r"element token|must have a prefix|nccl_elastic_buffer|launch_order_implicit|too low, leaving"),
    ("config", r"no algorithm/protocol (?:nor \w+ )?available"),
    ("shm", r"posix_fallocate|shared memory|/dev/shm|shmopen|shm_open|failed to extend|could not map"),
    ("ib", r"net/ib|\bibv_|infiniband|\bmlx5|gid table|\broce\b|remote flid"),
    ("p2p", r"failed to peer with device|legacy ipc|cudaIpc|ipc register|p2p is disabled between nvlink"),
    ("p2p", r"cuMemImportFromShareableHandle|cuMemExportToShareableHandle|^uds:"),
    ("config", r"imex|mnnvl|fabric manager|multi-gpu cc off|iommu=pt|gdrcopy|libibverbs|nccl_comm_id"),
    ("config", r"bootstrap root : (?:mismatch|rank \d+ of)|set nccl_ignore_|mismatch in collective sizes"),
    ("config", r"nccl_\w+ (?:value|has invalid|is being ignored)"),
    ("topology", r"sched_[gs]etaffinity|processaffinitymask|pci (?:device )?bus id|pci info|setupapi|SetupDi"),
    ("topology", r"failed to determine (?:local|intra proc) ranks|has no transport for"),
    ("cuda", r"cuda error|cuda library|missing symbol cu|cudriver|failed to set cuda"),
    ("cuda", r"\bnvml|libnvidia-ml|failed to create cuda context"),
    (
        "topology",
        r"could not find a path for pattern|could not find (?:nic|net|gpu|cpu|node)|no path computed",
    ),
    (
        "topology",
        r"topo|xml|ring \d+ does not|nvlink error|no transport found for rank|could not find real path",
    ),
    ("network", r"connect to|call to (?:connect|bind|listen|accept|getsockname|poll|setsockopt|socket)\b"),
    (
        "network",
        r"socket|no interface found|interface found|network \S+ not found|net/ofi|libfabric|bootstrap",
    ),
    ("network", r"net plugin|no device found|netplugin|ginplugin|rmaplugin|device code index|handshake receive"),
    ("network", r"\bgdr_\w+|collnet|\bgin\b|\brma\b|gdaki|netname|getadaptersaddresses|net registration"),
)
_BY_TEXT = tuple((class_, regex(pattern, re.IGNORECASE)) for class_, pattern in _TEXTS)

_BY_FILE: tuple[tuple[NcclClass, str], ...] = (
    ("ib", "net_ib"),
    ("ib", "ibvwrap"),
    ("ib", "ibvsymbols"),
    ("ib", "mlx5dv"),
    ("cuda", "nvmlwrap"),
    ("network", "gdrwrap"),
    ("network", "coll_net"),
    ("network", "plugin/"),
    ("network", "gin/"),
    ("network", "rma/"),
    ("shm", "shm"),
    ("p2p", "transport/p2p"),
    ("topology", "graph/"),
    ("network", "socket"),
    ("network", "bootstrap"),
    ("network", "transport/net"),
    ("user_error", "argcheck"),
    ("memory", "alloc"),
    ("cuda", "nvls"),
    ("cuda", "cudawrap"),
)


def warning_class(text: str, place: str | None) -> NcclClass:
    """The class of a WARN by its text or, failing that, by the source file that it names."""
    text = text[:500]
    for class_, pattern in _BY_TEXT:
        if pattern.search(text):
            return class_
    for class_, part in _BY_FILE:
        if place is not None and part in place:
            return class_
    return "internal"
