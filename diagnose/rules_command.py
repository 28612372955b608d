"""`diagnose rules`: the kit of those who write rules. Parses options and prints; rules_kit does the work."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diagnose.rules_look_up import (
    Form,
    ListFormat,
    MoreRules,
    list_rules,
    print_json,
    show,
    usage_errors,
    vocabulary,
)
from kb.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from diagnose.explain import Case
    from kb.load import LoadedRules

app = typer.Typer(help="What the rules say, and the kit to write them.", no_args_is_help=True)


CLEAR = "\x1b[2J\x1b[H"
"""Empties a terminal; left out where there is none."""


class LintFormat(str, Enum):
    """In which form faults are printed."""

    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"


Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PATH]...", help="Rule files or directories; without any, the rules of this program."),
]

app.command("list")(list_rules)
app.command()(show)
app.command()(vocabulary)


@app.command()
def new(
    cause: Annotated[str, typer.Argument(metavar="ID", help="Id of the new cause: family.name.")],
    evidence: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="INPUT", help="Begin from what this evidence shows.", show_default=False),
    ] = None,
    line: Annotated[
        list[str] | None,
        typer.Option("--line", metavar="TEXT", help="Begin from lines of it that hold this.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Rules directory; else ./rules or .", show_default=False
        ),
    ] = None,
) -> None:
    """Write the draft of a rule that passes all checks; its path is the last line of the output."""
    from diagnose import rules_kit, rules_new
    from diagnose.explain import read_case

    directory = output or rules_new.default_directory()
    with usage_errors():
        base = rules_kit.with_shipped(None)
        shown = rules_new.PLAIN
        if evidence:
            shown = rules_new.shown_by(read_case(evidence, lines=line or ()), base, line or ())
        elif line:
            raise InputError("--line TEXT says which lines of the evidence count; name that with --from")
        typer.echo(rules_new.write_new(cause, directory, shown, base))


@app.command()
def lint(
    paths: Paths = None,
    format: Annotated[LintFormat, typer.Option("--format", help="Form of the faults.")] = LintFormat.text,  # noqa: A002
    fix: Annotated[
        bool, typer.Option("--fix", help="First write the right name where exactly one is near.")
    ] = False,
) -> None:
    """Check rules; print every fault with file, line and column, and end with 1 where there is one."""
    from diagnose import rules_kit
    from diagnose.render.words import count as counted

    if fix:
        from diagnose.rules_lint import mend

        with usage_errors():
            changes = mend(paths)
        for change in changes:
            typer.echo(f"fixed {change}", err=True)
    loaded = _sound_rules(paths, format)
    rules = sum(rules_kit.is_under(one.path, paths) for one in loaded.items)
    typer.echo(f"{counted(rules, 'rule')}, no fault", err=True)


@app.command("test")
def run_examples(
    paths: Paths = None,
    mutate: Annotated[
        bool,
        typer.Option("--mutate", help="Change each test and weight in turn; print what no example notices."),
    ] = False,
    propose: Annotated[
        bool, typer.Option("--propose", help="With --mutate: print examples that would notice the rest.")
    ] = False,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also run the cases there (NAME/case.yaml, NAME/evidence).", show_default=False
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the outcome as JUnit XML.", show_default=False)
    ] = None,
) -> None:
    """Check rules and run the examples in them; print those that fail, and end with 1 where one does."""
    from diagnose import rules_kit, rules_tests

    loaded = _sound_rules(paths)
    causes = rules_kit.causes_under(loaded, paths)
    if mutate or propose:
        rules_tests.print_survivors(loaded.base, causes, propose=propose)
        return
    tests = rules_tests.tested_examples(loaded.base, causes)
    if corpus is not None:
        with usage_errors():
            base = loaded.base if paths else rules_kit.with_shipped(None)
            tests += rules_tests.tested_cases(base, corpus, [one.cause for one in causes] if paths else None)
    if junit is not None:
        from diagnose.junit import junit_xml
        from diagnose.output import write

        with usage_errors():
            write(junit_xml(tests), junit)
    if any(one.failed for one in tests):
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

    @cache
    def read(lines: tuple[str, ...]) -> Case:
        return read_case(inputs, lines=lines)

    if not watch:
        _print_tried(rule, read)
        return
    for _ in each_change(rule):
        typer.echo(CLEAR, nl=False)
        with suppress(typer.Exit):
            _print_tried(rule, read)


def _print_tried(rule: Path, read: Callable[[tuple[str, ...]], Case]) -> None:
    """Prints the proof of each cause, or what it lacks; where the rules have faults, those, and ends with 1."""
    from diagnose.output import on_console, write
    from diagnose.render.why import render_why, render_why_not
    from diagnose.rules_try import tried

    with usage_errors():
        found, faults = tried(rule, read)
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


@app.command()
def schema(
    rules: MoreRules = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write it there.", show_default=False)
    ] = None,
) -> None:
    """Print a JSON Schema of rule files, by which editors complete fact kinds, fields and ids."""
    from diagnose import rules_kit
    from diagnose.output import as_json, write
    from kb.schema import rule_schema

    with usage_errors():
        write(as_json(rule_schema(rules_kit.with_shipped(rules))), output)


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

    with usage_errors():
        found = rules_coverage.coverage(rules_kit.with_shipped(rules), corpus)
    if format is ListFormat.json:
        print_json(rules_coverage.as_values(found))
    else:
        typer.echo("\n".join(rules_coverage.as_lines(found)))
    if found.unaccounted:
        raise typer.Exit(1)


def _sound_rules(paths: list[Path] | None, form: LintFormat = LintFormat.text) -> LoadedRules:
    """The rules at these paths. Where one of them has a fault, prints all faults and ends with 1."""
    from diagnose import rules_kit
    from diagnose.render.words import count as counted
    from diagnose.rules_lint import in_form

    with usage_errors():
        loaded = rules_kit.rules_at(paths)
        faults = rules_kit.faults_under(loaded, paths)
    typer.echo(in_form(form.value, faults), nl=False)
    if not faults:
        return loaded
    files = len({fault.place.path for fault in faults})
    typer.echo(f"{counted(len(faults), 'fault')} in {counted(files, 'file')}", err=True)
    raise typer.Exit(1)
