"""`diagnose redact`: a copy of evidence without names and secrets, fit to be shown to others."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from collectors.live.scrub import Scrubber
from collectors.nested import Piece
from collectors.open import open_evidence, short_names
from collectors.pack import bundle_folder, is_archive, pack
from collectors.redact import Redaction, redact_folder
from kb.errors import InputError

_STEP = 1 << 20


def redact_evidence(paths: Sequence[str], out: Path, key: bytes) -> tuple[Path, Redaction]:
    """Where the copy is, an archive or a folder by the name of `out`, or a file where the evidence is one.

    Raises InputError where there is no evidence, where `out` exists, or where it can't be written.
    """
    if out.exists() and not is_archive(out):
        raise InputError(f"expected a new place for the copy, found something at {out}; name another with -o")
    pieces = _pieces(paths)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{bundle_folder(out).name}.", dir=out.parent))
        try:
            for path, piece in pieces:
                _write(folder / path, piece)
            redaction = redact_folder(folder, key)
            return _placed(folder, out, alone=len(pieces) == 1), redaction
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"could not write the copy {out}: {why}; name another place with -o") from error


def _pieces(paths: Sequence[str]) -> list[tuple[Path, Piece]]:
    """Every file of the evidence and where it belongs in the copy."""
    found = []
    for name, prefix in zip(paths, short_names(paths), strict=True):
        opened = open_evidence([name])
        inside = len(paths) > 1 and {one.kind for one in opened.inputs} != {"file"}
        found += [(Path(prefix if inside else "", piece.path.lstrip("/")), piece) for piece in opened.pieces]
    return found


def _write(path: Path, piece: Piece) -> None:
    """Writes one file, without its secrets."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    scrubber = Scrubber()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, piece.content.stream() as stream:
        while data := stream.read(_STEP):
            file.write(scrubber.feed(data))
        file.write(scrubber.end())


def _placed(folder: Path, out: Path, *, alone: bool) -> Path:
    """The copy under its name."""
    if is_archive(out):
        return pack(folder, out)
    only = [path for path in folder.rglob("*") if path.is_file()]
    if alone and len(only) == 1:
        return only[0].rename(out)
    return folder.rename(out)
