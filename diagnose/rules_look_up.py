"""The commands of `diagnose rules` that only show what there is: list, show, vocabulary."""

from __future__ import annotations

import json
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kb.errors import DiagnoseError

if TYPE_CHECKING:
    from collections.abc import Iterator


class ListFormat(str, Enum):
    """How a list is printed."""

    text = "text"
    json = "json"


class Sort(str, Enum):
    """What the vocabulary holds."""

    symptoms = "symptoms"
    facts = "facts"
    probes = "probes"
    readers = "readers"


MoreRules = Annotated[
    list[Path] | None,
    typer.Option("--rules", metavar="DIR", help="Directory with more rules; may be repeated.", show_default=False),
]
Form = Annotated[ListFormat, typer.Option("--format", help="Form of the list.")]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Prints what the user can mend to standard error and ends with 2."""
    try:
        yield
    except DiagnoseError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def print_json(value: Any) -> None:
    """Prints plain values as JSON."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))


def list_rules(rules: MoreRules = None, format: Form = ListFormat.text) -> None:  # noqa: A002
    """List all causes: id, status, title."""
    from diagnose import rules_kit

    with usage_errors():
        rows = rules_kit.rows(rules_kit.with_shipped(rules))
    if format is ListFormat.json:
        print_json({"schema": "diagnose.rules/1", "causes": rows})
        return
    width = max((len(row["id"]) for row in rows), default=0)
    for row in rows:
        instead = f" (replaced by {' and '.join(row['replaced_by'])})" if row["replaced_by"] else ""
        typer.echo(f"{row['id']:{width}}  {row['status']:12}  {row['title']}{instead}")


def show(
    cause: Annotated[str, typer.Argument(metavar="ID", help="Id of a cause; with --yaml also of a symptom.")],
    rules: MoreRules = None,
    yaml: Annotated[bool, typer.Option("--yaml", help="The rule as it stands in its file.")] = False,
) -> None:
    """Show one cause as a page: how it comes about, what speaks for and against it, what to do."""
    from diagnose import rules_kit
    from diagnose.rules_page import page

    with usage_errors():
        base = rules_kit.with_shipped(rules)
        text = rules_kit.text_of_rule(cause, base) if yaml else page(rules_kit.cause_named(cause, base))
    typer.echo(text, nl=False)


def vocabulary(
    sort: Annotated[Sort, typer.Argument(help="Which of them.", show_default=False)],
    name: Annotated[str | None, typer.Argument(help="Only this one, in full.", show_default=False)] = None,
    rules: MoreRules = None,
    format: Form = ListFormat.text,  # noqa: A002
) -> None:
    """List what rules may speak of: symptoms, kinds of facts, probes, or readers; one of them in full."""
    from diagnose import rules_kit, rules_vocabulary

    with usage_errors():
        base = rules_kit.with_shipped(rules)
        found = (
            [rules_vocabulary.entry(sort.value, name, base)]
            if name
            else rules_vocabulary.entries(sort.value, base)
        )
    if format is ListFormat.json:
        print_json({"schema": "diagnose.vocabulary/1", sort.value: found})
        return
    lines = rules_vocabulary.as_page(found[0]) if name else rules_vocabulary.as_lines(found)
    typer.echo("\n".join(lines))
