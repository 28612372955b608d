"""Facts on what people say that they tried."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

Change: TypeAlias = Literal[
    "direct-copies-off",
    "custom-all-reduce-off",
    "access-control-off",
    "iommu-off",
    "gid-index-set",
    "nvls-off",
    "reboot",
    "module-reload",
    "device-plugin-restart",
    "hmm-off",
]


class Trial(Fact):
    """A change that a person tried, and whether it helped, in their own words: hearsay, never a proof."""

    kind: ClassVar[str] = "trial"

    change: Change
    """`direct-copies-off`: NCCL_P2P_DISABLE=1. `iommu-off`: off or passthrough. `module-reload`: the NVIDIA
    modules taken out and loaded again. `hmm-off`: heterogeneous memory management switched off in nvidia-uvm."""
    helped: bool


class HangNote(Fact):
    """A person's note below a log, that nothing more came: hearsay."""

    kind: ClassVar[str] = "hang_note"

    text: str
