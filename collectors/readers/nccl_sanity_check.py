"""What the check of the communication says that vLLM's page on debugging gives: a line from each rank that got on.

    PyTorch NCCL is successful!
    vLLM NCCL with cuda graph is successful!

Follows docs/usage/troubleshooting.md of vLLM 0.4 to 0.33. It compares what it reduced, so each line stands for
right data; how many ranks there are is not in it, so lines that are missing are not missed.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_tools import NcclTestResult

_MARKER = "NCCL is successful!"
_PASSED = regex(r"(?:PyTorch|vLLM) NCCL is successful!")


def read(section: Section) -> Iterator[Reading]:
    """One result for the whole run."""
    for index, line in section.matching(_MARKER):
        if _PASSED.match(without_launcher(line[:400]).text.lstrip()):
            yield section.observe(NcclTestResult(outcome="passed", operation="all_reduce", checked=True), index)
            return


READER = Reader("nccl-sanity-check", read, markers=(_MARKER,))
