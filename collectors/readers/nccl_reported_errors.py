"""Calls of NCCL that failed, as the programs that made them say it: PyTorch, vLLM, SGLang, XLA, CuPy, nccl-tests.

    torch.distributed.DistBackendError: NCCL error in: …/ProcessGroupNCCL.cpp:1691, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3
    RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)
    ERROR engine::tp: prefill NCCL all-reduce failed: ncclInvalidArgument
    a17: Test NCCL failure common.cu:958 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '

Follows NCCL's ncclGetErrorString (2.0 to 2.32), PyTorch 1.0 to 2.14, vLLM and SGLang pynccl, TensorRT-LLM, Horovod,
TensorFlow, JAX, PaddlePaddle and CuPy. Words of results without a program's own lead give nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._nccl_last_errors import last_errors
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_failures import NcclReportedError, NcclResult

_Speaker: TypeAlias = Literal["torch", "pynccl", "nccl-tests", "xla", "tensorrt-llm", "other"]

_CODES: tuple[tuple[str, NcclResult], ...] = (
    ("unhandled cuda error", "cuda"),
    ("unhandled system error", "system"),
    ("internal error", "internal"),
    ("invalid argument", "invalid-argument"),
    ("invalid usage", "invalid-usage"),
    ("remote process exited", "remote"),
    ("unhandled remote error", "remote"),
    ("remote error", "remote"),
    ("timeout", "timeout"),
)
_RESULT = "(?P<result>" + "|".join(words for words, _ in _CODES) + ")"
_FORMS: tuple[tuple[_Speaker, str], ...] = (
    (
        "torch",
        rf"NCCL error in: \S{{1,300}}, {_RESULT}(?:[^,]{{0,60}}, NCCL version (?P<version>\d[\d.]{{0,12}}\d))?",
    ),
    ("torch", rf"NCCL Error \d: {_RESULT}"),
    ("pynccl", rf"NCCL error: {_RESULT}"),
    ("nccl-tests", rf"Test NCCL failure \S{{1,120}}:\d{{1,6}} '{_RESULT}"),
    ("xla", rf"NCCL operation .{{1,200}}? failed: {_RESULT}"),
    ("tensorrt-llm", rf"Failed, NCCL error \S{{1,200}}:\d{{1,6}} '{_RESULT}"),
    ("other", rf"NCCL error ?(?:\(\d\)|\d),? {_RESULT}"),
    ("other", rf"NCCL (?:failure|error)(?: \S{{1,200}}:\d{{1,6}})? '{_RESULT}"),
    ("other", rf"\bnccl[A-Z]\w{{3,40}}(?:\(\))? failed(?: with)?:? {_RESULT}"),
    ("other", rf"NcclError: NCCL_ERROR_\w{{4,40}}: {_RESULT}"),
    ("other", rf"{_RESULT}(?: .{{0,200}}?)? at \[\S{{1,200}}/nccl_\w{{1,40}}\.(?:cu\.cc|cu|cc|h):\d{{1,6}}\]"),
    ("other", rf"Error: {_RESULT}\s?\[Op:\w{{1,60}}\]"),
)
_BY_FORM = tuple((speaker, regex(form)) for speaker, form in _FORMS)
_HEADLESS = regex(
    r"(?:.{0,80}Error: )?nccl"
    r"(?P<name>UnhandledCudaError|SystemError|InternalError|InvalidArgument|InvalidUsage|RemoteError): "
    r"(?:Call to CUDA|System call|Internal check|Invalid value|This usually|A call failed)"
)
_BY_NAME = regex(
    r".{0,200}?\b(?:NCCL|[Nn]ccl)(?:[ \w-]{0,60}? failed(?: with)?:? |Error\(\"?(?:code )?| error:? ?\(?)"
    r"nccl(?P<name>UnhandledCudaError|SystemError|InternalError|InvalidArgument|InvalidUsage|RemoteError)\b"
)
"""The name of the result in place of its words: programs in C, Rust and Julia."""
_NAMES: dict[str, NcclResult] = {
    "UnhandledCudaError": "cuda",
    "SystemError": "system",
    "InternalError": "internal",
    "InvalidArgument": "invalid-argument",
    "InvalidUsage": "invalid-usage",
    "RemoteError": "remote",
}
_MARKERS = (
    *("NCCL error", "NCCL Error ", "Test NCCL failure", "NCCL operation ", "NCCL failure", "NcclError: "),
    *("ncclUnhandledCudaError: ", "ncclSystemError: ", "ncclInternalError: ", "ncclInvalidArgument: "),
    *(
        "ncclInvalidUsage: ",
        "ncclRemoteError: ",
        "failed: unhandled ",
        "failed: invalid ",
        "failed: internal error",
    ),
    *(" error [Op:", "failed: nccl", "failed with nccl", "rror: nccl", "NcclError(nccl", "NCCLError(code nccl"),
    *("/nccl_op", "/nccl_helper.h:", "/nccl_gpu_common"),
)
_NEAR = 4
"""Lines within which PyTorch repeats NCCL's last warning below its error."""
_MOST = 2000
_MOST_SORTS = 1000


def read(section: Section) -> Iterator[Reading]:
    """One fact for each rank, code and program, with how often it was said."""
    warnings = {record.index: record.text for record in last_errors(section)}
    found: dict[tuple[str | None, NcclResult], tuple[NcclReportedError, int, int]] = {}
    for index, whole in section.matching(*_MARKERS):
        if "NCCL INFO" in whole or "NCCL WARN" in whole:
            continue
        launched = without_launcher(after_progress(whole))
        logged = without_stamp(launched.text)
        fact = _fact(logged.text[:_MOST], logged.rank or launched.rank)
        if fact is None:
            continue
        key = (fact.rank, fact.code)
        if key in found:
            known, first, count = found[key]
            found[key] = (known, first, count + (0 if _HEADLESS.match(logged.text[:300]) else 1))
        elif len(found) < _MOST_SORTS:
            said = _repeated(section, index, warnings)
            found[key] = (fact.model_copy(update={"last_warning": said[:400] if said else None}), index, 1)
    for fact, index, count in found.values():
        yield section.observe(fact.model_copy(update={"count": count}), index)
    if found:
        yield section.looked(NcclReportedError)


def _repeated(section: Section, index: int, warnings: dict[int, str]) -> str | None:
    """NCCL's last warning as it stands in the same line or below it, before the next error."""
    for at in range(index, min(index + _NEAR, len(section.lines))):
        if at > index and any(form.search(section.lines[at][:_MOST]) for _, form in _BY_FORM):
            return None
        if at in warnings:
            return warnings[at]
    return None


def _fact(text: str, rank: str | None) -> NcclReportedError | None:
    for speaker, form in _BY_FORM:
        match = form.search(text)
        if match is not None:
            code = next(code for words, code in _CODES if words == match["result"])
            version = match.groupdict().get("version")
            said = text.strip()[:300]
            return NcclReportedError(code=code, reported_by=speaker, rank=rank, version=version, text=said)
    headless = _HEADLESS.match(text)
    if headless is None:
        named = _BY_NAME.match(text)
        if named is None or text.lstrip().startswith(("//", "#", "*")):
            return None
        code = _NAMES[named["name"]]
        return NcclReportedError(code=code, reported_by="other", rank=rank, text=text.strip()[:300])
    return NcclReportedError(
        code=_NAMES[headless["name"]], reported_by="torch", rank=rank, text=text.strip()[:300]
    )


READER = Reader("nccl-reported-errors", read, markers=_MARKERS)
