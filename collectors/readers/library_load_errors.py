"""Shared libraries of CUDA, NCCL, PyTorch and the network that could not be loaded, or that lack a symbol.

    ImportError: /opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister
    deviceQueryDrv: error while loading shared libraries: libcuda.so.1: cannot open shared object file: No such file …
    /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by …/flash_attn_2_cuda.so)

Follows glibc's ld.so and dlerror, CPython's ImportError, TensorFlow's and PyTorch's texts. NCCL's own search for
plug-ins is told by NcclPlugin; libraries that have to do with none of these give nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.environment import LibraryLoadError

_Problem: TypeAlias = Literal[
    "not-found", "undefined-symbol", "version-not-found", "not-permitted", "wrong-format", "other"
]
_Family: TypeAlias = Literal["driver", "cuda", "nccl", "torch", "extension", "network", "other"]

_LIBRARY = r"(?P<library>(?:/[^\s:'\"]{0,400}/)?[\w.+-]{1,120}\.so(?:\.[\w.]{1,20})?)"
_REQUIRED = r"(?: \(required by (?P<by>[^)]{1,400})\))?"
_PROBLEMS: tuple[tuple[_Problem, str], ...] = (
    ("undefined-symbol", rf"{_LIBRARY}: undefined symbol: (?P<symbol>[\w@.]{{1,300}})"),
    (
        "undefined-symbol",
        r"symbol lookup error: (?P<library>[\w./+-]{1,300}): undefined symbol: (?P<symbol>[\w@.]{1,300})",
    ),
    (
        "version-not-found",
        rf"{_LIBRARY}: symbol (?P<symbol>[\w@.]{{1,300}}),? version [\w.]{{1,60}} not defined in file",
    ),
    ("version-not-found", rf"{_LIBRARY}: version [`'](?P<symbol>[\w.]{{1,60}})' not found{_REQUIRED}"),
    ("not-found", rf"{_LIBRARY}: cannot open shared object file: No such file"),
    (
        "not-permitted",
        rf"{_LIBRARY}: cannot open shared object file: (?:Permission denied|Operation not permitted)",
    ),
    ("not-permitted", rf"{_LIBRARY}: failed to map segment from shared object"),
    ("wrong-format", rf"{_LIBRARY}: (?:wrong ELF class|invalid ELF header|file too short|only ET_DYN)"),
    ("other", rf"{_LIBRARY}: cannot (?:enable executable stack|allocate memory in static TLS)"),
    ("not-found", r"(?P<library>libcuda\.so) cannot found"),
)
_BY_PROBLEM = tuple((problem, regex(form)) for problem, form in _PROBLEMS)
# What may stand before: an exception, the loader's own words after a program, a library that could not be loaded.
_LEAD = regex(
    r"(?:E {1,8})?(?:[\w.]{0,80}(?:Error|Exception|Warning)(?:\(\w{1,40}\))?: |\s{0,8}what\(\): {1,4}"
    r"|(?P<program>[\w./+-]{1,300}): (?:error while loading shared libraries: |symbol lookup error: )?"
    r"|.{0,200}(?:ImportError\(['\"]|dlerror: |Error: |error: |failed: |dlopen\w{0,10}: ))?\s{0,4}$"
)
_LOADED = regex(r"Could not load (?:dynamic )?library '?(?P<by>[\w./+-]{3,200}?)'?[;.] (?:dlerror|Error): ")
_WARNING = regex(r"Warning|\bW \S{1,80}:\d|WARNING|Could not load dynamic library|Skipping")
_SYMBOLS: tuple[tuple[_Family, str], ...] = (
    ("nccl", r"p?nccl[A-Z]"),
    ("driver", r"cu[A-Z]|nvml[A-Z]"),
    (
        "cuda",
        r"_{0,2}(?:cuda[A-Z_]|cudnn|cublas|cusparse|cufft|curand|cusolver|nvJitLink|nvrtc|nvtx|cupti|nvshmem)",
    ),
    ("cuda", r"libcu|libnv"),
    ("torch", r"_ZNK?(?:2at|3c10|5torch|5caffe)|_ZN?K?[\w]{0,60}(?:2at|3c10|5torch)|THC?P|aoti_"),
    ("network", r"ibv_|mlx5|rdma_|fi_|efadv|ucp_|ucs_|MPI_|ompi_"),
)
_OF_DRIVER = "ml|ptxjitcompiler|nvvm|gpucomp|fatbinaryloader|nscq|cfg|allocator"
_LIBRARIES: tuple[tuple[_Family, str], ...] = (
    ("driver", rf"libcuda\.so|libcudadebugger|libnvidia-(?:{_OF_DRIVER})\b|libnvcuvid"),
    ("nccl", r"libnccl\.so|libnccl-"),
    ("cuda", r"libcu(?:dart|dnn|blas|sparse|rand|fft|solver|pti|file|tensor)"),
    ("cuda", r"libnv(?:rtc|JitLink|ToolsExt|shmem|infer|jpeg|ptx)"),
    ("torch", r"libtorch|libc10|libshm|libcaffe2"),
    ("network", r"libibverbs|libmlx|libfabric|librdmacm|libefa|libmpi|libuc[pst]|libopen-(?:pal|rte)|libhcoll"),
    ("extension", r"[\w.+-]{1,120}\.cpython-\d|libtransformer_engine|_C\."),
    ("extension", r"[\w-]{1,60}_(?:cuda|C|ops|kernels)\w{0,20}(?:\.|$)"),
)
_BY_SYMBOL = tuple((family, regex(form)) for family, form in _SYMBOLS)
_BY_LIBRARY = tuple((family, regex(form)) for family, form in _LIBRARIES)
_MARKERS = (
    *(
        "undefined symbol: ",
        " not defined in file ",
        "cannot open shared object file",
        "' not found (required by",
        "failed to map segment",
    ),
    *("wrong ELF class", "invalid ELF header", ": file too short", "libcuda.so cannot found", "static TLS"),
)
_LEVELS = frozenset(("ERROR", "WARNING", "error", "warning", "INFO", "FATAL"))
_MOST_LINE = 3000
_MOST_SORTS = 100


@dataclass
class _Failure:
    """One library that could not be loaded, and how often."""

    fact: LibraryLoadError
    index: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """LibraryLoadError for each library, problem and symbol."""
    failures: dict[tuple[str, _Problem, str | None], _Failure] = {}
    for index, whole in section.matching(*_MARKERS):
        if "NCCL INFO" in whole or "NCCL WARN" in whole:
            continue
        text = without_stamp(without_launcher(after_progress(whole)).text).text[:_MOST_LINE]
        fact = _failure(text)
        if fact is None:
            continue
        key = (fact.library, fact.problem, fact.symbol)
        if key in failures or len(failures) < _MOST_SORTS:
            failures.setdefault(key, _Failure(fact, index)).count += 1
    for failure in failures.values():
        yield section.observe(failure.fact.model_copy(update={"count": failure.count}), failure.index)
    if failures:
        yield section.looked(LibraryLoadError)


def _failure(text: str) -> LibraryLoadError | None:
    for problem, form in _BY_PROBLEM:
        match = form.search(text)
        if match is None:
            continue
        loaded = _LOADED.search(text)
        lead = _LEAD.match(text[: match.start()][-400:])
        if lead is None and loaded is None:
            return None
        found = match.groupdict()
        path, symbol = match["library"], found.get("symbol")
        library = path.rsplit("/", 1)[-1]
        program = lead["program"] if lead else None
        by = found.get("by") or (loaded["by"] if loaded else None) or (None if program in _LEVELS else program)
        by = by.rsplit("/", 1)[-1][:120] if by else None
        family = _family(library, symbol, by)
        if family == "other":
            return None
        return LibraryLoadError(
            library=library,
            problem=problem,
            symbol=symbol[:200] if symbol else None,
            needed_by=by if by != library else None,
            family=family,
            optional=_WARNING.search(text[: match.start()]) is not None,
            path=path if "/" in path else None,
        )
    return None


def _family(library: str, symbol: str | None, by: str | None) -> _Family:
    """Whose the missing thing is: the symbol tells before the library, that before the one that asks for it."""
    if symbol:
        of_symbol = next((family for family, form in _BY_SYMBOL if form.match(symbol)), None)
        if of_symbol:
            return of_symbol
    for name in (library, by or ""):
        family = next((family for family, form in _BY_LIBRARY if form.match(name)), None)
        if family:
            return family
    return "other"


READER = Reader("library-load-errors", read, markers=_MARKERS)
