"""What a command line changes for a trial. No reader: shared by those of runs."""

from __future__ import annotations

from collectors.readers._regex import regex
from kb.facts.trials import Change

_DIRECT_COPIES_OFF = regex(r"\bNCCL_P2P_(?:DISABLE=[\"']?1\b|LEVEL=[\"']?(?:LOC|0)\b)")
_ALONE: tuple[tuple[Change, str], ...] = (
    ("nvls-off", r"\bNCCL_NVLS_ENABLE=[\"']?0\b"),
    ("cumem-off", r"\bNCCL_CUMEM_ENABLE=[\"']?0\b"),
    (
        "plugins-off",
        r"\bNCCL_NET_PLUGIN=[\"']?(?:none|\"\")(?=$|[\s\"'])|\bNCCL_NET=[\"']?(?:IB|Socket)\b",
    ),
    ("library-paths-off", r"(?:env|unset) (?:-u ?\w{1,40} )*(?:-u ?)?LD_(?:LIBRARY_PATH|PRELOAD)\b"),
)
_BY_ALONE = tuple((change, regex(form)) for change, form in _ALONE)
_OTHER = regex(r"\bNCCL_(?!DEBUG|SOCKET_IFNAME|IB_HCA|NVLS_ENABLE|CUMEM_ENABLE|NET\b|NET_PLUGIN)[A-Z0-9_]{3,40}=")


def without_direct_copies(command: str) -> bool:
    """Whether a command line keeps NCCL off direct copies between GPUs."""
    return _DIRECT_COPIES_OFF.search(command) is not None


def only_change(command: str) -> Change | None:
    """The one change that a command line makes; None for none, and where others are made with it."""
    changes = [change for change, form in _BY_ALONE if form.search(command)]
    return changes[0] if len(changes) == 1 and not _OTHER.search(command) else None
