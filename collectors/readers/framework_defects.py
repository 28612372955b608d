"""Lines by which known defects of frameworks show themselves, and releases of frameworks as their logs name them.

    ImportError: cannot import name 'log' from 'torch.distributed.elastic.agent.server.api' (/opt/conda/lib/…
    INFO 01-31 12:00:00 [api_server.py:1287] vLLM API server version 0.9.1
    [2025-01-31 12:00:00,411] [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.14.0, git-hash=…

Follows vLLM 0.2 to 0.20, DeepSpeed 0.8 to 0.16, TensorRT-LLM 0.8 to 1.1 and the catalogue of defects. A line
counts where an exception, or
its source line in a traceback, holds the text; a sentence that quotes it gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.problems import DefectLine, FrameworkVersion
from kb.framework_defects import catalogue

_SAID = regex(
    r"(?:E {1,8})?(?:[\w.]{1,120}(?:Error|Exception|Exit|IsEnabled): |\s{2,12}(?:assert\b|s\.connect\(\())"
    r"|\S{1,200}:\d{1,10}:\d{1,10} \[\d{1,4}\] \S{1,80} NCCL WARN "
    r"|Error executing \w{1,80} with args "
)
_VERSION = r"(?P<version>\d{1,3}\.\d{1,3}[\w.]{0,30})"
_VERSIONS = (
    ("vllm", regex(rf"vLLM (?:OpenAI )?API server version {_VERSION}")),
    ("vllm", regex(rf"Initializing an? (?:V1 )?LLM engine \(v{_VERSION}\)")),
    ("tensorrt-llm", regex(rf"\[TensorRT-LLM\] TensorRT-LLM version: {_VERSION}")),
    ("deepspeed", regex(rf"(?:\[Rank -?\d{{1,6}}\] )?DeepSpeed info: version={_VERSION}")),
)
_VERSION_MARKERS = ("API server version", "LLM engine (v", "DeepSpeed info: version=", "TensorRT-LLM version: ")
_MARKERS = tuple(part for entry in catalogue() for part in entry.lines)


def read(section: Section) -> Iterator[Reading]:
    """DefectLine for each entry that some line fits, and FrameworkVersion for each release that is named."""
    counts: dict[str, tuple[int, int, str]] = {}
    versions: dict[tuple[str, str], int] = {}
    for index, whole in section.matching(*_MARKERS, *_VERSION_MARKERS):
        text = without_stamp(without_launcher(after_progress(whole)).text).text[:MOST_COLUMNS]
        for package, form in _VERSIONS:
            match = form.match(text.lstrip())
            if match is not None:
                versions.setdefault((package, match["version"]), index)
        if _SAID.match(text) is None:
            continue
        for entry in catalogue():
            if entry.describes(text):
                first, count, said = counts.get(entry.id, (index, 0, text.strip()[:300]))
                counts[entry.id] = first, count + 1, said
                break
    for (package, version), index in versions.items():
        yield section.observe(FrameworkVersion(package=package, version=version), index)
    for id_, (first, count, said) in counts.items():
        yield section.observe(DefectLine(id=id_, text=said, count=count), first)
    if counts:
        yield section.looked(DefectLine)
    if versions:
        yield section.looked(FrameworkVersion)


READER = Reader("framework-defects", read, markers=(*_MARKERS, *_VERSION_MARKERS))
