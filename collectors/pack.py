"""A bundle's folder to one archive, or to a folder where the name asks for none. Same folder, same bytes.

It knows nothing of what is in a bundle but the time in its manifest, which all members carry.
"""

from __future__ import annotations

import calendar
import gzip
import json
import lzma
import os
import re
import shutil
import tarfile
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".tar.zst", ".tar.gz", ".tar.xz", ".tar", ".tzst", ".tgz", ".txz")

# Python 3.6 cannot parse it otherwise; this goes into the collector that is one file.
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?([+-])(\d\d):(\d\d)")

_ZSTD_LEVEL = 10


def is_archive(out: Path) -> bool:
    """Whether `out` names an archive rather than a folder."""
    return _suffix(out) is not None


def bundle_folder(out: Path) -> Path:
    """The folder to collect into before `pack` makes `out` of it: `out` without its archive suffix."""
    suffix = _suffix(out)
    return out if suffix is None else out.with_name(out.name[: -len(suffix)])


def pack(bundle: Path, out: Path, *, remove: bool = False) -> Path:
    """`out`, made of the folder `bundle`: an archive by its suffix, or else the folder itself moved there.

    Members lie in one folder of the archive's name, the manifest first, then by path, with mode 600 and
    without an owner; links and special files are left out. The archive appears whole or not at all; an older
    one of that name is replaced. With `remove` the folder is deleted once the archive is there. Raises
    OSError where it cannot be written, ModuleNotFoundError if .tar.zst is wanted without `zstandard`.
    """
    if not is_archive(out):
        return _moved(bundle, out)
    out.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    try:
        with os.fdopen(descriptor, "wb") as raw, _compressed(raw, out) as stream:
            _write_tar(bundle, bundle_folder(out).name, stream)
        Path(name).replace(out)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    if remove:
        shutil.rmtree(bundle)
    return out


def _suffix(out: Path) -> str | None:
    """The suffix by which `out` is an archive."""
    return next((suffix for suffix in SUFFIXES if out.name.endswith(suffix) and out.name != suffix), None)


def _moved(bundle: Path, out: Path) -> Path:
    """`out`, the folder under its new name."""
    if bundle == out:
        return out
    if out.exists():  # shutil.move would put the folder into it
        raise FileExistsError(f"{out} exists already; name another place for the bundle")
    return Path(shutil.move(str(bundle), str(out)))


@contextmanager
def _compressed(raw: IO[bytes], out: Path) -> Iterator[IO[bytes]]:
    """A stream into `raw` that compresses as the name of `out` says, with no time or name in its header."""
    suffix = _suffix(out) or ""
    if suffix.endswith("zst"):
        import zstandard

        compressor = zstandard.ZstdCompressor(_ZSTD_LEVEL, write_checksum=True)
        with compressor.stream_writer(raw, closefd=False) as stream:
            yield stream
    elif suffix.endswith("gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield cast("IO[bytes]", stream)
    elif suffix.endswith("xz"):
        with lzma.LZMAFile(raw, "wb") as stream:
            yield stream
    else:
        yield raw


def _write_tar(bundle: Path, folder: str, stream: IO[bytes]) -> None:
    """Writes the folder's files as a tar archive."""
    mtime = _finished(bundle)
    files = sorted(path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink())
    files.sort(key=lambda path: path != bundle / "manifest.json")
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            member = tarfile.TarInfo(f"{folder}/{path.relative_to(bundle).as_posix()}")
            member.size, member.mtime, member.mode = path.stat().st_size, mtime, 0o600
            with path.open("rb") as content:
                archive.addfile(member, content)


def _finished(bundle: Path) -> int:
    """When the bundle was finished, in whole seconds since 1970; 0 where its manifest does not say."""
    try:
        manifest = json.loads((bundle / "manifest.json").read_bytes())
        match = _STAMP.fullmatch(manifest["finished"])
        local, sign, hours, minutes = match.groups() if match else ("", "", "", "")
        offset_s = (int(hours) * 60 + int(minutes)) * 60 * (-1 if sign == "-" else 1)
        return calendar.timegm(time.strptime(local, "%Y-%m-%dT%H:%M:%S")) - offset_s
    except (OSError, ValueError, KeyError, TypeError):
        return 0
