"""Folders, archives and bundles made of a few files, and what was opened, for tests of what opens them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

from collectors.open import Opened


def tarred(files: dict[str, bytes], *more: tarfile.TarInfo) -> bytes:
    """A tar of these files, and of members without content."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in more:
            archive.addfile(member)
    return raw.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of these files."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return raw.getvalue()


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    """The files below the folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def contents(opened: Opened) -> dict[str, bytes]:
    """The content of each file, by its path."""
    return {file.path: file.content.data for file in opened.files}


def reasons(opened: Opened) -> list[tuple[str, str]]:
    """What is left unread, by its name, and why."""
    return [(Path(one.what).name, one.reason) for one in opened.unread]


def manifest(*artifacts: dict, **more) -> bytes:
    """The manifest of a bundle of these artifacts."""
    return json.dumps({"schema": "diagnose.bundle/1", "host": "node-7", "artifacts": artifacts, **more}).encode()
