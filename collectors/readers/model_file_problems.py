"""Model files that are not what they should be: by a framework's error, a listing, a checksum run, their content.

    safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge
    -rw-r--r-- 1 root root        135 May 22 20:50 model-00001-of-00017.safetensors
    version https://git-lfs.github.com/spec/v1

Follows safetensors 0.3 on, transformers 4, huggingface_hub, torch.load, vLLM, SGLang, llama.cpp, Git LFS, ls and
sha256sum. A listing tells missing shards only where it is whole; a link's size is not its file's. Errors must
begin their line, after the logger's stamp, so that prose gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.problems import FileProblem, ModelFileProblem

MOST_PROBLEMS = 200
POINTER_BYTES = range(100, 201)
"""A pointer of Git LFS has three short lines."""
STUB_BYTES = 1024

_WEIGHTS = r"[^\s'\"]{0,300}\.(?:safetensors|bin|gguf|pth?|engine)"
_E = r"(?:[\w.]{1,120}(?:Error|Exception): )"
_FILE = r"(?P<file>[^\s,]{1,200})"
_MODEL = r"(?P<model>[^\s,`]{1,300})"
_SIZES = r"size (?P<expected>\d{1,15}) but has size (?P<found>\d{1,15})(?: \((?P<file>[^)]{1,300})\))?"
_HEADER = r"Error while deserializing header: "
_ERROR_LINES: tuple[tuple[FileProblem, str], ...] = (
    ("partial", rf"{_E}?{_HEADER}(?P<detail>MetadataIncompleteBuffer|incomplete metadata)"),
    ("unreadable-header", rf"{_E}?{_HEADER}(?P<detail>\w{{3,60}})"),
    ("missing-file", rf"{_E}{_MODEL} does not appear to have (?:a file|files) named {_FILE}"),
    ("missing-file", rf"{_E}Error no file named {_FILE}.{{0,400}} found in directory {_MODEL}"),
    ("no-weights", rf"{_E}Cannot find any model weights with `{_MODEL}`"),
    ("lfs-pointer", rf"{_E}?You seem to have cloned a repository without having git-lfs installed"),
    ("lfs-pointer", r"(?:_?pickle\.)?UnpicklingError: invalid load key, (?P<detail>'v')"),
    ("not-an-archive", r"(?:_?pickle\.)?UnpicklingError: invalid load key, (?P<detail>'.{1,4}')"),
    ("not-an-archive", rf"{_E}PytorchStreamReader failed reading [\w ]{{3,80}}: (?P<detail>.{{3,80}})"),
    ("not-an-archive", rf"{_E}Unable to load weights from pytorch checkpoint file for {_FILE}"),
    ("partial", rf"{_E}unexpected EOF, expected (?P<expected>\d{{1,15}}) more bytes\. The file might be corrupt"),
    ("partial", rf"{_E}Consistency check failed: file should be of {_SIZES}"),
    ("partial", r".{0,120}tensor '[^']{1,120}' data is not within the file bounds, model is corrupted"),
    ("missing-file", rf"{_E}(?:\[Errno 2\] )?No such file or directory: ['\"]?(?P<file>{_WEIGHTS})"),
    ("missing-shard", rf".{{0,80}}Missing (?P<count>\d{{1,5}}) shard\(s\) from index {_FILE}"),
    ("wrong-format", rf"{_E}Unrecognized model in {_MODEL}\. Should have a `model_type` key"),
    ("checksum", rf"(?P<file>{_WEIGHTS}): FAILED(?: open or read)?\s*$"),
)
_ERRORS = tuple((problem, regex(text)) for problem, text in _ERROR_LINES)
_QUICK = regex(
    r"deserializing header|does not appear to have|Error no file named|any model weights|git-lfs|load key"
    r"|PytorchStreamReader|load weights from pytorch|unexpected EOF|Consistency check|file bounds|No such file"
    r"|shard\(s\) from index|Unrecognized model|: FAILED"
)
_POINTER = "version https://git-lfs.github.com/spec/v1"
_POINTER_SIZE = regex(r"size (\d{1,15})\s*$")
_HEADED = regex(r"==> (\S{1,300}) <==\s*$")
_NAMED = regex(rf"(?P<file>{_WEIGHTS})(?:\s|$)")
_LISTED = regex(
    r"-[rwxsStT-]{9}[.+@]?\s{1,8}\d{1,6}(?:\s{1,8}\S{1,64}){2}\s{1,16}(?P<size>\d{1,15}|\d{1,6}(?:\.\d)?[KMGT])"
    r" .{1,40} (?P<path>\S{0,300}\.(?:safetensors|bin|gguf|incomplete|part|aria2|crdownload))\s*$"
)
_SHARD = regex(r"-(?P<number>\d{2,6})-of-(?P<of>\d{2,6})\.")
_WEIGHT_NAME = regex(
    r"(?:model|pytorch_model|consolidated|diffusion|adapter_model)\b|.{0,200}-of-\d{2,6}\.|.{0,250}\.gguf$"
)
_MARKERS = (
    *(
        "deserializing header",
        "does not appear to have",
        "Error no file named",
        "any model weights with",
        "git-lfs",
    ),
    *(
        "invalid load key",
        "PytorchStreamReader",
        "from pytorch checkpoint",
        "unexpected EOF",
        "Consistency check ",
    ),
    *("not within the file bounds", "such file or directory: ", "shard(s) from index", "Unrecognized model in"),
    *(".safetensors: FAILED", ".bin: FAILED", ".gguf: FAILED", "-of-0", ".incomplete", ".gguf"),
)


@dataclass(slots=True)
class _Folder:
    """The weight files of one folder as a listing shows them."""

    of: int = 0
    numbers: set[int] = field(default_factory=set)
    last: int = 0
    found: dict[FileProblem, list[tuple[str, int]]] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """ModelFileProblem for each kind of trouble with each file or folder."""
    found = [*_by_error(section), *_by_listing(section), *_by_content(section)]
    yield from found
    if found:
        yield section.looked(ModelFileProblem, complete=False, reason="not-collected")


def _by_error(section: Section) -> Iterator[Observed]:
    seen: dict[ModelFileProblem, tuple[int, int]] = {}
    for index, line in enumerate(section.lines):
        if _QUICK.search(line[:4000]) is None:
            continue
        text = without_stamp(without_launcher(after_progress(line)).text).text
        for problem, form in _ERRORS:
            match = form.match(text[:2000])
            if match is not None:
                fact = _fact(problem, match)
                first, count = seen.get(fact, (index, 0))
                if fact in seen or len(seen) < MOST_PROBLEMS:
                    seen[fact] = first, count + 1
                break
    for fact, (index, count) in seen.items():
        yield section.observe(fact.model_copy(update={"count": max(count, fact.count)}), index)


def _fact(problem: FileProblem, match: re.Match[str]) -> ModelFileProblem:
    told = match.groupdict()
    file = told.get("file")
    if problem == "missing-file" and file and _SHARD.search(file):
        problem = "missing-shard"
    return ModelFileProblem(
        problem=problem,
        file=file.strip("'\".") if file else None,
        model=(told.get("model") or "").strip("'\".") or None,
        detail=told.get("detail"),
        count=int(told.get("count") or 1),
        expected=_number(told.get("expected")),
        found=_number(told.get("found")),
        said_by="checksum" if problem == "checksum" else "framework",
    )


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _by_listing(section: Section) -> Iterator[Observed]:
    folders: dict[str, _Folder] = {}
    command = command_of(section)
    asked = next((word.rstrip("/") for word in command.split()[1:] if word.startswith(("/", "./", "~"))), "")
    for index, line in section.matching(".safetensors", ".bin", ".gguf", ".incomplete", ".part", ".aria2"):
        match = _LISTED.match(line[:800])
        if match is None:
            continue
        path, _, name = match["path"].rpartition("/")
        folder = folders.setdefault(path or asked, _Folder())
        folder.last = index
        shard = _SHARD.search(name)
        if shard is not None:
            folder.of = max(folder.of, int(shard["of"]))
            folder.numbers.add(int(shard["number"]))
        problem = _judged(name, match["size"])
        if problem is not None:
            folder.found.setdefault(problem, []).append((name, index))
    whole = command.startswith("ls ") and "|" not in command and "head" not in command
    for path, folder in folders.items():
        yield from _of_folder(section, path, folder, whole=whole)


def _judged(name: str, size: str) -> FileProblem | None:
    if name.endswith((".incomplete", ".part", ".aria2", ".crdownload")):
        return "unfinished-download"
    if not size.isdecimal() or _WEIGHT_NAME.match(name) is None:
        return None
    if int(size) == 0:
        return "empty"
    if int(size) in POINTER_BYTES:
        return "lfs-pointer"
    return "partial" if int(size) <= STUB_BYTES and "adapter" not in name else None


def _of_folder(section: Section, path: str, folder: _Folder, *, whole: bool) -> Iterator[Observed]:
    for problem, files in folder.found.items():
        fact = ModelFileProblem(
            problem=problem,
            file=files[0][0],
            model=path or None,
            count=len(files),
            expected=folder.of or None,
            found=len(folder.numbers) or None,
            said_by="listing",
        )
        yield section.observe(fact, files[0][1], files[-1][1])
    missing = sorted(set(range(1, folder.of + 1)) - folder.numbers) if whole and folder.of < 10_000 else []
    if missing and 0 not in folder.numbers:
        fact = ModelFileProblem(
            problem="missing-shard",
            file=f"{missing[0]:05d}-of-{folder.of:05d}",
            model=path or None,
            count=len(missing),
            expected=folder.of,
            found=len(folder.numbers),
            said_by="listing",
        )
        yield section.observe(fact, folder.last)


def _by_content(section: Section) -> Iterator[Observed]:
    """The text of a pointer where weights should be: a file of the evidence, or what head or cat printed of it."""
    named = _NAMED.search(section.command or "") or _NAMED.search(section.path)
    file, count = named["file"] if named else None, 0
    first = last = 0
    size: int | None = None
    for index, line in enumerate(section.lines):
        headed = _HEADED.match(line[:400])
        if headed is not None and count == 0:
            file = headed[1]
        if (
            line.rstrip() == _POINTER
            and index + 1 < len(section.lines)
            and section.lines[index + 1].startswith("oid ")
        ):
            told = _POINTER_SIZE.match(section.lines[index + 2][:40]) if index + 2 < len(section.lines) else None
            first, last, count = (first if count else index), index + 1, count + 1
            size = size or (int(told[1]) if told else None)
    if count:
        fact = ModelFileProblem(problem="lfs-pointer", file=file, count=count, expected=size, said_by="content")
        yield section.observe(fact, first, last)


READER = Reader("model-file-problems", read, markers=_MARKERS, context=(0, 2))
