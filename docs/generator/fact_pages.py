"""The reference of facts: what can be known, field by field, a line it is read from, who makes and asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module

from pydantic.fields import FieldInfo

from diagnose.render.words import count
from engine.coverage import DERIVED
from generator.fact_sources import Sources, about_readers
from generator.markup import FACTS, Places, code, contents, fence, items, link, page, table, text
from generator.samples import Sample, most_telling
from kb.asked import HOLDS, LINE
from kb.facts import fact_types, families, family_of
from kb.fieldtypes import NUMBERS, FieldType, field_types
from kb.schema import field_docs

UNITS = {
    "bytes": "bytes",
    "mib": "MiB",
    "gib": "GiB",
    "s": "seconds",
    "seconds": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "percent": "percent",
    "c": "degrees Celsius",
    "w": "watts",
    "gbps": "GB/s",
    "mbps": "Mbit/s",
    "gts": "GT/s",
}
"""Units, by how names of fields end."""
MOST_LINES, MOST_CHARS = 12, 1200
HEAD = """\
Facts are what readers make of text, and what rules speak of. Each has a kind, typed fields, and the
lines that it stands on; a field that is not known (`None`) is left out. `diagnose facts EVIDENCE` prints
those that were read from some evidence, and which kinds were looked for there. Rules write `binding:
{kind: {field: test}}`."""


def fact_pages(sources: Sources, places: Places) -> dict[str, str]:
    """A page for each family of facts, and the index of all kinds."""
    pages = {path_of(family): _family(family, sources, places) for family in families()}
    rows = [(places.link("fact", kind, FACTS), text(_first(kind)), _family_link(kind)) for kind in fact_types()]
    entries = contents((family.replace("_", " "), f"{family}.md") for family in families())
    head = ("kind", "what it is", "family")
    pages[FACTS] = page("# Facts", HEAD, f"There are {len(rows)} kinds.", table(head, rows), entries)
    return pages


def path_of(family: str) -> str:
    """The page of a family."""
    return f"facts/{family}.md"


def _family_link(kind: str) -> str:
    family = family_of(kind)
    return link(family.replace("_", " "), path_of(family), FACTS)


def _first(kind: str) -> str:
    """The first sentence on a kind."""
    first, stop, _ = " ".join(_doc(kind)).partition(". ")
    return f"{first}{stop}".strip()


def _doc(kind: str) -> list[str]:
    return _paragraphs(inspect.getdoc(fact_types()[kind]))


def _paragraphs(doc: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(doc or "").split("\n\n")]


def _family(family: str, sources: Sources, places: Places) -> str:
    title, *more = _paragraphs(import_module(f"kb.facts.{family}").__doc__)
    first, _, rest = title.partition(". ")
    kinds = [kind for kind in fact_types() if family_of(kind) == family]
    parts = [part for kind in kinds for part in _kind(kind, family, sources, places)]
    return page(f"# {text(first.removesuffix('.'))}", text(rest), *map(text, more), *parts)


def _kind(kind: str, family: str, sources: Sources, places: Places) -> Iterator[str]:
    yield f"## {code(kind)}"
    yield from map(text, _doc(kind))
    docs, defaults = field_docs(fact_types()[kind]), _defaults(kind)
    rows = [
        (code(name), _type(of, name, defaults.get(name)), _meaning(of, docs.get(name, "")))
        for name, of in field_types(kind).items()
    ]
    yield table(("field", "type", "meaning"), rows)
    yield from _sample(kind, sources)
    yield items(_makers(kind, sources, places, path_of(family)))
    asked = [places.link("cause", cause, path_of(family)) for cause in sources.asked_by.get(kind, ())]
    if asked:
        yield f"{count(len(asked), 'rule')} {'asks' if len(asked) == 1 else 'ask'} for it: {', '.join(asked)}."


def _defaults(kind: str) -> dict[str, str]:
    """What the fields are that no source has to state."""
    fields = fact_types()[kind].model_fields.items()
    return {info.alias or name: _written(info.default) for name, info in fields if _is_stated(info)}


def _is_stated(info: FieldInfo) -> bool:
    return not info.is_required() and info.default is not None


def _type(of: FieldType, name: str, default: str | None) -> str:
    if of.choices:
        what = ", ".join(map(code, of.choices))
    elif of.is_bdf or of.is_version:
        what = "a PCI address" if of.is_bdf else "a version"
    else:
        unit = UNITS.get(name.rsplit("_", 1)[-1]) if of.base in NUMBERS else None
        what = f"{of.base}: {unit}" if unit else of.base
    if default is not None:
        return f"{what}; by default {code(default)}"
    return f"{what}; always known" if of.required else what


def _meaning(of: FieldType, doc: str) -> str:
    return text(f"{doc} Follows from other fields." if of.derived else doc)


def _sample(kind: str, sources: Sources) -> Iterator[str]:
    sample = most_telling(sources.samples.get(kind, ()))
    if sample is not None:
        yield f"For instance {_told(kind, sample.fields)}, from"
        yield fence(_cut(sample))
    elif kind in sources.examples:
        yield "For instance, as an example of a rule states it:"
        yield fence(sources.examples[kind], "yaml")


def _told(kind: str, fields: Mapping[str, object]) -> str:
    """The known fields as a rule would ask for them."""
    known = [name for name in field_types(kind) if name in fields]
    return ", ".join(code(f"{name}: {_written(fields[name])}") for name in known) or "one without any field"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cut(sample: Sample) -> str:
    shown = "\n".join(sample.shown.split("\n")[:MOST_LINES])[:MOST_CHARS]
    return shown if shown == sample.shown else f"{shown}\n…"


def _makers(kind: str, sources: Sources, places: Places, origin: str) -> Iterator[str]:
    """Who makes it, and what to run to get it."""
    about = about_readers()
    for name in sorted({sample.reader for sample in sources.samples.get(kind, ())}):
        yield f"read by {code(name)}: {text(about[name])}"
    for combiner in sources.combiners.get(kind, ()):
        takes = ", ".join(places.link("fact", one, origin) for one in combiner.takes)
        yield f"combined by {code(combiner.name)}: {text(combiner.about)} From {takes or 'facts of its own kind'}."
    if kind in DERIVED:
        yield "added by reasoning itself, which always looks for it"
    if kind == LINE:
        yield f"read by {code('log-lines')}, which looks for what the rules of a run ask for by {code(HOLDS)}"
    for probe in sources.probes.get(kind, ()):
        yield f"brought by the test {places.link('probe', probe, origin)}"
