"""Facts on the processes of a job as the kernel shows them from outside."""

from typing import ClassVar

from kb.facts.base import Fact


class JobProcess(Fact):
    """One process: where it lives and what it is connected to."""

    kind: ClassVar[str] = "job_process"

    pid: int
    program: str | None = None
    """The file that it runs."""
    ipc_namespace: str | None = None
    """Processes of one machine with different numbers share no System V memory and no /dev/shm by default."""
    pid_namespace: str | None = None
    net_namespace: str | None = None
    mount_namespace: str | None = None
    gpus: str | None = None
    """The device files of GPUs that it holds, by number, `0, 1`."""
    memory_devices: bool | None = None
    """It holds /dev/nvidia-uvm, as every process that started CUDA does."""
    connecting_to: str | None = None
    """The peer of a connection that is not answered, `10.0.0.3:43210`."""
    connections: int | None = None
    """Connections that stand, those within the machine included."""


class DeviceHolder(Fact):
    """A process that holds the device file of a GPU open, whether or not a tool of the driver lists it."""

    kind: ClassVar[str] = "device_holder"

    gpu: int
    """The number in the device file's name."""
    pid: int
    program: str | None = None
    user: str | None = None


class OrphanProcess(Fact):
    """A process of a job whose parent has ended, so that init is its parent now."""

    kind: ClassVar[str] = "orphan_process"

    pid: int
    command: str
    started: str | None = None
    """As printed."""
