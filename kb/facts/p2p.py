"""Facts on direct access between GPUs. Offered, fast and correct are three different things."""

from typing import ClassVar, Literal

from pydantic import computed_field

from kb.facts.base import Fact
from kb.gpu_models import Architecture, Tier, gpu_model


class PeerAccess(Fact):
    """Whether the driver offers peer access between two GPUs. Says nothing on the data."""

    kind: ClassVar[str] = "peer_access"

    src: int
    dst: int
    offered: bool
    status: str | None = None
    """As nvidia-smi topo -p2p prints it: OK, CNS, GNS, TNS, NS, DR, U."""
    reported_by: Literal["topo-p2p", "p2p-tool", "torch", "nccl", "other"] = "other"
    model: str | None = None
    """Of the GPU `src`, where the tool names it."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def architecture(self) -> Architecture | None:
        """Of the GPU `src`, by its name."""
        model = gpu_model(self.model) if self.model else None
        return model.architecture if model else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tier(self) -> Tier | None:
        """For which market the GPU `src` is made, by its name."""
        model = gpu_model(self.model) if self.model else None
        return model.tier if model else None


class PeerCopy(Fact):
    """A copy between two GPUs whose data was checked."""

    kind: ClassVar[str] = "peer_copy"

    src: int
    dst: int
    data: Literal["right", "wrong", "hung"]
    route: Literal["peer", "staged"] = "peer"
    """Staged: through host memory, for contrast."""
    elements: int | None = None
    wrong: int | None = None
    """Elements that differ."""
    reads: str | None = None
    """What the destination held instead, where the tool says so: `0.0`."""
    way: Literal["host", "no-access", "copy", "kernel", "ipc-read", "ipc-write"] | None = None
    """By the probe of this program. Staged: `host` by the program, `no-access` by the driver with peer access off.
    Direct: `copy` by a copy engine, `kernel` by the cores of a GPU, `ipc-…` in memory lent by another process."""
    first_wrong: int | None = None
    """Offset of the first element that differs, in elements."""


class TensorMove(Fact):
    """Code, or a line of a log, that moves a tensor from one GPU to another and shows no values."""

    kind: ClassVar[str] = "tensor_move"

    dst: int
    src: int | None = None


class TensorPair(Fact):
    """Two tensors of one shape that a program printed one after the other, of which the second lost all values.

    That the second is a copy of the first is not in this text.
    """

    kind: ClassVar[str] = "tensor_pair"

    src: int
    dst: int
    elements: int
    reads: str | None = None


class DirectCopiesGain(Fact):
    """One test of NCCL that passed with direct copies between the GPUs and without them (NCCL_P2P_DISABLE=1)."""

    kind: ClassVar[str] = "direct_copies_gain"

    with_gbps: float
    """Bus bandwidth of the largest size, in thousand million bytes a second."""
    without_gbps: float
    effect: Literal["faster", "same", "slower"]
    """What direct copies do to it; `same` within 30 %."""
    job_is_without: bool = False
    """NCCL_P2P_DISABLE=1 is also said in another file than the test's, so it isn't only the test's own."""


class TopologyLink(Fact):
    """How two devices are connected, as nvidia-smi topo -m prints it."""

    kind: ClassVar[str] = "topology_link"

    src: str
    """GPU0, NIC1."""
    dst: str
    link: str
    """PIX, PXB, PHB, NODE, SYS, or NV followed by the number of NVLinks."""


class GpuInterconnect(Fact):
    """The links among all GPUs of one topology matrix together."""

    kind: ClassVar[str] = "gpu_interconnect"

    gpus: int
    nvlink: Literal["all", "some", "none"]
    farthest: str
    """Worst link among GPU pairs that are not on NVLink, in the order PIX, PXB, PHB, NODE, SYS; else NV."""
