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
