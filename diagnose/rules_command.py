"""`diagnose rules`: the kit of those who write rules. Parses options and prints; rules_kit does the work."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kb.errors import DiagnoseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diagnose.explain import Case
    from kb.load import LoadedRules
    from kb.rule import Cause, RuleBase

app = typer.Typer(help="What the rules say, and the kit to write them.", no_args_is_help=True)


CLEAR = "\x1b[2J\x1b[H"
"""Empties a terminal; left out where there is none."""


class ListFormat(str, Enum):
    """How a list is printed."""

    text = "text"
    json = "json"


Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PATH]...", help="Rule files or directories; without any, the rules of this program."),
]
MoreRules = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="DIR", help="Directory with more rules; may be repeated.", show_default=False),
]
Form = Annotated[ListFormat, typer.Option("--format", help="Form of the list.")]


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Prints what the user can mend to standard error and ends with 2."""
    try:
        yield
    except DiagnoseError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


@app.command("list")
def list_rules(rules: MoreRules = None, format: Form = ListFormat.text) -> None:  # noqa: A002
    """List all causes: id, status, title."""
    from diagnose import rules_kit

    with _usage_errors():
        rows = rules_kit.rows(rules_kit.with_shipped(rules))
    if format is ListFormat.json:
        _print_json({"schema": "diagnose.rules/1", "causes": rows})
        return
    width = max((len(row["id"]) for row in rows), default=0)
    for row in rows:
        typer.echo(f"{row['id']:{width}}  {row['status']:12}  {row['title']}")


@app.command()
def show(
    cause: Annotated[str, typer.Argument(metavar="ID", help="Id of a cause.")], rules: MoreRules = None
) -> None:
    """Show one cause as a page: how it comes about, what speaks for and against it, what to do."""
    from diagnose import rules_kit
    from diagnose.rules_page import page

    with _usage_errors():
        found = rules_kit.cause_named(cause, rules_kit.with_shipped(rules))
    typer.echo(page(found), nl=False)


@app.command()
def lint(paths: Paths = None) -> None:
    """Check rules; print every fault with file, line and column, and end with 1 where there is one."""
    from diagnose import rules_kit

    loaded = _sound_rules(paths)
    rules = sum(rules_kit.is_under(one.path, paths) for one in loaded.items)
    typer.echo(f"{_count(rules, 'rule')}, no fault", err=True)


@app.command("test")
def run_examples(
    paths: Paths = None,
    mutate: Annotated[
        bool,
        typer.Option("--mutate", help="Change each test and weight in turn; print what no example notices."),
    ] = False,
) -> None:
    """Check rules and run the examples in them; print those that fail, and end with 1 where one does."""
    from diagnose import rules_kit
    from diagnose.rules_examples import run_example

    loaded = _sound_rules(paths)
    causes = rules_kit.causes_under(loaded, paths)
    if mutate:
        _print_survivors(loaded.base, causes)
        return
    runs = [run_example(loaded.base, cause, example) for cause in causes for example in cause.examples]
    failed = [run for run in runs if run.faults]
    for run in failed:
        typer.echo(f"FAILED {run.cause.cause}: {run.example.name}")
        typer.echo("\n".join(f"  {line}" for line in (*run.faults, "ledger:", *run.ledger())))
    summary = f"{_count(len(runs), 'example')} of {_count(len(causes), 'cause')}, {len(failed)} failed"
    typer.echo(summary, err=True)
    if failed:
        raise typer.Exit(1)


@app.command("try")
def try_rule(
    rule: Annotated[Path, typer.Argument(metavar="RULE", help="Rule file or directory of rules.")],
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Evidence to try it on.")],
    watch: Annotated[bool, typer.Option("--watch", help="Try again each time that the rule is saved.")] = False,
) -> None:
    """Show why a rule comes out, or does not, on some evidence."""
    from diagnose.explain import read_case
    from diagnose.rules_try import each_change

    with _usage_errors():
        case = read_case(inputs)
    if not watch:
        _print_tried(rule, case)
        return
    for _ in each_change(rule):
        typer.echo(CLEAR, nl=False)
        with suppress(typer.Exit):
            _print_tried(rule, case)


def _print_tried(rule: Path, case: Case) -> None:
    """Prints the proof of each cause, or what it lacks; where the rules have faults, those, and ends with 1."""
    from diagnose.output import on_console, write
    from diagnose.render.why import render_why, render_why_not
    from diagnose.rules_try import tried

    with _usage_errors():
        found, faults = tried(rule, case)
    for fault in faults:
        typer.echo(str(fault))
    if faults:
        raise typer.Exit(1)
    for cause, finding, diagnosis in found:
        if finding is None:
            show = partial(render_why_not, cause, diagnosis)
        else:
            show = partial(render_why, finding, full=True, diagnosis=diagnosis)
        write(on_console(None, show), None)


def _print_survivors(base: RuleBase, causes: Sequence[Cause]) -> None:
    """Prints the changes that no example notices, cause by cause, and the share of those that one does."""
    from diagnose.rules_mutate import survivors

    alive = total = 0
    for cause in causes:
        changes, of_cause = survivors(base, cause)
        alive, total = alive + len(changes), total + of_cause
        typer.echo(f"{cause.cause}: {of_cause - len(changes)} of {of_cause} changes are noticed")
        typer.echo("".join(f"  {change}\n" for change in changes), nl=False)
    share = 100 * (total - alive) // total if total else 100
    typer.echo(f"{_count(total, 'change')} of {_count(len(causes), 'cause')}, {share} % noticed", err=True)


@app.command()
def schema(rules: MoreRules = None) -> None:
    """Print a JSON Schema of rule files, by which editors complete fact kinds, fields and ids."""
    from diagnose import rules_kit
    from kb.schema import rule_schema

    with _usage_errors():
        base = rules_kit.with_shipped(rules)
    _print_json(rule_schema(base))


@app.command()
def coverage(
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Case folders: show which exercise each cause.", show_default=False),
    ] = None,
    rules: MoreRules = None,
    format: Form = ListFormat.text,  # noqa: A002
) -> None:
    """Show what the rules cover, by cause and by code; end with 1 where something is unaccounted for."""
    from diagnose import rules_coverage, rules_kit

    with _usage_errors():
        found = rules_coverage.coverage(rules_kit.with_shipped(rules), corpus)
    if format is ListFormat.json:
        _print_json(rules_coverage.as_values(found))
    else:
        typer.echo("\n".join(rules_coverage.as_lines(found)))
    if found.unaccounted:
        raise typer.Exit(1)


def _sound_rules(paths: list[Path] | None) -> LoadedRules:
    """The rules at these paths. Where one of them has a fault, prints all faults and ends with 1."""
    from diagnose import rules_kit

    with _usage_errors():
        loaded = rules_kit.rules_at(paths)
    faults = rules_kit.faults_under(loaded, paths)
    if not faults:
        return loaded
    for fault in faults:
        typer.echo(str(fault))
    files = len({fault.place.path for fault in faults})
    typer.echo(f"{_count(len(faults), 'fault')} in {_count(files, 'file')}", err=True)
    raise typer.Exit(1)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
