"""Where the tensors of a few lines of PyTorch code lie, and by which way they came there. No reader.

Only what moves or makes tensors plainly is followed: literals, `.to(…)`, `.cuda(…)`, `.cpu()` and names. Anything
else makes a name unknown. Nothing is ever executed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from collectors.readers._regex import regex

Route = Literal["peer", "staged"]
NAME = r"[A-Za-z_]\w{0,40}"
_ASSIGNED = regex(rf"(?P<name>{NAME})\s{{0,4}}=(?!=)\s{{0,4}}(?P<value>\S.{{0,300}})")
_MADE = regex(r"torch\.(?P<how>[A-Za-z_]{2,20})\((?P<inside>.{0,200}?)\)(?=$|\.)")
_DEVICE_OF = regex(r",\s{0,4}device\s{0,2}=\s{0,2}(?P<device>[^,()]{1,40}(?:\([^()]{1,30}\))?)")
_LIST = regex(r"\[[\d\[\].,eE+\s-]{0,300}\]")
_CALL = regex(rf"\.(?P<method>{NAME})\((?P<inside>[^()]{{0,60}}(?:\([^()]{{0,40}}\)[^()]{{0,40}})?)\)")
_CUDA = regex(r"(?:torch\.device\()?f?['\"]?(?:cuda:)?(?P<gpu>\d{1,3})['\"]?\)?$")
_ALIKE = frozenset({"clone", "detach", "contiguous", "float", "double", "half", "bfloat16", "long", "int"})
_MAKERS = frozenset(
    {
        "tensor",
        "Tensor",
        "FloatTensor",
        "ones",
        "rand",
        "randn",
        "zeros",
        "empty",
        "arange",
        "full",
        "randint",
        "linspace",
    }
)


@dataclass(eq=False)
class Root:
    """The values that a tensor was made with, once they are known."""

    values: list[float] | None = None


@dataclass(frozen=True)
class Tensor:
    """A tensor: where it lies (None: in host memory), and the last way between two GPUs that its values went.

    After more than one such way nothing tells which of them harmed it.
    """

    root: Root
    gpu: int | None
    came_from: int | None = None
    route: Route | None = None
    last_gpu: int | None = None
    hops: int = 0

    def moved(self, gpu: int | None) -> Tensor:
        """The same values on another device."""
        if gpu is None:
            return replace(self, gpu=None)
        source = self.last_gpu
        if source is None or source == gpu:
            return replace(self, gpu=gpu, last_gpu=gpu)
        route: Route = "staged" if self.gpu is None else "peer"
        return replace(self, gpu=gpu, came_from=source, route=route, last_gpu=gpu, hops=self.hops + 1)


@dataclass
class Names:
    """What the names of a piece of code stand for."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    devices: dict[str, int | None] = field(default_factory=dict)
    unknown_moves: list[int] = field(default_factory=list)
    """GPUs to which something was moved of which nothing is known."""

    def take(self, code: str) -> None:
        """An assignment: the name becomes known, or unknown."""
        match = _ASSIGNED.match(code)
        if match is None:
            return
        name, value = match["name"], match["value"].strip()
        device = self.device(value, bare=False)
        tensor = self.tensor(value) if device == "no" else None
        self.tensors.pop(name, None)
        self.devices.pop(name, None)
        if device != "no":
            self.devices[name] = device
        elif tensor is not None:
            self.tensors[name] = tensor

    def device(self, text: str, *, bare: bool = True) -> int | Literal["no"] | None:
        """The GPU that a device expression names, None for the host."""
        text = text.strip()
        if re.fullmatch(r"(?:torch\.device\()?['\"]cpu['\"]\)?", text):
            return None
        if re.fullmatch(r"(?:torch\.device\()?['\"]cuda['\"]\)?", text):
            return 0
        if text in self.devices:
            return self.devices[text]
        match = _CUDA.match(text)
        if match is None or not (bare or "cuda" in text or "torch.device(" in text):
            return "no"
        return int(match["gpu"])

    def tensor(self, text: str) -> Tensor | None:
        """What an expression yields, as far as it only makes and moves."""
        made = _MADE.match(text)
        if made is not None:
            value, rest = self._made(made), text[made.end() :]
        else:
            name = re.match(NAME, text)
            if name is None:
                return None
            value, rest = self.tensors.get(name[0]), text[name.end() :]
        position = 0
        for call in _CALL.finditer(rest):
            if call.start() != position:
                break
            value, position = self._called(value, call["method"], call["inside"]), call.end()
        return value if position == len(rest) else None

    def _made(self, made: re.Match[str]) -> Tensor | None:
        if made["how"] not in _MAKERS:
            return None
        gpu: int | None = None
        if (named := _DEVICE_OF.search(made["inside"])) is not None:
            device = self.device(named["device"])
            if device == "no":
                return None
            gpu = device
        literal = _LIST.match(made["inside"].strip())
        values = numbers(literal[0]) if literal and made["how"].lower().endswith("tensor") else None
        return Tensor(Root(values), gpu, last_gpu=gpu)

    def _called(self, value: Tensor | None, method: str, inside: str) -> Tensor | None:
        if method == "cpu":
            return value.moved(None) if value else None
        if method in ("to", "cuda"):
            first = inside.split(",", maxsplit=1)[0]
            device = 0 if method == "cuda" and not inside.strip() else self.device(first)
            if device == "no":
                return None
            if value is None and device is not None:
                self.unknown_moves.append(device)
            return value.moved(device) if value else None
        return value if method in _ALIKE else None


def numbers(text: str) -> list[float] | None:
    """The numbers of a printed or written tensor; dots of an abridged one are left out."""
    try:
        return [float(word) for word in re.split(r"[\s,\[\]]+", text) if word and word != "..."]
    except ValueError:
        return None
