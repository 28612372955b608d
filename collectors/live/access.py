"""Whether our process may use the device files of GPUs: what the kernel would answer, without opening them.

Opening one may start a GPU, and hangs with a driver that does. access(2) asks for mode, owner and the device
cgroup of either version and stops there, so that EPERM tells of a cgroup and EACCES of the mode.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from collectors.live.places import DEVICE_FILES
from collectors.live.report import report
from collectors.live.tree import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from collectors.live.tree import Tree

_NOTE = "asked for this process; the device filter of another cgroup, such as a container's, may say otherwise"


def device_access(tree: Tree) -> Iterator[str]:
    """A line of strace for each device file; where there is none, FileNotFoundError."""
    ask = _asker()
    paths = [path for pattern in DEVICE_FILES for path in matching(tree, pattern)]
    paths = [path for path in paths if not os.path.isdir(tree.real(path))]  # noqa: PTH112 - a text
    if not paths:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), DEVICE_FILES[0])
    report(note=_NOTE)
    for path in paths:
        code = ask(tree.real(path))
        call = f'access("{path}", R_OK|W_OK)'
        says = f"-1 {errno.errorcode.get(code, code)} ({os.strerror(code)})" if code else "0"
        yield f"{call:<40}= {says}"


def _asker() -> Callable[[str], int]:
    """A function from a path to the error number of access(2). Raises OSError where Python can't call it.

    os.access tells whether, and not why not.
    """
    try:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
    except ImportError as error:
        raise OSError(errno.ENOSYS, "this Python has no ctypes, without which it can't be told why") from error

    def ask(path: str) -> int:
        return ctypes.get_errno() if library.access(os.fsencode(path), os.R_OK | os.W_OK) else 0

    return ask
