"""What a path below /dev means for GPUs and RDMA, and who may use a file of a given mode. No reader."""

from __future__ import annotations

import posixpath

from collectors.readers._regex import regex
from kb.facts.devices import AccessTo, NodeClass, OpenError

_GPU = regex(r"/dev/nvidia(\d{1,3})$")
_NAMED: dict[str, NodeClass] = {
    "/dev/nvidiactl": "control",
    "/dev/nvidia-uvm": "uvm",
    "/dev/nvidia-uvm-tools": "uvm-tools",
    "/dev/nvidia-modeset": "modeset",
    "/dev/nvidia-caps": "caps",
    "/dev/nvidia-nvlink": "nvlink",
    "/dev/dxg": "wsl",
    "/dev/infiniband": "infiniband",
    "/dev/nvidia-caps-imex-channels": "imex-channel",
}
_FOLDERS: tuple[tuple[str, NodeClass], ...] = (
    ("/dev/nvidia-caps-imex-channels/", "imex-channel"),
    ("/dev/nvidia-caps/", "caps"),
    ("/dev/infiniband/", "infiniband"),
    ("/dev/nvidia-nvswitch", "nvswitch"),
)
_BITS = {"r": 4, "w": 2, "x": 1, "s": 1, "t": 1}

# Without case; the texts of strerror(3) in English.
ERRORS: dict[str, OpenError] = {
    "operation not permitted": "not-permitted",
    "permission denied": "permission-denied",
    "no such file or directory": "absent",
    "no such device or address": "no-device",
    "no such device": "no-device",
    "device or resource busy": "busy",
    "input/output error": "io-error",
}


def node_class(path: str) -> NodeClass | None:
    """What the device file of this path is for; None for one that has nothing to do with GPUs or RDMA."""
    path = path.rstrip("/") or "/"
    if _GPU.match(path):
        return "gpu"
    named = _NAMED.get(path)
    if named:
        return named
    folder = next((name for start, name in _FOLDERS if path.startswith(start)), None)
    return folder or ("other" if path.startswith("/dev/nvidia") else None)


def gpu_minor(path: str) -> int | None:
    """The number of a GPU in the name of its device file."""
    match = _GPU.match(path)
    return int(match[1]) if match else None


def octal(letters: str) -> str:
    """The mode of nine letters, `rw-rw-rw-`, as four octal digits."""
    special = sum(
        bit for bit, place in ((4, 2), (2, 5), (1, 8)) if letters[place : place + 1] in {"s", "S", "t", "T"}
    )
    digits = [sum(_BITS.get(letter, 0) for letter in letters[at : at + 3]) for at in (0, 3, 6)]
    return f"{special}{digits[0]}{digits[1]}{digits[2]}"


def access(mode: str) -> AccessTo:
    """Who may read and write a file of this octal mode, the widest circle of them."""
    owner, group, others = (int(digit) & 6 == 6 for digit in mode[-3:])
    return "everyone" if others else "group" if group else "owner" if owner else "nobody"


def absolute(name: str, folder: str | None) -> str | None:
    """The path of a listed name, which may stand without its folder."""
    if name.startswith("/"):
        return posixpath.normpath(name)
    return posixpath.normpath(posixpath.join(folder, name)) if folder else None
