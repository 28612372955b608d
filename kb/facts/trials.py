"""Facts on what was tried."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

Change: TypeAlias = Literal["direct-copies-off", "custom-all-reduce-off", "module-reload"]


class Trial(Fact):
    """A change with which all went well, by a command and its output."""

    kind: ClassVar[str] = "trial"

    change: Change
    """`direct-copies-off`: NCCL_P2P_DISABLE=1. `module-reload`: the NVIDIA modules taken out and loaded again."""


class RunNumbers(Fact):
    """Whether the losses that one run of a program printed are numbers, by its command and its output."""

    kind: ClassVar[str] = "run_numbers"

    program: str
    """Without its folder: `train.py`."""
    numbers: Literal["nan", "finite"]
    direct_copies_off: bool | None = None
    """NCCL_P2P_DISABLE=1 stands before the command."""
    gpus: int | None = None
    """As the command asks for them, by --gpus, --num_gpus, --nproc-per-node and the like."""
