"""What a thread is doing, judged by its innermost frames. No reader.

Frames are `function (file)`, innermost first. What a wait is for stands below the wait itself, so that the frames
of queues, locks and sockets decide only where no other frame near the top tells more.
"""

from __future__ import annotations

from collections.abc import Sequence

from collectors.readers._regex import regex
from kb.facts.stacks import StackPlace

_NEAR = 16
"""Frames that are looked at: further out stands the program, not the wait."""

_COLLECTIVE = (
    r"_?all_?(?:reduce|gather|to_all)\w{0,20}|_?reduce_scatter\w{0,12}|broadcast\w{0,20}|barrier|monitored_barrier"
)
_INDUCTOR = "compile_fx|codecache|codegen|select_algorithm|scheduler|async_compile|graph"
_STRONG: tuple[tuple[StackPlace, str], ...] = (
    ("build-lock", r"file_baton|filelock|\bFileLock|lockf? \(portalocker"),
    ("compile", r"cpp_extension|[(/]ninja|nvcc|flashinfer/jit|deep_gemm/jit|tvm_ffi/cpp|ptxas|make_cubin"),
    ("compile", rf"_inductor/(?:{_INDUCTOR})|_dynamo/(?:convert_frame|output_graph|symbolic_convert)"),
    ("compile", r"triton/(?:compiler|runtime/(?:jit|autotuner|build))"),
    ("cuda-init", r"_lazy_init \(|_cuda_init|\bcuInit|cudaGetDeviceCount|cuDevicePrimaryCtxRetain"),
    (
        "rdma-setup",
        r"\bibv_(?:modify|create)_qp|\bibv_cmd_modify_qp|\bIbQp::r(?:tr|ts)|\bIBConnection::|ncclIb(?:Rtr|Rts)Qp",
    ),
    ("rdma-setup", r"\brdma_(?:connect|accept|resolve_\w{4,8})|\bucp_ep_create|\bfi_connect\b"),
    ("nccl-init", r"ncclComm(?:Init|Split)|ncclGetUniqueId|bootstrap(?:Init|Root)|pynccl\w{0,12}\.py"),
    ("store", r"_store_based_barrier|TCPStore|rendezvous|_create_c10d_store|PrefixStore|store\.(?:get|wait)"),
    ("nccl-wait", r"\bp?nccl(?!Comm(?:Init|Split|GetAsyncError))[A-Z]|ProcessGroupNCCL|WorkNCCL"),
    (
        "nccl-wait",
        (
            rf"^(?:{_COLLECTIVE}|reduce|scatter|gather|send|recv|batch_isend_irecv) "
            r"\((?:torch/distributed|\S{0,80}(?:distributed_c10d|parallel_state))"
        ),
    ),
    (
        "cuda-sync",
        r"cu(?:da)?(?:Stream|Device|Event|Ctx)?Synchronize|synchronize \(torch/cuda|_local_scalar_dense",
    ),
    ("dataloader", r"torch/utils/data/|_MultiProcessingDataLoaderIter|data_?loader\.py|torchdata/|nvidia/dali"),
    ("dataloader", r"[(/](?:fairseq/data|webdataset|streaming/base|litdata|petastorm|ray/data|grain)/"),
    ("dataloader", r"/data/(?:\w{0,20}iterators?|\w{0,20}prefetch\w{0,10})\.py"),
    ("driver", r"\buvm_|nvidia_|\bnv_(?:open|ioctl|lock)|os_acquire_|rm_(?:ioctl|init)|\(nvidia"),
    ("file-io", r"safetensors|torch/serialization|npyio|mmap \(|rpc_wait|\bll_|cl_io|lustre"),
    ("file-io", r"nfs4?_|ext4_|xfs_|ceph_|folio_wait|wait_on_page|io_schedule"),
    ("file-io", r"\b(?:__)?(?:pread|pwrite|preadv|fsync|fdatasync|readahead)(?:64)?\b"),
)
_WEAK: tuple[tuple[StackPlace, str], ...] = (
    ("network", r"[(/](?:socket|ssl|http/client|urllib3|requests|httpx|httpcore|huggingface_hub|anyio)[/.]"),
    ("network", r"\btcp_|inet_|sk_wait|recvfrom|connect\b"),
    ("queue", r"queue\.py|queues\.py|shm_broadcast|concurrent/futures|zmq/"),
    ("queue", r"multiprocessing/(?:connection|synchronize)|[(/]threading\.py|selectors\.py|asyncio/"),
    ("lock", r"lll_lock|pthread_mutex|pthread_cond|futex|acquire|sem_wait"),
)
_BY_FRAME = tuple(tuple((place, regex(form)) for place, form in forms) for forms in (_STRONG, _WEAK))
_NCCL = "AllReduce|AllGather|ReduceScatter|Broadcast|Bcast|Reduce|Send|Recv|GroupEnd|CommInit|CommSplit"
_OPERATION = regex(
    rf"^(?P<python>{_COLLECTIVE}) \(|\bp?nccl(?P<nccl>{_NCCL})"
    r"|\b(?P<cuda>cu(?:da)?(?:Stream|Device|Event|Ctx)?Synchronize)"
)


def place_of(frames: Sequence[str], state: str | None) -> StackPlace:
    """Where a thread of these frames stands."""
    for forms in _BY_FRAME:
        for frame in frames[:_NEAR]:
            found = next((place for place, form in forms if form.search(frame)), None)
            if found:
                return found
    return "gil" if state and "gil" in state else "other"


def operation_of(frames: Sequence[str]) -> str | None:
    """The collective or CUDA call that the frames are in, the innermost."""
    for frame in frames[:_NEAR]:
        match = _OPERATION.search(frame)
        if match:
            return match["python"] or match["nccl"] or match["cuda"]
    return None
