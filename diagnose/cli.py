"""The command line: parse options, call one function, print. Standard output carries the result alone."""

from __future__ import annotations

import gc
import os

# Collecting cycles while modules load finds none and costs a tenth of a short run.
gc.set_threshold(100_000, 50, 50)
# We have no pydantic plugins; looking for them reads the metadata of every installed package.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from diagnose import __version__
from diagnose.failures import in_one_line
from diagnose.output import as_json, on_console, rendered, write
from kb.errors import DiagnoseError, InputError

MANIFEST = "manifest.json"

if TYPE_CHECKING:
    from diagnose.render.report import Report
    from engine.result import Diagnosis

app = typer.Typer(
    name="diagnose",
    help="Finds the root cause when multi-GPU training or serving fails: collect evidence, then explain it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

HEALTHY, FAULT, USAGE, UNDECIDED = 0, 1, 2, 3
INTERRUPTED = 130
ACCUSES = 0.5


class Format(str, Enum):
    """Formats of a report."""

    text = "text"
    json = "json"
    markdown = "markdown"


class FactsFormat(str, Enum):
    """Formats of the list of facts."""

    text = "text"
    json = "json"


Inputs = Annotated[
    list[str] | None,
    typer.Argument(help="A bundle, an archive, a directory, a file, or - for standard input.", show_default=False),
]
Evidence = Annotated[list[str], typer.Argument(help="A bundle, an archive, a directory, a file, or -.")]
RuleDirs = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="Directory with more rules; may be repeated.", show_default=False),
]
Run = Annotated[
    int | None,
    typer.Option("--run", help="Which run, where a log holds several; else the last.", min=1, show_default=False),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write the result there.", show_default=False)]


def run() -> NoReturn:
    """`main`, and then the end at once: taking all modules apart again would cost a tenth of a short run."""
    status = HEALTHY
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else USAGE
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


def main() -> NoReturn:
    """Runs the command line; what a user can mend ends in one line on stderr and exit status 2."""
    try:
        status = app(prog_name="diagnose", standalone_mode=False)
    except DiagnoseError as error:
        _end(str(error))
    except typer.Abort:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - exit status 1 would say that a fault was found
        _end(in_one_line(error))
    sys.exit(status if isinstance(status, int) else HEALTHY)


def _end(message: str) -> NoReturn:
    if message and sys.stderr is not None:  # none where the help has been shown instead
        print(f"diagnose: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(USAGE)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"diagnose {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _add_collecting() -> None:
    from diagnose.collect_command import collect, redact

    app.command()(collect)
    app.command()(redact)


_add_collecting()


@app.command()
def explain(
    inputs: Inputs = None,
    format: Annotated[Format, typer.Option("--format", help="Form of the report.")] = Format.text,  # noqa: A002
    output: Output = None,
    rules: RuleDirs = None,
    run: Run = None,
    min_confidence: Annotated[float, typer.Option(help="Leave out causes below this.", min=0.0, max=1.0)] = 0.0,
    all: Annotated[bool, typer.Option("--all", help="Also show weak causes.")] = False,  # noqa: A002
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer.")] = False,
) -> None:
    """Infer the root causes from evidence and rank the remedies. Without INPUT: the newest bundle here."""
    from diagnose.explain import explain as explained

    report = explained(inputs or [newest_bundle(Path())], rules or [], run)
    warn(report)
    write(rendered(_above(report, min_confidence), format.value, output, everything=all, quiet=quiet), output)
    raise typer.Exit(exit_status(report.diagnosis))


def warn(*reports: Report) -> None:
    """Prints what is wrong with rules that took part, or were to, on standard error: each fault once."""
    for line in dict.fromkeys(line for one in reports for line in one.rule_faults):
        typer.echo(line, err=True)


def newest_bundle(directory: Path) -> str:
    """The path of the newest bundle in a directory. Raises InputError where there is none."""
    bundles = [path for path in directory.glob("diagnose-*") if _is_bundle(path)]
    if not bundles:
        raise InputError(
            "expected evidence, found no bundle here; run `diagnose collect`, or name a file to explain"
        )
    return str(max(bundles, key=lambda path: path.stat().st_mtime))


def _is_bundle(path: Path) -> bool:
    from collectors.pack import SUFFIXES

    return (path / MANIFEST).is_file() or (path.is_file() and path.name.endswith(SUFFIXES))


def exit_status(diagnosis: Diagnosis) -> int:
    """1: a fault with confidence of at least 0.5. 0: no fault, and the evidence shows so. 3: it can't tell."""
    from diagnose.render.report import outlook

    if any(one.cause.kind == "fault" and one.confidence >= ACCUSES for one in diagnosis.findings):
        return FAULT
    return UNDECIDED if outlook(diagnosis) in {"undecided", "fault"} else HEALTHY


def _above(report: Report, min_confidence: float) -> Report:
    from dataclasses import replace

    kept = tuple(one for one in report.diagnosis.findings if one.confidence >= min_confidence)
    weaker = tuple(one for one in report.diagnosis.weaker if one.confidence >= min_confidence)
    return replace(report, diagnosis=replace(report.diagnosis, findings=kept, weaker=weaker))


@app.command()
def facts(
    inputs: Evidence,
    format: Annotated[FactsFormat, typer.Option("--format", help="Form of the list.")] = FactsFormat.text,  # noqa: A002
    as_example: Annotated[
        bool, typer.Option("--as-example", help="In the form that examples of rules take.")
    ] = False,
    output: Output = None,
    rules: RuleDirs = None,
) -> None:
    """Show what was read from where: every fact with its source, every file with the readers that took it."""
    from diagnose.explain import read_case
    from diagnose.render import facts as render
    from diagnose.run_rules import lines_of_users

    case = read_case(inputs, lines=lines_of_users(rules or []))
    if as_example:
        from diagnose.as_example import example_lines

        text = "".join(f"{line}\n" for line in example_lines(case.observed, case.looked))
    elif format is FactsFormat.json:
        text = as_json(render.facts_json(case.files, case.observed, case.looked))
    else:
        text = on_console(output, lambda c: render.facts_text(case.files, case.observed, case.looked, c))
    write(text, output)


@app.command()
def why(
    cause: Annotated[str, typer.Argument(help="Id of a cause, for instance p2p.iommu-corruption.")],
    inputs: Evidence,
    full: Annotated[bool, typer.Option("--full", help="Every line of the proof.")] = False,
    rules: RuleDirs = None,
    run: Run = None,
) -> None:
    """Show the whole proof of one cause."""
    from diagnose.explain import asked_about
    from diagnose.render.why import render_why, render_why_not

    asked, found, report = asked_about(cause, inputs, rules or [], run)
    diagnosis = report.diagnosis
    warn(report)
    if found is None:
        write(on_console(None, lambda console: render_why_not(asked, diagnosis, console)), None)
        raise typer.Exit(UNDECIDED)
    write(on_console(None, lambda console: render_why(found, console, full=full, diagnosis=diagnosis)), None)


@app.command("why-not")
def why_not(
    cause: Annotated[str, typer.Argument(help="Id of a cause that did not come out.")],
    inputs: Evidence,
    rules: RuleDirs = None,
    run: Run = None,
) -> None:
    """Show what speaks against a cause, and which conditions or facts are missing."""
    from diagnose.explain import asked_about
    from diagnose.render.why import render_why_not

    asked, _, report = asked_about(cause, inputs, rules or [], run)
    warn(report)
    write(on_console(None, lambda console: render_why_not(asked, report.diagnosis, console)), None)


@app.command()
def compare(
    before: Annotated[str, typer.Argument(help="Evidence of an earlier moment.")],
    after: Annotated[list[str], typer.Argument(help="Evidence of later moments, in order.")],
    format: Annotated[FactsFormat, typer.Option("--format", help="Form of the result.")] = FactsFormat.text,  # noqa: A002
    output: Output = None,
    rules: RuleDirs = None,
) -> None:
    """Show what changed between bodies of evidence, and which causes went, came and stayed."""
    from diagnose.compare import compare as run
    from diagnose.render.comparison import comparison_json, render_comparison

    comparison = run([before, *after], rules or [])
    warn(*comparison.reports)
    if format is FactsFormat.json:
        text = as_json(comparison_json(comparison))
    else:
        text = on_console(output, lambda console: render_comparison(comparison, console))
    write(text, output)


def _add_rules() -> None:
    from diagnose.rules_command import app as rules_app

    app.add_typer(
        rules_app,
        name="rules",
        help="The rule author's kit: list, show, vocabulary, new, try, lint, test, coverage, schema.",
    )


_add_rules()
