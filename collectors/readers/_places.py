"""What a path is for, judged by its words, and sizes as tools print them. No reader."""

from __future__ import annotations

from collectors.readers._regex import regex
from kb.facts.storage import Place

_WORDS: tuple[tuple[Place, str], ...] = (
    ("shm", r"^/dev/shm\b|^/torch_|/dev/shm/"),
    ("checkpoint", r"checkpoint|ckpt|pytorch_model|optimizer|global_step|\.distcp|\.safetensors\b|\.pt\b|\.pth\b"),
    ("cache", r"cache|huggingface|/hub/|triton|inductor|torch_extensions|/var/lib/docker|/var/lib/containerd"),
    ("tmp", r"^/tmp\b|^/var/tmp\b|/tmp/|tmpdir"),
    ("log", r"/logs?(?:/|$)|wandb|tensorboard"),
    ("home", r"^/home\b|^/root\b|^/users?\b"),
)
_BY_WORD = tuple((place, regex(words)) for place, words in _WORDS)
_SIZE = regex(r"(?P<number>\d{1,18}(?:[.,]\d{1,6})?)\s?(?P<unit>[kKmMgGtTpPeE]?)i?[bB]?$")
_UNITS = {"": 1 / 1024**2, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2, "p": 1024.0**3, "e": 1024.0**4}


def place_of(path: str) -> Place:
    """What the path is for; `other` where its words do not tell."""
    path = path.lower()
    if path == "/":
        return "root"
    return next((place for place, words in _BY_WORD if words.search(path)), "other")


def size_mib(text: str, default: str = "") -> int | None:
    """A size such as `64M`, `1.8T`, `65536k` in MiB; a bare number is in units of `default` (bytes)."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    unit = (match["unit"] or default).lower()
    return int(float(match["number"].replace(",", ".")) * _UNITS[unit])
