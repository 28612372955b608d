"""What the running NVIDIA modules complain of without an Xid: GPUs lost, firmware silent, a reset that is due.

    NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.
    NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from …
    nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing

Follows drivers from 260 on, src/nvidia/src/kernel/gpu/gsp/kernel_gsp.c, osinit.c, nv.c, nv-pci.c, nv-dmabuf.c and nvidia-peermem.c of
NVIDIA/open-gpu-kernel-modules 515-595, and NVIDIA/gdrcopy. Other lines give nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.module_load import DriverTrouble, Trouble

_GPU = rf"(?:GPU (?P<bdf>{BDF}): )?"
_NUMBER = r"(?:GPU(?P<gpu>\d{1,3}) )?"
_NAME = rf"{_NUMBER}(?:\w{{1,60}}: )?"


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    problem: Trouble


def _form(pattern: str, problem: Trouble) -> _Form:
    return _Form(regex(pattern), problem)


_FORMS = (
    _form(rf"NVRM: GPU (?P<bdf>{BDF}): GPU has fallen off the bus", "fell-off-bus"),
    _form(rf"NVRM: GPU at (?:PCI:)?(?P<bdf>{BDF}) has fallen off the bus", "fell-off-bus"),
    _form(
        r"NVRM: Rate limiting GSP RPC error prints for GPU at "
        r"(?:PCI:)?(?P<bdf>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}) .{0,60}The GPU likely needs to be reset",
        "needs-reset",
    ),
    _form(r"NVRM: .{0,160}\(the GPU is likely in a bad state and may need to be reset\)", "needs-reset"),
    _form(rf"NVRM: {_NAME}(?:Assertion failed: )?(?:[^@\[]{{0,100}})GPU marked for reset\b", "marked-for-reset"),
    _form(r"NVRM: .{0,200}\[NV_ERR_RESET_REQUIRED\]", "reset-required"),
    _form(r"NVRM: .{0,200}\[NV_ERR_GPU_IS_LOST\]", "gpu-lost"),
    _form(rf"NVRM: {_NUMBER}_issueRpcAndWait: rpcRecvPoll timedout for fn \d{{1,6}}", "gsp-timeout"),
    _form(rf"NVRM: {_NUMBER}_kgspLog(?:RpcTimeout|Xid119): \*{{8,40}} GSP Timeout \*{{8,40}}", "gsp-timeout"),
    _form(rf"NVRM: {_NUMBER}_kgspLogRpcTimeout\b", "gsp-timeout"),
    _form(rf"NVRM: {_NAME}(?:GSP RM |LibOS )?[Hh]eartbeat timed out\b", "gsp-heartbeat"),
    _form(rf"NVRM: {_NAME}={{8,40}} GSP(?: core|-RM) unresponsive ={{8,40}}", "gsp-unresponsive"),
    _form(r"NVRM: .{0,200}Out of memory \[NV_ERR_NO_MEMORY\]", "out-of-memory"),
    _form(rf"NVRM: {_GPU}(?:dma-buf attach failed: )?PCI topology not supported for dma-buf", "dma-buf-topology"),
    _form(rf"NVRM: {_GPU}dma-buf attach failed: (?:PCI )?topology not supported", "dma-buf-topology"),
    _form(r"nvidia-peermem \w{1,60}:\d{1,5} ERROR detected invalid context", "peermem-invalid-context"),
    _form(
        r"nvidia-peermem \w{1,60}:\d{1,5} ERROR error -?\d{1,4} while calling nvidia_p2p_get_pages",
        "peermem-get-pages",
    ),
    _form(
        r"gdrdrv:.{0,80}(?:No address space left for BAR1|nvidia_p2p_get_pages\(.{0,120}\) failed)",
        "bar1-exhausted",
    ),
    _form(rf"NVRM: {_GPU}Failed to enable MSI[^;]{{0,40}}; falling back to PCIe", "msi-fallback"),
    _form(
        rf"NVRM: {_GPU}(?:PreserveVideoMemoryAllocations module parameter is set\. )?"
        r"System Power Management attempted without driver procfs suspend interface",
        "suspend-without-procfs",
    ),
    _form(r"(?:nvidia-uvm: .{0,160}|\buvm )[Ee]ncountered (?:a )?global fatal error", "uvm-fatal"),
    _form(r"nvidia-uvm: .{0,160}Failed to initialize Confidential Compute", "confidential-computing"),
    _form(rf"NVRM: {_NAME}Cannot boot Confidential Compute", "confidential-computing"),
    _form(
        rf"NVRM: {_NAME}GPU (?:confidential compute capability is not enabled"
        r"|does not support confidential compute)",
        "confidential-mode-off",
    ),
    _form(rf"NVRM: {_NAME}CPU does not support confidential compute", "confidential-computing"),
    _form(rf"NVRM: Attempting to remove device (?P<bdf>{BDF}) with non-zero usage count", "device-removed-in-use"),
)
_MARKERS = (
    *(" has fallen off the bus", "likely needs to be reset", "may need to be reset", "GPU marked for reset"),
    *("NV_ERR_RESET_REQUIRED", "NV_ERR_GPU_IS_LOST", "rpcRecvPoll timedout", "GSP Timeout", "_kgspLogRpcTimeout"),
    *("eartbeat timed out", " unresponsive =", "NV_ERR_NO_MEMORY", "topology not supported", "nvidia-peermem nv"),
    *("gdrdrv:", "Failed to enable MSI", "procfs suspend interface", "Confidential Compute"),
    *("confidential compute capability is not", "does not support confidential compute"),
    *("with non-zero usage count", "global fatal error"),
)


def read(section: Section) -> Iterator[Reading]:
    """DriverTrouble for each complaint and GPU."""
    log = KernelLog(section)
    sums: Sums[tuple[Trouble, str | None, int | None]] = Sums(log)
    for line in log.lines(*_MARKERS):
        for pattern, problem in _FORMS:
            match = pattern.search(line.text)
            if match and line.by_kernel(match.start()):
                named = match.groupdict()
                bdf, gpu = named.get("bdf"), named.get("gpu")
                sums.add((problem, bdf.lower() if bdf else None, int(gpu) if gpu else None), line, match.start())
                break
    found = False
    for (problem, bdf, gpu_number), sum_ in sums:
        found = True
        fact = DriverTrouble(
            problem=problem,
            bdf=bdf,
            gpu=gpu_number,
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
            last_s=sum_.last.at_s if sum_.count > 1 else None,
        )
        yield section.observe(fact, sum_.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, DriverTrouble, whole=whole)


READER = Reader("driver-trouble", read, markers=(*_MARKERS, *LOG_MARKERS), commands=_kernel_log.COMMANDS)
