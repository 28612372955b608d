"""The reference of causes: a page for each, made of what `diagnose rules show` prints, and family indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnose import rules_page
from diagnose.codes_coverage import Code
from diagnose.render.words import count
from generator.code_pages import PAGES, names_of, words_of
from generator.fact_sources import kinds_of
from generator.markup import CAUSES, Places, contents, items, link, page, searched_for, table, text
from generator.messages import Lead, line_of
from kb.rule import Cause, RuleBase
from kb.vocabulary import vocabulary

FAMILIES = {
    "driver": "The driver",
    "gpu": "GPUs",
    "p2p": "Copies between GPUs",
    "platform": "The platform",
    "container": "Containers",
    "memory": "Memory and disks",
    "nccl": "NCCL",
    "net": "Networks",
    "framework": "Frameworks and launchers",
    "state": "States that are no fault",
}
MOST_CODES = 40
FRONT = "---\ntocdepth: 2\n---"
"""Clauses are headings, so that links lead to them, but not in the contents, which Sphinx copies to every page."""
HEAD = """\
Each cause has a page: how it comes about, the lines that lead to it, what to do about it, and what
speaks for and against it with how much weight. `diagnose rules show ID` prints the same. From +10 on a
cause is likely; [how it reasons](../how-it-reasons.md) explains the sum."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What points at causes: rows of the catalogues, and lines as they stand in logs."""

    codes: Sequence[Code]
    leads: Sequence[Lead]


def cause_pages(base: RuleBase, signs: Signs, places: Places) -> dict[str, str]:
    """A page for each cause and each family, and the index of all."""
    known = families_of(base)
    pages = {CAUSES: _index(known, places)}
    for family, causes in known.items():
        pages[_path_of_family(family)] = _family(family, causes, places)
        for cause in causes:
            pages[path_of(cause)] = _cause(cause, base, signs, places)
    return pages


def families_of(base: RuleBase) -> dict[str, list[Cause]]:
    """The causes of each family in the order of the vocabulary; a family without a title comes last."""
    order = {name: number for number, name in enumerate(vocabulary())}
    families: dict[str, list[Cause]] = {family: [] for family in FAMILIES}
    for name in sorted(base.causes, key=lambda name: (order.get(name, len(order)), name)):
        families.setdefault(name.split(".", 1)[0], []).append(base.causes[name])
    return {family: causes for family, causes in families.items() if causes}


def path_of(cause: Cause) -> str:
    """The page of a cause."""
    return f"causes/{cause.cause.replace('.', '/', 1)}.md"


def _path_of_family(family: str) -> str:
    return f"causes/{family}/index.md"


def _title(family: str) -> str:
    return FAMILIES.get(family, family)


def _index(families: Mapping[str, Sequence[Cause]], places: Places) -> str:
    parts = []
    for family, causes in families.items():
        parts.append(f"## {link(_title(family), _path_of_family(family), CAUSES)}")
        parts.append(items(_listed(cause, places) for cause in causes))
    total = sum(map(len, families.values()))
    entries = [(_title(family), f"{family}/index.md") for family in families]
    return page("# Causes", HEAD, f"There are {total}.", *parts, contents(entries))


def _listed(cause: Cause, places: Places) -> str:
    note = f": {text(cause.standing)}" if cause.status == "deprecated" else ""
    return f"{places.titled(cause.cause, CAUSES)}{note}"


def _family(family: str, causes: Sequence[Cause], places: Places) -> str:
    origin = _path_of_family(family)
    rows = [
        (
            places.in_cell(cause.cause, origin),
            text(vocabulary().get(cause.cause, "")),
            cause.prior,
            text(cause.standing),
        )
        for cause in causes
    ]
    names = [cause.cause.split(".", 1)[1] for cause in causes]
    head = ("cause", "what it covers", "how often", "status")
    return page(f"# {_title(family)}", table(head, rows), contents((name, f"{name}.md") for name in names))


def _cause(cause: Cause, base: RuleBase, signs: Signs, places: Places) -> str:
    origin = path_of(cause)
    form = places.markup(origin)
    names = [name for one in signs.codes if cause.cause in one.causes for name in names_of(one)]
    return page(
        FRONT,
        searched_for([cause.cause, *names]),
        *rules_page.head(cause, form),
        *_signs(cause, signs, origin),
        *rules_page.what_to_do(cause, form),
        *rules_page.how_it_is_told(cause, form),
        *_beside(cause, base, places),
        *rules_page.sources(cause, form),
    )


def _signs(cause: Cause, signs: Signs, origin: str) -> Iterator[str]:
    """The lines and codes that lead to it, as one would search for them."""
    codes = [one for one in signs.codes if cause.cause in one.causes]
    lines = [line_of(one) for one in signs.leads if cause.cause in one.causes]
    if codes or lines:
        yield "## Lines that lead here"
        yield "Each of these alone makes the cause at least possible."
    if lines:
        yield items(lines)
    for catalogue, where in PAGES.items():
        found = [one for one in codes if one.catalogue == catalogue]
        if len(found) > MOST_CODES:
            yield f"{count(len(found), 'code')} of {link(where.title, where.path, origin)}."
        elif found:
            yield f"{link(where.title, where.path, origin)}:"
            yield items(words_of(one) for one in found)


def _beside(cause: Cause, base: RuleBase, places: Places) -> Iterator[str]:
    """What it may follow from, what it has replaced, and the facts that it speaks of."""
    origin = path_of(cause)
    everything = sorted(base.causes.values(), key=lambda one: one.cause)
    roots = [places.link("cause", one.cause, origin) for one in everything if cause.cause in one.leads_to]
    replaced = [places.link("cause", one.cause, origin) for one in everything if cause.cause in one.replaced_by]
    kinds = [places.link("fact", kind, origin) for kind in sorted(kinds_of(cause))]
    yield "## See also"
    lists = (("may only follow from", roots), ("has replaced", replaced), ("is told by facts of the kinds", kinds))
    yield items(f"{label} {', '.join(found)}" for label, found in lists if found)
