"""Real inputs from public places, where they are at hand; skipped elsewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from collectors.combine import combine
from collectors.open import open_evidence
from collectors.scan import read_all
from diagnose.explain import rule_base
from engine.session import assess
from kb.errors import InputError
from kb.evidence import Observed

SAMPLES = Path(__file__).parent.parent.parent / "shared" / "samples"
ACCUSES = 0.5
HEALTH = ("healthy", "faulty", "mixed")


def listed() -> list[tuple[str, str]]:
    """Path and health of each sample that the index lists."""
    found: list[tuple[str, str]] = []
    folder = ""
    index = SAMPLES / "INDEX.md"
    for line in index.read_text().splitlines() if index.is_file() else ():
        if line.startswith("## "):
            folder = line[3:].strip()
        cells = [cell.strip() for cell in line.split("|")]
        health = next(
            (
                cell.split()[0].rstrip(",;")
                for cell in cells[6:]
                if cell.split()[:1] and cell.split()[0].rstrip(",;") in HEALTH
            ),
            None,
        )
        name = re.sub(r"[`*]", "", cells[1]) if len(cells) > 6 else ""
        if health and name and (SAMPLES / folder / name).exists():
            found.append((f"{folder}/{name}", health))
    return found


LISTED = listed()

SHOWN: dict[str, tuple[str, dict[str, object]]] = {
    "dcgmi-diag/dcgm3-r1-persistence-fail.json": ("diag_result", {"status": "fail", "class_": "persistence"}),
    "dcgmi-diag/h100x8-r3-cuinit-fail-fabricmanager-down.txt": ("diag_result", {"status": "fail"}),
    "dcgmi-diag/nvlink-errors-crc12.json": ("nvlink_errors", {"index": 0, "crc": 12}),
    "dmesg/amdvi-io-page-fault-nvidia-p2p-samples.log": ("iommu_fault", {"driver": "nvidia", "vendor": "amd"}),
    "dmesg/azure-style-domain-xid31.log": ("xid_event", {"code": 31, "bdf": "000d:00:00.0"}),
    "dmesg/b200-xid145-149-nvlink5-cascade.log": ("xid_event", {"code": 45, "caused_by": 145}),
    "dmesg/flexflow-segfaults-only.log": ("process_crash", {"process": "spec_infer", "crash": "segfault"}),
    "dmesg/kmsg-peermem-invalid-context.log": (
        "driver_trouble",
        {"problem": "peermem-invalid-context", "count": 7},
    ),
    "dmesg/nccl-segfault-decode-iso.log": ("process_crash", {"crash": "segfault", "library": "libnccl.so.2"}),
    "dmesg/xid-mix-decode-iso.log": ("oom_kill", {"process": "node", "scope": "cgroup"}),
    "dmesg/xid119-gsp-rpc-timeout.log": ("xid_event", {"code": 119, "bdf": "0000:9b:00.0"}),
    "dpkg-rpm-ldconfig/dpkg-l-rc-leftovers-450-460-470.txt": ("package", {"branch": 460, "state": "config-files"}),
    "dpkg-rpm-ldconfig/ldconfig-p-libcuda-compat-first-thor.txt": (
        "resolved_library",
        {"soname": "libcuda.so.1", "origin": "cuda-compat"},
    ),
    "fabric-manager/driver-container-fm-start-script-unknown-option.log": (
        "fabric_manager_problem",
        {"problem": "start-script"},
    ),
    "fabric-manager/fm-530-mismatch-one-line.log": (
        "fabric_manager_problem",
        {"problem": "version-mismatch", "fabric_manager_version": "530.30.02", "driver_version": "530.41.03"},
    ),
    "flight-recorder/gpu_error_1st/": (
        "flight_record",
        {"group_description": "EXPERT_MODEL_PARALLEL_GROUP", "operation": "all_to_all", "rank": 0},
    ),
    "gpu-operator/driver-container-cannot-unload-in-use.log": (
        "module_load_problem",
        {"problem": "module-in-use"},
    ),
    "gpu-operator/driver-manager-module-refcount-236.log": (
        "module_load_problem",
        {"problem": "module-in-use", "code": "236"},
    ),
    "ibstat/ibv-devinfo-port-down-and-iwarp.txt": ("rdma_port", {"device": "mlx5_0", "state": "down"}),
    "nccl-log/a100-pcie-2gpu-one-nvlink-28GBs.log": ("nccl_setting", {"name": "NCCL_TOPO_FILE"}),
    "nccl-log/error12-old-format-node2.log": ("ib_completion_error", {"class_": "retry-exceeded", "status": 12}),
    "nccl-log/h100-nvls-invalid-argument-fm-restarted.log": (
        "nccl_cuda_failure",
        {"code": 1, "file": "transport/nvls.cc"},
    ),
    "nccl-log/ib-status12-vendor129-ipv6-gid.log": ("ib_completion_error", {"status": 12, "vendor_error": 129}),
    "nccl-log/rccl-missing-iommu-pt-warn.log": ("nccl_warning", {"class_": "config", "file": "init.cc"}),
    "nccl-log/rtx3090x2-cuda-driver-is-a-stub-library.log": (
        "nccl_warning",
        {"text": "Cuda failure 'CUDA driver is a stub library'"},
    ),
    "nccl-log/vm-3gpu-stuck-after-p2p-ipc.log": ("nccl_transport", {"via": "P2P", "detail": "P2P/IPC"}),
    "nccl-log/vm-gdr-error4-vendor81-two-vms.log": (
        "ib_completion_error",
        {"class_": "local-protection", "status": 4},
    ),
    "nccl-tests/h100x8-system-not-yet-initialized.txt": ("cuda_error", {"class_": "not-ready", "code": 802}),
    "nccl-tests/openmpi-not-enough-slots.txt": ("process_error", {"error": "MPI slots", "class_": "config"}),
    "nvbandwidth/a100x8-pattern-check-invalid-value.txt": ("process_error", {"error": "nvbandwidth data check"}),
    "nvidia-bug-report/3x-a6000-xid62-109-45-flood.log.gz": ("xid_event", {"code": 62, "bdf": "0000:68:00.0"}),
    "nvidia-bug-report/api-mismatch-515-module-525-client-vm.log": (
        "api_mismatch",
        {"client_version": "525.125.06", "module_version": "515.65.01"},
    ),
    "nvidia-bug-report/api-mismatch-four-driver-versions.log.gz": (
        "kernel_module",
        {"name": "nvidia", "version": "418.152.00"},
    ),
    "nvidia-bug-report/gtx1650-laptop-xid31.log.gz": ("xid_event", {"code": 31, "count": 2}),
    "nvidia-bug-report/gtx850m-module-unloaded.log.gz": ("kernel_module", {"name": "nvidia", "loaded": False}),
    "nvidia-bug-report/nvs5200m-2013-no-driver.log": ("kernel_module", {"name": "nvidia", "loaded": False}),
    "nvidia-bug-report/rtx50-gsp-fsp-boot-timeout-xid62-119-154.log.gz": (
        "module_load_problem",
        {"problem": "gsp-init-failed", "boot": "this"},
    ),
    "nvidia-bug-report/xid79-rtx4070-rig-fell-off-bus.log.gz": ("xid_event", {"code": 79, "boot": "this"}),
    "nvidia-smi/azure-nhc-bad_nvlink_status.txt": ("nvlink_links", {"index": 6, "state": "all-inactive"}),
    "nvidia-smi/azure-nhc-bad_nvsmi8_output.txt": (
        "gpu_memory_repair",
        {"index": 0, "corrected": 60, "uncorrected": 5},
    ),
    "other/nvidia-installer.log": ("runfile_install", {"outcome": "failed", "problem": "module-build"}),
    "p2p-bandwidth/gtx1080ti-x4-partial-peer-allreduce-hangs.txt": (
        "peer_access",
        {"src": 0, "dst": 2, "offered": False},
    ),
    "proc-version/nvml-mismatch-570-124-tinygrad.txt": ("nvml_error", {"problem": "version-mismatch"}),
    "proc-version/ubuntu-550-107-vs-proc-550-90.txt": (
        "kernel_module",
        {"name": "nvidia", "version": "550.90.07"},
    ),
    "py-spy/bloom-176b-dataloader-wait.txt": ("process_stack", {"where": "dataloader"}),
    "py-spy/bloom-176b-eval-deadlock-2-nodes.txt": ("process_stack", {"where": "dataloader", "pid": 688514}),
    "py-spy/sglang-watchdog-timeout-pyspy-all-schedulers.log": ("process_stack", {"where": "build-lock"}),
    "server-log/dgx-spark-laguna-int4-start.log": ("framework_error", {"class_": "kv-cache-too-small"}),
    "server-log/dgx-spark-vllm-run1-oom.log": ("run_outcome", {"outcome": "unfinished", "ready": False}),
    "server-log/dgx-spark-vllm.log": ("framework_error", {"class_": "engine-dead"}),
    "server-log/mooncake-rdma-transport-retry-exceeded-h20.log": (
        "ib_completion_error",
        {"class_": "retry-exceeded", "device": "mlx5_5", "peer": "10.93.81.13"},
    ),
    "server-log/sglang-2x8a100-segfault-cuda-graph-capture.log": ("process_error", {"error": "signal"}),
    "server-log/sglang-r1-2x8a800-watchdog-allgather-timeout.log": ("collective_timeout", {"ranks_named": "6"}),
    "server-log/vllm-b200-freezes-at-nccl.log": (
        "start_progress",
        {"stage": "communication", "state": "unfinished"},
    ),
    "server-log/vllm-gb200-ray-cgraph-timeout.log": ("process_error", {"error": "RayChannelTimeoutError"}),
    "server-log/vllm-r1-16xh800-ray-hang.log": ("process_error", {"error": "RayChannelTimeoutError"}),
    "server-log/vllm-ray-same-host-mixed-gpu-nccl-system-error.log": (
        "nccl_nvml_failure",
        {"call": "nvmlDeviceGetHandleByPciBusId", "reason": "not-found"},
    ),
    "server-log/vllm-rtx50-cuda700-illegal-memory-nccl-warn.log": (
        "nccl_cuda_failure",
        {"class_": "illegal-access", "code": 700},
    ),
    "server-log/vllm-stuck-p2p-access-cache.log": ("peer_access_cache", {"action": "generating"}),
    "server-log/vllm-t4-kernel-image-invalid.log": ("framework_error", {"class_": "kernel-image-invalid"}),
    "server-log/vllm-t4-ptxas118.log": ("framework_error", {"class_": "triton-failure"}),
    "topology-xml/tz-topo-fail.xml": ("nccl_topology_gpu", {"index": 0, "nvlinks": 1}),
    "torch-crash/ddp-mismatched-collectives-allreduce-vs-broadcast.log": (
        "collective_agreement",
        {"agreement": "operations-differ", "different": "3", "silent": "0"},
    ),
    "torch-crash/llamafactory-nccl-invalid-usage.log": ("process_error", {"class_": "nccl", "rank": "rank 1"}),
    "torch-crash/perlmutter-allreduce-30min-timeout-3-of-4-ranks.log": ("collective_agreement", {"silent": "0"}),
    "torch-crash/picotron-torchrun-sigabrt-summary.log": (
        "process_exit",
        {"exit_code": -6, "reported_by": "torchrun"},
    ),
    "torch-crash/sglang-2x8h100-load-error-watchdog.log": ("progress", {"activity": "load", "elapsed_s": 4168}),
    "torch-crash/sglang-2xh200-allgather-base-timeout-both-nodes.log": (
        "collective_timeout",
        {"operation": "_ALLGATHER_BASE", "ranks_named": "3, 5"},
    ),
    "torch-crash/sglang-2xh200-node0-only.log": ("collective_timeout", {"ranks_named": "3"}),
    "torch-crash/vllm-ray-allreduce-timeout-2-nodes.log": (
        "collective_timeout",
        {"sequence": 31, "ranks_named": "3"},
    ),
    "torch-crash/watchdog-desync-debug-report-2-ranks.log": ("desync_rank", {"rank": 1, "problem": "not-joined"}),
}
"""For each faulty sample the fact behind what is known to be wrong there."""

SHOWS_NOTHING = {
    "lspci/x670p-bifurcation-lspci_card.txt": "the width of a link is not yet read from lspci",
    "lspci/x670p-bifurcation-lspci_nvidia.txt": "the width of a link is not yet read from lspci",
    "nvidia-smi/h100x8-table-fabricmanager-down.txt": "the table is that of a healthy machine",
    "nvidia-smi/x670p-bifurcation-nvidia-smi.txt": "the table does not show the links",
    "p2p-bandwidth/torch-tensor-copy-zeros-k80-iommu.txt": "no statement says that the tensors are copies",
    "server-log/dgx-spark-vllm-versuch1.log": "it ends before anything goes wrong, and nobody says what did",
}
"""Why the other faulty samples have no such fact."""

pytestmark = pytest.mark.skipif(not LISTED, reason="the samples are not at hand")


@cache
def reading(path: str):
    opened = open_evidence([str(SAMPLES / path)])
    accounts, readings = read_all(opened.files)
    return opened, accounts, [*readings, *combine(readings), *opened.unread]


@pytest.mark.parametrize("path", [path for path, _ in LISTED])
def test_every_sample_is_read_or_says_why_not(path):
    """At least one fact, or a reason for each file."""
    try:
        _, accounts, _ = reading(path)
    except InputError as error:
        assert str(error) != ""  # noqa: PT017
        return

    assert [one.path for one in accounts if not one.facts and not one.readers and not one.why_unread] == []


@pytest.mark.parametrize("path", [path for path, health in LISTED if health == "healthy"])
def test_no_healthy_sample_is_accused(path):
    """Nobody loses a night over a machine that works."""
    diagnosis = assess(rule_base(), reading(path)[2])

    assert [f.cause.cause for f in diagnosis.findings if f.cause.kind == "fault" and f.confidence >= ACCUSES] == []


def test_every_faulty_sample_is_accounted_for():
    """By the fact that shows what is wrong, or by the reason why none does."""
    faulty = {path for path, health in LISTED if health == "faulty"}

    assert {*SHOWN, *SHOWS_NOTHING} == faulty
    assert SHOWN.keys() & SHOWS_NOTHING.keys() == set()


@pytest.mark.parametrize("path", SHOWN)
def test_a_faulty_sample_shows_what_is_wrong(path):
    """The fact behind the known diagnosis is read."""
    kind, fields = SHOWN[path]
    facts = [one.fact for one in reading(path)[2] if isinstance(one, Observed) and one.fact.kind == kind]

    assert [fact for fact in facts if all(getattr(fact, name) == value for name, value in fields.items())] != []
