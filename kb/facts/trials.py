"""Facts on what was tried."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

Change: TypeAlias = Literal["direct-copies-off", "custom-all-reduce-off", "module-reload"]


class Trial(Fact):
    """A change with which all went well, by a command and its output."""

    kind: ClassVar[str] = "trial"

    change: Change
    """`direct-copies-off`: NCCL_P2P_DISABLE=1. `module-reload`: the NVIDIA modules taken out and loaded again."""
