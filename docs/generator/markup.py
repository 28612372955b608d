"""Markdown of the site: texts as they stand, code, tables, and links from one page to another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from posixpath import dirname, relpath

from diagnose.render.neutral import markdown_code, markdown_fence
from diagnose.rules_page import Markup, Thing
from kb.facts import fact_types, family_of
from kb.rule import RuleBase

CAUSES = "causes/index.md"
SYMPTOMS = "symptoms.md"
PROBES = "next-tests.md"
FACTS = "facts/index.md"

_MARKED = re.compile(r"[\\*_\[\]<>|~$&]")
_LEADING = re.compile(r"^(\s*)([#+\-=%:(]|\d+(?=[.)]))")
_CODE = re.compile(r"`([^`]+)`")


def text(raw: str) -> str:
    """The text as running Markdown on one line: what stands in backticks is code, and nothing else is markup."""
    parts = _CODE.split(" ".join(raw.split()))
    whole = "".join(code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))
    return _LEADING.sub(_escaped, whole)


def _plain(raw: str) -> str:
    return _MARKED.sub(r"\\\g<0>", raw.replace("`", "'"))


def _escaped(match: re.Match[str]) -> str:
    mark = match[2]
    return f"{match[1]}&#{ord(mark)};" if mark.isdecimal() and len(mark) == 1 else f"{match[1]}\\{mark}"


def code(raw: str) -> str:
    """The text as a code span."""
    return markdown_code(raw)


def fence(raw: str, language: str = "text") -> str:
    """The text as a block of code."""
    return markdown_fence(raw, language)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; empty where there is no row."""
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines]) if lines else ""


def _cell(cell: str) -> str:
    """A bar would end the cell, also in a code span; those of running text are escaped already."""
    return re.sub(r"(?<!\\)\|", r"\\|", cell).replace("\n", " ")


def items(entries: Iterable[str]) -> str:
    """A list of entries that are Markdown already, each on one line."""
    return "\n".join(f"- {entry}" for entry in entries)


def page(*parts: str) -> str:
    """A page of these parts, without the empty ones."""
    return "\n\n".join(part for part in parts if part) + "\n"


def contents(entries: Iterable[tuple[str, str]], *, caption: str = "") -> str:
    """The pages below this one, as the navigation shows them: title and path, from where this page lies."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    lines = [f"{title} <{path.removesuffix('.md')}>" for title, path in entries]
    return "\n".join(["```{toctree}", *options, "", *lines, "```"])


def searched_for(words: Iterable[str]) -> str:
    """Words by which the search finds this page before all that merely hold them; none may hold a comma."""
    entries = ", ".join(f"!{word}" for word in dict.fromkeys(words))
    return f"```{{index}} {entries}\n```" if entries else ""


def link(label: str, target: str, origin: str) -> str:
    """A link from one page to another, or to an anchor of it; the label is Markdown."""
    path, hash_, anchor = target.partition("#")
    return f"[{label}]({relpath(path, dirname(origin) or '.')}{hash_}{anchor})"


@dataclass(frozen=True, slots=True)
class Places:
    """Where each thing that has an id is explained."""

    causes: frozenset[str]
    symptoms: frozenset[str]
    probes: frozenset[str]
    titles: Mapping[str, str]
    """Of causes and symptoms."""

    def of(self, thing: Thing, name: str) -> str | None:
        """The page and the anchor; None where nothing explains it."""
        if thing == "cause":
            return f"causes/{name.replace('.', '/', 1)}.md" if name in self.causes else None
        if thing == "symptom":
            return f"{SYMPTOMS}#{name}" if name in self.symptoms else None
        if thing == "probe":
            return f"{PROBES}#{name}" if name in self.probes else None
        return f"facts/{family_of(name)}.md#{name}" if name in fact_types() else None

    def link(self, thing: Thing, name: str, origin: str) -> str:
        """Its id as a link from a page to where it is explained; the id alone where nothing explains it."""
        target = self.of(thing, name)
        return code(name) if target is None else link(code(name), target, origin)

    def titled(self, cause: str, origin: str) -> str:
        """The title of a cause as a link from a page, and its id."""
        target = self.of("cause", cause)
        if target is None:
            return code(cause)
        return f"{link(text(self.titles[cause]), target, origin)} ({code(cause)})"

    def in_cell(self, cause: str, origin: str) -> str:
        """The same for a cell of a table, where the id has a line of its own."""
        return self.titled(cause, origin).replace(f" ({code(cause)})", f"<br>{code(cause)}")

    def markup(self, origin: str) -> Markup:
        """How a page of a cause is written, as part of the page of that path."""
        return Markup(text=text, name=partial(self._name, origin), address=address, width=None)

    def _name(self, origin: str, thing: Thing, name: str) -> str:
        if thing == "clause":
            return f"[{code(name)}](#{name})"
        return self.link(thing, name, origin)


def places_of(base: RuleBase) -> Places:
    """Where the things of these rules are explained."""
    titles = {one.cause: one.title for one in base.causes.values()}
    titles |= {one.symptom: one.title for one in base.symptoms.values()}
    return Places(frozenset(base.causes), frozenset(base.symptoms), frozenset(base.probes), titles)


def address(reference: str) -> str:
    """A reference: a URL as a link, anything else as text."""
    return f"<{reference}>" if reference.startswith(("https://", "http://")) else text(reference)
