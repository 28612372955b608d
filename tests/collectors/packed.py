"""Archives made of a few files, for tests of what opens them."""

from __future__ import annotations

import io
import tarfile
import zipfile


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
