"""`diagnose collect` and `diagnose redact`: their options, each put into one call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diagnose.output import write
from kb.errors import InputError

Evidence = Annotated[list[str], typer.Argument(help="A bundle, an archive, a directory, a file, or -.")]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Archive (.tar.zst, .tar.gz, .tar.xz) or directory.", show_default=False),
]
Names = Annotated[
    list[str] | None,
    typer.Option(help="Names of sources, divided by commas; * and ? are wildcards.", show_default=False),
]
Probes = Annotated[
    list[str] | None,
    typer.Option(
        help="Also put to the test, by commas: p2p, staged, allreduce, nccl-init, cuinit, shm, network.",
        show_default=False,
    ),
]
ProbeAnyway = Annotated[
    bool, typer.Option("--probe-anyway", help="Probe the GPUs though other processes hold them.")
]
RedactKey = Annotated[
    str | None,
    typer.Option(
        envvar="DIAGNOSE_REDACT_KEY",
        show_envvar=True,
        help="Secret word; the same word gives the same tokens in other bundles.",
        show_default=False,
    ),
]


def collect(
    out: Out = None,
    deadline: Annotated[float, typer.Option(help="Seconds for the whole run.", min=1.0)] = 60.0,
    pid: Annotated[
        list[int] | None,
        typer.Option(help="Process of the job; else all that hold a GPU. May be repeated.", show_default=False),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(help="Python of the job; else those of its processes. May be repeated.", show_default=False),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Log of the job, or a pattern of several. May be repeated.", show_default=False),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(help="Watch memory and load of the GPUs for so long, for instance 20s.", show_default=False),
    ] = None,
    root: Annotated[
        Path, typer.Option(help="Read the files of this root, such as that of the host in a container.")
    ] = Path("/"),
    only: Names = None,
    skip: Names = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be read and run.")] = False,
    max_size: Annotated[int, typer.Option(help="Most megabytes of the bundle, unpacked.", min=1)] = 200,
    redact: Annotated[bool, typer.Option("--redact", help="Replace names and addresses by tokens.")] = False,
    redact_key: RedactKey = None,
    probe: Probes = None,
    probe_anyway: ProbeAnyway = False,
) -> None:
    """Gather evidence from this machine into a bundle; its path is the last line of the output."""
    from collectors.taking import RequestError, Wanted, planned, seconds_of
    from diagnose.collecting import collect_bundle
    from diagnose.probing import probing

    then = probing(probe, python[0] if python else None, anyway=probe_anyway) if probe else None
    try:
        sample_s = seconds_of(sample) if sample is not None else 0.0
        wanted = Wanted(
            root=root,
            pids=tuple(pid or ()),
            pythons=tuple(python or ()),
            logs=tuple(log or ()),
            sample_s=sample_s,
            only=tuple(only or ()),
            skip=tuple(skip or ()),
            max_bytes=max_size * 1_000_000,
            redact=redact or redact_key is not None,
            redact_key=redact_key,
        )
        plan = planned(wanted) if dry_run else []
    except RequestError as error:
        raise InputError(str(error)) from error
    if dry_run:
        write("".join(f"{line}\n" for line in plan), None)
    else:
        typer.echo(collect_bundle(out, deadline, wanted, then))


def redact(
    inputs: Evidence,
    output: Annotated[Path, typer.Option("-o", "--output", help="Archive, directory, or file for one file.")],
    redact_key: RedactKey = None,
) -> None:
    """Copy evidence without secrets, names and addresses, so that it can be shown; its path is the last line."""
    from collectors.redact import in_words, key_of
    from diagnose.redacting import redact_evidence

    path, redaction = redact_evidence(inputs, output, key_of(redact_key))
    for line in in_words(redaction):
        typer.echo(f"diagnose: {line}", err=True)
    typer.echo(path)
