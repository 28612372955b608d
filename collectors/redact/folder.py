"""A folder of evidence, in place: every file and every path, and the manifest where it is a bundle.

All is read once to learn the names, and a second time to replace them, both on all cores. What cannot be looked
through is left out: a file that is no text would give away what the others hide.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from collectors.redact.parts import UTF16, learn, on_all_cores, parts_of, rewrite
from collectors.redact.text import Redactor

_MANIFEST = "manifest.json"
_BLOCK_BYTES = 1024 * 1024
_SHOWN = 3
_HEAD_BYTES = 8192
_NO_TEXT = frozenset({*range(32), 127}) - frozenset(b"\t\n\r\f\b\x1b\0\x0e\x0f")
_MOST_NO_TEXT = 0.02
_LEFT_OUT = "left out: it is no text, so that names in it cannot be replaced"


@dataclass(frozen=True)
class Redaction:
    """What was done: how many places were replaced, by kind of thing, and the files that were left out."""

    counts: dict[str, int]
    left_out: tuple[str, ...] = ()


def key_of(text: str | None) -> bytes:
    """The key of the tokens: the user's, for which tokens are the same in other runs, or one of this run alone."""
    return text.encode("utf-8", "surrogateescape") if text else os.urandom(32)


def in_words(redaction: Redaction) -> list[str]:
    """What was done, in a line or two: counts by kind of thing, and what was left out."""
    counts = ", ".join(f"{kind} {count}" for kind, count in redaction.counts.items()) or "nothing"
    lines = [f"replaced: {counts}"]
    if redaction.left_out:
        more = len(redaction.left_out) - _SHOWN
        names = ", ".join(redaction.left_out[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"left out, because names in what is no text can't be replaced: {names}")
    return lines


def redact_folder(folder: Path, key: bytes, hosts: Sequence[str] = ()) -> Redaction:
    """Replaces names in all files below `folder`, and in their paths; `hosts` are names that are known.

    The manifest of a bundle then says what was replaced, and names no more files than are there. Raises OSError
    where a file cannot be read or written.
    """
    redactor = Redactor(key)
    for host in hosts:
        redactor.learn_host(host)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    named = {path: _host_of(path) for path in files if path.name == _MANIFEST}
    names = {path: name for path, name in named.items() if name}
    for name in names.values():
        redactor.learn_host(name)
    for path in files:
        redactor.learn_path(path.relative_to(folder).as_posix())
    left_out = [path for path in files if not is_text(path)]
    parts = parts_of([path for path in files if path not in left_out])
    for learnt in on_all_cores(learn, parts):
        redactor.learn_from(learnt)
    for counts in on_all_cores(partial(rewrite, redactor), parts):
        redactor.add_counts(counts)
    written: dict[Path, list[Path]] = {}
    for part in parts:
        written.setdefault(part.path, []).append(part.written)
    moved = {path: _moved(path, folder, redactor, pieces) for path, pieces in written.items()}
    for path in left_out:
        path.unlink()
    told = tuple(redactor.redact(path.relative_to(folder).as_posix()) for path in left_out)
    redaction = Redaction(dict(sorted(redactor.counts.items())), told)
    for path in files:
        if path in names:
            others = [new for new in moved.values() if new != moved[path]]
            _renew_manifest(moved[path], redactor.known_host(names[path]), others, redaction)
    return redaction


def is_text(path: Path) -> bool:
    """Whether the file can be looked through: text in UTF-8 or nearly, or in UTF-16."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(UTF16):
        return True
    strange = sum(byte in _NO_TEXT for byte in head) + (len(head) if head[:1] == b"\x80" else 0)
    zeros = head.count(0) if len(set(head)) > 1 else 0
    return strange + (zeros if zeros > len(head) // 3 else 0) <= _MOST_NO_TEXT * len(head)


def _moved(path: Path, folder: Path, redactor: Redactor, pieces: Sequence[Path]) -> Path:
    """Puts what was written of a file together, in its place; where the file is now."""
    new = folder / redactor.redact(path.relative_to(folder).as_posix())
    with pieces[0].open("ab") as file:
        for piece in pieces[1:]:
            with piece.open("rb") as more:
                shutil.copyfileobj(more, file, _BLOCK_BYTES)
            piece.unlink()
    path.unlink()
    for parent in reversed(new.relative_to(folder).parents):
        (folder / parent).mkdir(mode=0o700, exist_ok=True)
    pieces[0].replace(new)
    _remove_empty(path.parent, folder)
    return new


def _remove_empty(place: Path, folder: Path) -> None:
    """Removes folders that nothing is left in: their names may be what was replaced."""
    while place != folder and not any(place.iterdir()):
        place.rmdir()
        place = place.parent


def _host_of(manifest: Path) -> str:
    """The host that the manifest of a bundle names; empty for that of something else."""
    try:
        about = json.loads(manifest.read_bytes())
        return str(about["host"] or "unknown") if str(about["schema"]).startswith("diagnose.bundle/") else ""
    except (ValueError, KeyError, TypeError):
        return ""


def _renew_manifest(manifest: Path, host: str, files: Sequence[Path], redaction: Redaction) -> None:
    """Writes the manifest anew with sizes, sums and paths as they are now."""
    about: dict[str, Any] = json.loads(manifest.read_bytes())
    entries: list[dict[str, Any]] = [entry for entry in about.get("artifacts", []) if isinstance(entry, dict)]
    base = manifest.parent
    here = {file.relative_to(base).as_posix(): file for file in files if base in file.parents}
    for entry in entries:
        path = entry.get("path")
        if not path:
            continue
        if path in here:
            content = here[path].read_bytes()
            entry.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        else:
            entry.update(path=None, bytes=0, sha256="", outcome="skipped", error=_LEFT_OUT)
    about["host"] = host
    about["redacted"] = {"replaced": redaction.counts, "left_out": list(redaction.left_out)}
    text = json.dumps(about, indent=1) + "\n"
    beside = manifest.with_name("manifest.json.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(manifest)
