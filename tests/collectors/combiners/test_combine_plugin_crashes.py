"""A crash inside a plugin of NCCL is a failure of that plugin; one elsewhere is not."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.kernel import ProcessCrash
from kb.facts.nccl_run import NcclPlugin
from kb.facts.stacks import CrashTrace

NET = "libnccl-net.so"
CASES = {
    "a frame of the plugin": (CrashTrace(signal="SIGSEGV", tool="mpi", frames="p_init", library=NET), ["net"]),
    "called by NCCL's adapter": (
        CrashTrace(signal="SIGSEGV", tool="gdb", frames="p_init < ncclNet_v6_as_v7_init < netGetState"),
        ["net"],
    ),
    "a tuner": (CrashTrace(signal="SIGBUS", tool="gdb", frames="f", library="libnccl-tuner.so"), ["tuner"]),
    "the kernel's word": (ProcessCrash(process="python", pid=7, crash="segfault", library=NET), ["net"]),
    "of an earlier boot": (
        ProcessCrash(process="python", pid=7, crash="segfault", library=NET, boot="earlier"),
        [],
    ),
    "in NCCL itself": (CrashTrace(signal="SIGSEGV", tool="gdb", frames="f", library="libnccl.so.2"), []),
    "in the adapter": (CrashTrace(signal="SIGSEGV", tool="gdb", frames="ncclNet_v6_as_v7_init < f"), []),
}


@pytest.mark.parametrize(("crash", "parts"), CASES.values(), ids=CASES)
def test_what_crashed(crash, parts):
    """The part of the plugin is told, once."""
    found = combined(NcclPlugin, crash, crash)

    assert [(one.part, one.problem) for one in found] == [(part, "crashed") for part in parts]
