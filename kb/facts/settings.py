"""Facts on environment variables: who sets them, and which value wins."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

Origin: TypeAlias = Literal[
    "process", "launch", "sitecustomize", "nccl.conf", "shell-profile", "image", "service", "unknown"
]


class Setting(Fact):
    """One place that sets one variable."""

    kind: ClassVar[str] = "setting"

    name: str
    value: str
    origin: Origin
    """`process`: /proc/PID/environ, what holds; `launch`: given on the command line or in its env file."""
    mode: Literal["set", "default"] = "set"
    """`default` (os.environ.setdefault, ${X:-y}, nccl.conf) loses to whatever is set before."""


class EffectiveSetting(Fact):
    """The value that wins for one variable, combined from all settings and NCCL's own report."""

    kind: ClassVar[str] = "effective_setting"

    name: str
    value: str
    origin: Origin
    outranks: str | None = None
    """Origins whose other value lost, `sitecustomize`."""
    confirmed: bool = False
    """NCCL itself reported this value."""


DeviceChoice: TypeAlias = Literal[
    "none-named", "hides-all", "beyond", "unknown-uuid", "not-a-device", "repeats", "none"
]


class VisibleDevices(Fact):
    """What a variable that chooses GPUs comes to, against the GPUs that the driver lists; of all files."""

    kind: ClassVar[str] = "visible_devices"

    name: Literal["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"]
    value: str
    devices: int | None = None
    """How many it names, up to the first that is not there; None for `all`, or where nobody listed the GPUs."""
    present: int | None = None
    """GPUs that the driver lists: the most, where several listings differ."""
    problem: DeviceChoice = "none"
    """`none-named`: it is empty; `hides-all`: -1, none, void; `beyond`: its first number, or all of them, are
    higher than what is there; `unknown-uuid`: no GPU has that UUID; `not-a-device`: its first name is neither a
    number nor a UUID (`cuda:0`, `gpu0`), which CUDA can't read, so that no device is left."""
