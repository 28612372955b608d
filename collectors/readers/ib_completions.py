"""What the statuses of InfiniBand completions mean: `enum ibv_wc_status` of rdma-core. No reader."""

from __future__ import annotations

from kb.facts.nccl_failures import CompletionClass

CLASSES: dict[int, CompletionClass] = {
    1: "local-length",
    2: "local-operation",
    4: "local-protection",
    5: "flushed",
    6: "local-operation",
    7: "local-operation",
    8: "local-access",
    9: "remote-invalid-request",
    10: "remote-access",
    11: "remote-operation",
    12: "retry-exceeded",
    13: "rnr-retry-exceeded",
}
"""Any other status is `other`."""


def completion_class(status: int) -> CompletionClass:
    """The class of a completion by its status."""
    return CLASSES.get(status, "other")
