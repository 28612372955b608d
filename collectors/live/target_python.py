"""Run by the Python of the job, by its text alone: which PyTorch, NCCL and CUDA libraries it has and would load.

Standard library only, Python 3.6 and newer. It prints what it knows at once, the surest first, because it may be
ended at any moment, and never starts CUDA: PyTorch is imported last, with no GPU in sight, for what only its
own code tells.
"""

import ctypes
import os
import platform
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

os.environ["CUDA_VISIBLE_DEVICES"] = ""

OF_THE_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
OF_PROGRAMS = ("libnccl.so.2", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0")
MAPPED = re.compile(r"/lib(?:cuda|cudart|nvidia-ml|nccl|nccl-net|cudnn|cublas|nvrtc)[-\w]*\.so[.\d]*$")
PACKAGE = re.compile(r"([A-Za-z0-9][\w.]*)-(\d[\w.!+]*?)(?:-py\d[\w.]*)?\.(?:dist|egg)-info$")
HOOKS = ("sitecustomize", "usercustomize")
HOOK_BYTES = 64 * 1024


def say(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def guarded(part: "Callable[[], None]") -> None:
    """Whatever one part meets, the others are printed."""
    try:
        part()
    except Exception as error:
        sys.stderr.write(f"{part.__name__}: {type(error).__name__}: {error}\n")


def folders() -> "list[str]":
    """Where packages lie, in the order in which Python looks."""
    return [path for path in dict.fromkeys(sys.path) if path and os.path.isdir(path)]


def has_torch() -> bool:
    """Whether PyTorch is installed."""
    return any(os.path.isdir(os.path.join(folder, "torch")) for folder in folders())


def torch_build() -> None:
    """What PyTorch says of itself in its own file, without being imported."""
    for folder in folders():
        path = os.path.join(folder, "torch", "version.py")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read(16384)
            values = dict(
                re.findall(r"^(__version__|cuda|hip)\s*(?::[^=\n]*)?=\s*'([^'\n]*)'", text, re.MULTILINE)
            )
            say(f"$ cat {path}")
            say("PyTorch version: " + values.get("__version__", "N/A"))
            say("CUDA used to build PyTorch: " + values.get("cuda", "None"))
            say("ROCM used to build PyTorch: " + values.get("hip", "N/A"))
            return


def packages() -> None:
    """The installed packages, from the names of their folders; the first of a name is the one that counts."""
    found = {}  # type: dict[str, str]
    for folder in folders():
        for name in sorted(os.listdir(folder)):
            match = PACKAGE.match(name)
            if match:
                found.setdefault(match.group(1).replace("_", "-").lower(), match.group(2))
    say("$ pip freeze")
    for name, version in sorted(found.items()):
        say(f"{name}=={version}")


def hooks() -> None:
    """What runs at the start of every Python here."""
    for name in HOOKS:
        for folder in folders():
            path = os.path.join(folder, name + ".py")
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read(HOOK_BYTES)
                say(f"$ cat {path}")
                say(text.rstrip("\n"))
                break


def libraries() -> None:
    """What the loader chooses for each library, by letting it load it; loading libcuda does not start CUDA.

    PyTorch brings its own NCCL and CUDA runtime: which those are shows once it is imported.
    """
    say("$ ldd")
    for name in OF_THE_DRIVER + (() if has_torch() else OF_PROGRAMS):
        before = set(mapped())
        try:
            ctypes.CDLL(name)
        except OSError:
            say(f"\t{name} => not found")
            continue
        stem = name.partition(".so")[0]
        paths = [path for path in mapped() if os.path.basename(path).startswith(stem + ".so")]
        new = [path for path in paths if path not in before] or paths
        say(f"\t{name} => {new[0]} (0x0000000000000000)" if new else f"\t{name} => not found")


def nccl_version(code: int) -> str:
    """`2.20.5` of the number that NCCL or PyTorch makes of it."""
    if code > 1 << 20:  # PyTorch's own: major, minor and patch in 32, 16 and 16 bits
        return f"{code >> 32}.{code >> 16 & 0xFFFF}.{code & 0xFFFF}"
    major = 10000 if code >= 10000 else 1000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def mapped() -> "list[str]":
    """The libraries of interest in this process, in the order of their addresses."""
    with open("/proc/self/maps") as file:
        paths = [line[line.find("/") :].rstrip("\n") for line in file if "/" in line]
    return [path for path in dict.fromkeys(paths) if MAPPED.search(path)]


def imported_torch() -> None:
    """What only PyTorch's code tells: its architectures, its NCCL, and the libraries that it brings."""
    if not has_torch():
        return
    import torch

    say("$ python3 -m torch.utils.collect_env")
    say(f"PyTorch version: {torch.__version__}")
    say(f"CUDA used to build PyTorch: {torch.version.cuda}")
    hip = torch.version.hip or "N/A"
    say(f"ROCM used to build PyTorch: {hip}")
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    archs = flags() if flags is not None else None
    if archs:
        say(f"CUDA architectures of PyTorch: {archs}")
    nccl = getattr(torch._C, "_nccl_version", None)
    if nccl is not None:
        say("NCCL of PyTorch: " + nccl_version(nccl()))
    say("$ cat /proc/self/maps")
    with open("/proc/self/maps") as file:
        seen = set()
        for line in file:
            path = line[line.find("/") :].rstrip("\n")
            if "/" in line and path not in seen and MAPPED.search(path):
                seen.add(path)
                say(line.rstrip("\n"))


say(f"$ {sys.executable} --version")
say("Python " + platform.python_version())
for one in (torch_build, packages, hooks, libraries, imported_torch):
    guarded(one)
