"""What launchers and loggers put before a line: which process wrote it, which rank it is, and when.

Launchers: torchrun `[rank0]:` `[default0]:` `[0]:`, programs `[rank0] `, srun `0: `, mpirun `[1,0]<stderr>:`,
SageMaker `[1,mpirank:0,algo-1]<stderr>:`, Metaflow `2026-01-31 12:00:00.123 [177/train/578 (pid 7)] `,
docker compose `name-1  | `, kubectl `[pod/name/container] `, journald, pdsh `host-1: `, Ray
`(RayWorkerWrapper pid=7, ip=10.0.0.1) `, SkyPilot `(head, rank=0, pid=7) `, vLLM `(Worker_TP1 pid=7) `,
text-generation-inference ` INFO text_generation_launcher: `,
Monarch, which tells alike lines once, `[24 similar log lines] `.
People: backticks around a line or an item; `- `, `> ` or ` # -> ` before an exception.
Loggers: SGLang `[2026-01-31 12:00:00 TP0] `, vLLM `INFO 01-31 12:00:00 [core.py:70] `, c10d
`[E131 12:00:00.123 ProcessGroupNCCL.cpp:616] `, transformers `[INFO|trainer.py:2134] 2026-01-31 12:00:00,123 >> `,
accelerate, TensorRT-LLM, spdlog `[2026-01-31 12:00:00.123] [error] `, Airflow
`[2026-01-31, 12:00:00 UTC] {sub.py:9} INFO - `, Python logging. A line without any of them
is given back as it is. No reader: shared by the readers of logs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from collectors.readers._regex import regex

MOST_COLUMNS = 65_536
"""Of a longer line the first and the last half of this are looked at."""

_MOST_PREFIXES = 6

_LAUNCHER = regex(
    r"""
      \s?\[(?:rank|[a-z_-]{0,24})(?P<torchrun>\d{1,6})\]:[ ]?
    | \[rank(?P<program>\d{1,6})\][ ](?=\S)
    | \[\d{1,12}[ ]similar[ ]log[ ]lines\](?:\x1b?\[[0-9;]{1,8}m)?[ ]
    | \[(?:[\w.@-]{1,64}@)?\d{1,6},(?P<mpirun>\d{1,6})\]<std(?:out|err|diag)>:[ ]?
    | \[\d{1,6},mpirank:(?P<sagemaker>\d{1,6}),[\w.-]{1,64}\]<std(?:out|err)>:[ ]?
    | \d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d\.\d{3}[ ]\[[\w./-]{1,120}[ ]\(pid[ ](?P<metaflow>\d{1,10})\)\][ ]
        (?:\[[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\][ ])?
    | (?P<srun>\d{1,5}):[ ]
    | \((?P<worker>[A-Za-z_][\w.:]{0,63})?                                      # Ray, vLLM
        (?:,?[ ](?P<tag>rank=\d{1,6}|[A-Z]{2,4}\d{1,6}(?:[_ ][A-Z]{2,4}\d{1,6}){0,5}))?
        ,?[ ]?pid=(?P<pid>\d{1,10})(?:,[ ]ip=(?P<ip>[\w.:]{1,64}))?\)[ ]?
    | \[pod/[\w.-]{1,253}/(?P<container>[\w.-]{1,253})\][ ]                     # kubectl logs --prefix
    | [A-Za-z][\w.-]{0,63}[ ]{1,40}\|[ ]                                        # docker compose
    | \[?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]{0,12}(?:Z|[+-]\d\d:?\d\d)\]?[ ]    # docker logs -t, CRI
        (?:std(?:out|err)[ ][FP][ ])?
    | [A-Z][a-z]{2}[ ]{1,2}\d{1,2}[ ]\d\d:\d\d:\d\d(?:\.\d{1,6})?[ ][\w.-]{1,64}[ ]   # journald
        (?P<unit>[\w./@-]{1,64}(?:\[\d{1,10}\])?):[ ]
    | (?P<host>(?=[a-z.-]*\d)[a-z0-9][a-z0-9.-]{1,63}):[ ]                     # pdsh, DeepSpeed, Intel's mpiexec
        (?=Traceback[ ]\(most|[ ]{2,}File[ ]"|[ ]{4,}\S|[A-Za-z_][\w.]{1,80}(?:Error|Exception)(?:$|:))
    | \[[a-z][a-z0-9_.-]{0,60}\][ ](?=\d{4}-\d\d-\d\d[ ]\d\d:|\[?[EWIF]\d{3,4}[ ]\d\d:)  # torchtitan, hosts
    | [ ]{0,2}(?:TRACE|DEBUG|INFO|WARN|ERROR)[ ](?:[\w-]{1,40}(?:\{[^}]{0,80}\})?:[ ]){0,3}  # TGI, behind its time
        text_generation_\w{1,40}(?:::\w{1,40}){0,4}:[ ]
    | (?:\x1b?\[[0-9;]{1,8}m)+[ ]?
    | [ ]{0,8}[-*+•][ ](?P<item>`)(?=[^`]{3,4000}`[.,;]?\s*$)     # an item that is one span of code
    | (?P<span>`{1,3})(?=[^`]{3,4000}`{1,3}\s*$)                                           # a line that is one
    | (?:[ ]{0,8}(?:[-*+•]|>{1,2})[ ]|.{0,200}?\#[ ]?(?:[-=]>|→)[ ]?)`?     # an item, a quotation, a comment
        (?=[A-Za-z_][\w.]{1,80}(?:Error|Exception):[ ])
    """,
    re.VERBOSE,
)

_LOGGER = regex(
    r"""
      \[(?P<sglang>(?:\d{4}-\d\d-\d\d[ ])?\d\d:\d\d:\d\d)(?P<tags>(?:[ ][A-Z]{2,4}\d{1,6}){0,6})\][ ]?
    | (?:DEBUG|INFO|WARNING|ERROR|CRITICAL)[ ](?P<vllm>\d\d-\d\d[ ]\d\d:\d\d:\d\d(?:\.\d{1,6})?)[ ]
        \[?[\w./-]{1,128}:\d{1,6}\][ ]?
    | \[[EWIF](?P<c10d>\d{3,4}[ ]\d\d:\d\d:\d\d\.\d{1,9})?[ ][\w./-]{1,128}:\d{1,6}\][ ]?(?:\[c10d\][ ])?
    | [EWIF](?P<glog>\d{4}[ ]\d\d:\d\d:\d\d\.\d{1,9})[ ]+\d{1,10}[ ][\w./-]{1,128}:\d{1,6}\][ ]
    | \[(?P<deepspeed>\d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d,\d{3})\][ ](?:\[[A-Z]{4,8}\][ ]\[[\w./:-]{1,128}\][ ])?
        (?:\[PID:\d{1,10}\][ ](?:\[RANK:\d{1,6}\][ ])?)?
    | \[(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\|[\w./<>-]{1,128}:\d{1,6}\][ ]
        (?P<transformers>\d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d,\d{3})[ ]>>[ ]
    | (?P<accelerate>\d\d/\d\d/\d{4}[ ]\d\d:\d\d:\d\d)[ ]-[ ][A-Z]{4,8}[ ]-[ ][\w.]{1,64}[ ]-[ ]
    | \[(?P<trtllm>\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\][ ]\[TRT-LLM\][ ](?:\[RANK[ ]\d{1,6}\][ ])?\[[VDIWEF]\][ ]
    | \[(?P<spdlog>\d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d\.\d{3})\][ ](?:\[[\w./-]{1,64}\][ ])?
        \[(?:trace|debug|info|warning|error|critical)\][ ]
    | \[(?P<airflow>\d{4}-\d\d-\d\d[,T][ ]?\d\d:\d\d:\d\d[^\]]{0,16})\][ ]
        \{[\w./-]{1,128}:\d{1,6}\}[ ][A-Z]{4,8}[ ]-[ ]
    | (?P<python>\d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d,\d{3})
        (?:[ ]-[ ][\w.]{1,64}[ ]-[ ][A-Z]{4,8}[ ]-[ ]|[\t ][A-Z]{4,8}[ ][\w./-]{1,64}:\d{1,6}[ ]--[ ])
    """,
    re.VERBOSE,
)
_TIMES = (
    "airflow",
    "sglang",
    "vllm",
    "c10d",
    "glog",
    "deepspeed",
    "python",
    "transformers",
    "accelerate",
    "trtllm",
    "spdlog",
)
_BAR_ENDS = ("/s]", "/it]")


class Launched(NamedTuple):
    """A line without its launcher's prefixes. `process` is the same on all lines of one process."""

    rank: str | None
    text: str
    process: str


class Logged(NamedTuple):
    """A message without its logger's stamp; time as printed, rank as SGLang tags it: `TP3`, `DP0 TP1`."""

    time: str | None
    rank: str | None
    text: str


def without_launcher(line: str) -> Launched:
    """The rank, the line, and the process, of a line that a launcher may have marked. Indentation is kept."""
    rank = None
    process: list[str] = []
    for _ in range(_MOST_PREFIXES):
        match = _LAUNCHER.match(line)
        if match is None:
            break
        found = _rank_of(match)
        rank = rank if match["host"] and rank else found or rank
        mark = found or match["container"] or match["unit"] or match["host"]
        if match["pid"]:
            mark = f"{match['worker'] or ''} {match['pid']} {match['ip'] or ''}"
        mark = mark or match["metaflow"]
        if mark:
            process.append(mark)
        line = line[match.end() :]
        if match["item"] or match["span"]:
            line = line.rstrip(" \t\r`")
    return Launched(rank, line, "/".join(process))


def _rank_of(match: re.Match[str]) -> str | None:
    for name in ("torchrun", "program", "mpirun", "sagemaker"):
        if match[name]:
            return f"rank {int(match[name])}"
    if match["srun"]:
        return f"task {int(match['srun'])}"
    if match["host"]:
        return f"on {match['host']}"
    if not match["pid"]:
        return None
    if match["tag"]:
        return match["tag"].replace("rank=", "rank ").replace("_", " ")
    name, _, tags = (match["worker"] or "").partition("_")
    if tags and re.fullmatch(r"[A-Z]{2,4}\d+(?:_[A-Z]{2,4}\d+)*", tags):
        return tags.replace("_", " ")
    if name in {"EngineCore", "APIServer", "ApiServer", "CoreEngine"}:
        return None
    return f"pid {match['pid']}" + (f" on {match['ip']}" if match["ip"] else "")


def without_stamp(text: str) -> Logged:
    """Time, rank tag and message of a line that a logger may have stamped. Indentation is kept."""
    match = _LOGGER.match(text)
    if match is None:
        return Logged(None, None, text)
    time = next((match[name] for name in _TIMES if match[name]), None)
    return Logged(time, (match["tags"] or "").strip() or None, text[match.end() :])


def clipped(line: str) -> str:
    """The line, or the two ends of one that is very long."""
    if len(line) <= MOST_COLUMNS:
        return line
    half = MOST_COLUMNS // 2
    return f"{line[:half]} {line[-half:]}"


def after_progress(line: str) -> str:
    """What stands behind the last progress bar of a line, where something does; else the line itself.

    Bars do not end their lines, so that the next message of any process is glued to them.
    """
    line = clipped(line)
    end = max(line.rfind(end) + len(end) if end in line else 0 for end in _BAR_ENDS)
    end = max(end, line.rstrip("\r").rfind("\r") + 1)
    return line[end:] if line[end:].strip() else line
