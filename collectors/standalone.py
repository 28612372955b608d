"""The command line of the collector that is one file, for machines where nothing can be installed.

Its options are those of `diagnose collect`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from collectors.taking import RequestError, Wanted, planned, say, seconds_of, take_bundle

USAGE = 2


def main(version: str, arguments: Sequence[str] | None = None) -> int:
    """The exit status. Prints the path of the bundle as the last line, or the plan."""
    given = _options(version).parse_args(arguments)
    try:
        wanted = _wanted(given)
        if given.dry_run:
            print("\n".join(planned(wanted)))  # noqa: T201
        else:
            out = Path(given.output) if given.output else None
            print(take_bundle(out, given.deadline, wanted, version=version, warn=say))  # noqa: T201
    except RequestError as error:
        say(str(error))
        return USAGE
    except BrokenPipeError:  # whoever read the plan has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _options(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="diagnose-collect",
        description="Gather evidence from this machine into a bundle, for `diagnose explain` on another; its path"
        " is the last line of the output.",
    )
    add = parser.add_argument
    add("--version", action="version", version=f"diagnose {version}")
    add("-o", "--output", metavar="PATH", help="archive (.tar.gz, .tar.xz) or directory")
    add("--deadline", type=float, default=60.0, metavar="S", help="seconds for the whole run (60)")
    add("--pid", type=int, action="append", metavar="N", help="process of the job; else all that hold a GPU")
    add("--python", action="append", metavar="PATH", help="Python of the job; else those of its processes")
    add("--log", action="append", metavar="PATH", help="log of the job, or a pattern of several")
    add("--sample", metavar="TIME", help="watch the GPUs for so long, for instance 20s")
    add("--root", default="/", metavar="PATH", help="read the files of this root, such as that of the host")
    add("--only", action="append", metavar="NAMES", help="names of sources, divided by commas; * is a wildcard")
    add("--skip", action="append", metavar="NAMES", help="the same, to leave out")
    add("--dry-run", action="store_true", help="only say what would be read and run")
    add("--max-size", type=int, default=200, metavar="MB", help="most megabytes, unpacked (200)")
    add("--redact", action="store_true", help="replace names and addresses by tokens")
    add(
        "--redact-key",
        metavar="WORD",
        default=os.environ.get("DIAGNOSE_REDACT_KEY"),
        help="for the same tokens elsewhere",
    )
    return parser


def _wanted(given: argparse.Namespace) -> Wanted:
    """What the options ask for. Raises RequestError where that cannot be."""
    if given.deadline < 1 or given.max_size < 1:
        raise RequestError("expected at least 1 after --deadline and --max-size")
    return Wanted(
        root=Path(given.root),
        pids=tuple(given.pid or ()),
        pythons=tuple(given.python or ()),
        logs=tuple(given.log or ()),
        sample_s=seconds_of(given.sample) if given.sample else 0.0,
        only=tuple(given.only or ()),
        skip=tuple(given.skip or ()),
        max_bytes=given.max_size * 1_000_000,
        redact=given.redact or given.redact_key is not None,
        redact_key=given.redact_key,
        suffix=".tar.gz",
    )
