"""The size of a model's files on disk: du, ls -l of its shards, the shards' index, and what vLLM says of it.

    234G    /shared/models/Qwen3.5-122B-A10B
    39 safetensors shards
    -rw-r--r-- 1 root root 4976698672 May 22 20:50 model-00001-of-00017.safetensors

Follows coreutils' du and ls, the Hub's `model.safetensors.index.json`, vLLM's weight_utils.py (0.20 on). A
listing is added up where it shows all its shards, or nothing but pointers of Git LFS (a few bytes each). Paths
that do not look like a model's folder give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import ModelFiles

POINTER_BYTES = 1024

_UNITS = {"": 1024**-2, "K": 1024**-2, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "P": 1024.0**2}
_DU = regex(r"\s{0,8}(?P<size>\d{1,6}(?:[.,]\d{1,3})?)(?P<unit>[KMGTP]?)i?B?\s{1,16}(?P<path>\S{1,400})\s*$")
_COUNT = regex(r"\s{0,8}(?P<count>\d{1,5}) (?:safetensors )?shards\s*$")
_LS = regex(
    r"[-l][rwxsStT-]{9}[.+@]?\s{1,8}\d{1,6}\s{1,8}\S{1,64}\s{1,8}\S{1,64}\s{1,16}"
    r"(?P<size>\d{1,15}|\d{1,6}(?:\.\d)?[KMGT]) .{1,40} (?P<path>\S{0,300}\.(?:safetensors|bin|gguf))\s*$"
)
_TOTAL = regex(r"\s{0,16}\"total_size\": {0,4}(\d{1,16})(?:\.0)?,?")
_VLLM = regex(r"Filesystem type for checkpoints: \S{1,40} Checkpoint size: (\d{1,8}(?:\.\d{1,4})?) GiB\.")
_MODEL_FOLDER = regex(
    r"/models?(?:/|--|$)|/checkpoints?/|/snapshots/|\d(?:\.\d)?[bB](?:-|_|/|$)|llama|qwen|mistral|mixtral|deepseek|gemma"
    r"|falcon|glm|bloom|phi-|gpt-oss|kimi",
    re.IGNORECASE,
)
_OF = regex(r"-of-(\d{2,6})\.")
_WEIGHTS = regex(r"(?:model|pytorch_model|consolidated|diffusion)[\w.-]{0,80}$|.{0,200}-of-\d{2,6}\.")


@dataclass(slots=True)
class _Listing:
    """The shards that ls shows, from the first line to the last."""

    folder: str | None = None
    first: int = 0
    last: int = 0
    bytes: float = 0.0
    files: int = 0
    of: int = 0
    largest: float = 0.0


def read(section: Section) -> Iterator[Reading]:
    """ModelFiles by each of the ways in which the section tells a size."""
    found = [*_by_du(section), *_by_ls(section), *_by_index(section), *_by_vllm(section)]
    yield from found
    if found:
        yield section.looked(ModelFiles)


def _by_du(section: Section) -> Iterator[Observed]:
    for index, line in section.matching("/"):
        match = _DU.match(line[:500])
        if (
            match is None
            or _MODEL_FOLDER.search(match["path"]) is None
            or not match["path"].startswith(("/", "./"))
        ):
            continue
        size = float(match["size"].replace(",", ".")) * _UNITS[match["unit"]]
        count = _COUNT.match(section.lines[index + 1][:100]) if index + 1 < len(section.lines) else None
        shards = int(count["count"]) if count else None
        if size >= 0.01:
            fact = ModelFiles(path=match["path"], size_gib=round(size, 2), shards=shards)
            yield section.observe(fact, index, index + 1 if count else index)


def _by_ls(section: Section) -> Iterator[Observed]:
    listing = _Listing(folder=_folder(section.command))
    for index, line in section.matching(".safetensors", ".bin", ".gguf"):
        match = _LS.match(line[:500])
        if match is None:
            continue
        folder, _, name = match["path"].rpartition("/")
        if _WEIGHTS.match(name) is None and not name.endswith(".gguf"):
            continue
        listing.first = index if listing.files == 0 else listing.first
        listing.folder = listing.folder or folder or None
        listing.last = index
        listing.files += 1
        listing.bytes += _bytes(match["size"])
        listing.largest = max(listing.largest, _bytes(match["size"]))
        numbered = _OF.search(name)
        listing.of = max(listing.of, int(numbered[1]) if numbered else 0)
    if listing.files >= listing.of or listing.largest <= POINTER_BYTES:
        yield from _listed(section, listing)


def _listed(section: Section, listing: _Listing) -> Iterator[Observed]:
    if listing.files:
        size = round(listing.bytes / 1024**3, 2)
        fact = ModelFiles(path=listing.folder, size_gib=size, shards=listing.files)
        yield section.observe(fact, listing.first, listing.last)


def _bytes(size: str) -> float:
    if size.isdecimal():
        return float(size)
    return float(size[:-1]) * _UNITS[size[-1]] * 1024**3


def _folder(command: str | None) -> str | None:
    """The folder that an ls command names."""
    words = (command or "").split()
    return next((word.rstrip("/") for word in words[1:] if word.startswith(("/", "./", "~"))), None)


def _by_index(section: Section) -> Iterator[Observed]:
    if not any("weight_map" in line for line in section.lines):
        return
    for index, line in section.matching('"total_size"'):
        match = _TOTAL.match(line[:200]) or _TOTAL.search(line[:2000])
        if match is not None:
            path = section.path if section.path.endswith(".json") else None
            yield section.observe(ModelFiles(path=path, size_gib=round(int(match[1]) / 1024**3, 2)), index)
            return


def _by_vllm(section: Section) -> Iterator[Observed]:
    """The largest checkpoint that is loaded; a draft model has its own line."""
    sizes: list[tuple[float, int]] = []
    for index, line in section.matching("Checkpoint size: "):
        match = _VLLM.search(line[:2000])
        if match is not None:
            sizes.append((float(match[1]), index))
    if sizes:
        size, index = max(sizes, key=lambda one: one[0])
        yield section.observe(ModelFiles(size_gib=size), index)


READER = Reader(
    "model-files",
    read,
    markers=("safetensors", "/model", "Checkpoint size: ", "weight_map", ".gguf", "pytorch_model"),
    commands=("du ",),
)
