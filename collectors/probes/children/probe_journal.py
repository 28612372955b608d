"""The journal of a probe: JSON objects, one a line, each on the disk before what it announces begins.

Scripts of this folder run in the Python of the job, which may be as old as 3.8 and knows nothing of this program:
they import the standard library, torch and each other. The first argument is what is asked of them, as JSON; the
journal is open already, on the descriptor that it names.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import contextmanager, suppress
from typing import Any, Callable, Iterator


class Cannot(Exception):  # noqa: N818 - not an error: the machine has not what the probe needs
    """The probe has nothing to do here; the text says why."""


class Ended(Exception):  # noqa: N818 - named by what happened
    """A process of the probe ended before its work was done: by that signal, or with that status."""

    def __init__(self, who: str, code: int) -> None:
        super().__init__(f"{who} ended " + (f"by signal {-code}" if code < 0 else f"with status {code}"))
        self.signal = -code if code < 0 else None


class Journal:
    """What a probe was asked, and the file in which it says what it is about to do and what came of it."""

    def __init__(self, **who: Any) -> None:
        self.asked: dict[str, Any] = json.loads(sys.argv[1])
        self.descriptor: int = self.asked["journal"]
        self._who = who

    def note(self, event: str, /, **said: Any) -> None:
        """Writes one line and waits until it is on the disk. Processes that share a journal append whole lines."""
        line = json.dumps({"diagnose_probe": self.asked["probe"], "event": event, **self._who, **said})
        os.write(self.descriptor, line.encode() + b"\n")
        with suppress(OSError):  # a file system without it: what can be done is done
            os.fsync(self.descriptor)

    @contextmanager
    def step(self, name: str, limit_s: float, /, **where: Any) -> Iterator[dict[str, Any]]:
        """Notes that a step begins, and that it ended with what was put into the dictionary, or failed.

        Whoever watches ends the probe where no line follows within `limit_s` seconds.
        """
        found: dict[str, Any] = {}
        self.note("begin", step=name, **where, limit_s=limit_s)
        try:
            yield found
        except Cannot:
            raise
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"[:600], "signal": getattr(error, "signal", None)}
            self.note("fail", step=name, **where, **{key: value for key, value in said.items() if value})
            raise
        self.note("end", step=name, **where, **found)

    def run(self, work: Callable[[Journal], None]) -> None:
        """Does the work, notes that it is done or what it lacks, and ends the process.

        It ends at once: libraries that hang while they are taken down would turn a result into a hang.
        """
        self.note("started", pid=os.getpid())
        status = 0
        try:
            work(self)
            self.note("done")
        except Cannot as why:
            self.note("cannot", why=str(why))
        except Ended as error:
            print(error, file=sys.stderr)
            status = 1
        except Exception:  # noqa: BLE001 - the end of the program
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def import_torch(journal: Journal) -> Any:
    """torch, imported in a step of its own. Cannot where this Python has none."""
    with journal.step("start", journal.asked["start_s"]) as found:
        try:
            import torch
        except ImportError as error:
            raise Cannot(
                f"{sys.executable} can't import torch ({error}); name the job's Python with --python"
            ) from None
        found["torch"] = torch.__version__
        found["cuda"] = torch.version.cuda
        return torch


def salt_of(journal: Journal, *parts: Any) -> int:
    """A number of 32 bits for one copy: differs with each part, and from run to run."""
    from zlib import crc32

    return crc32(":".join(str(part) for part in (journal.asked["nonce"], *parts)).encode())
