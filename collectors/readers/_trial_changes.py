"""What a command line changes for a trial, where it changes one thing only. No reader."""

from __future__ import annotations

from collectors.readers._regex import regex
from kb.facts.trials import Change

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


def only_change(command: str) -> Change | None:
    """The one change that a command line makes; None for none, and where others are made with it."""
    changes = [change for change, form in _BY_ALONE if form.search(command)]
    return changes[0] if len(changes) == 1 and not _OTHER.search(command) else None
