"""Pages to look things up in: symptoms, tests, lines of logs, known defects, and what only looks bad."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.render.words import probe_terms
from diagnose.rules_page import patterns_in_words
from generator import markup as md
from generator.cause_pages import FAMILIES
from generator.code_pages import PAGES
from generator.markup import PROBES, SYMPTOMS, Places, code, text
from generator.messages import Lead, line_of
from kb import framework_defects, harmless, nccl_defects
from kb.rule import PRIORS, Cause, Probe, RuleBase, SymptomRule

MESSAGES = "messages/index.md"
LINES = "messages/logs.md"
DEFECTS = "messages/defects.md"
HARMLESS = "messages/harmless.md"

BELOW = {
    LINES: ("Lines of logs", "of drivers, containers, frameworks and networks, and outputs of commands"),
    PAGES["xid"].path: (PAGES["xid"].title, "`NVRM: Xid (…): 79`"),
    PAGES["sxid"].path: (PAGES["sxid"].title, "`nvidia-nvswitch0: SXid (…): 20034`"),
    PAGES["nccl"].path: (PAGES["nccl"].title, "`NCCL WARN …`"),
    PAGES["cuda"].path: (PAGES["cuda"].title, "`CUDA error: …`, `Failed to initialize NVML: …`"),
    DEFECTS: ("Known defects", "what shows defects of NCCL and frameworks, and the releases without them"),
    HARMLESS: ("What only looks bad", "lines that accuse nobody"),
}
"""The pages of messages: title, and what is found there."""
INDEX = """\
You have a line: these pages lead to its cause. The search of this site takes a few words of it; leave
out what is yours alone, names, addresses and numbers. Or hand the whole log to `diagnose explain`."""
OF_LINES = """\
Lines as they stand in logs, and what each leads to when nothing else is known. The rest of the evidence
may lead elsewhere: that is what `diagnose explain` is for."""
OF_HARMLESS = """\
Lines for which nobody should be accused, and when they are worth a look after all. `diagnose explain
--all` lists those that the evidence holds."""
OF_PROBES = """\
What to run where the evidence can't tell. Hand the output over beside the rest: `diagnose explain
EVIDENCE RESULT`."""


def symptom_page(base: RuleBase, places: Places) -> str:
    """All symptoms, each with the causes that explain it and when it is seen."""
    symptoms = [one for _, one in sorted(base.symptoms.items())]
    return md.page(
        "# By symptom",
        "What is seen to go wrong, and the causes that would explain it, the more frequent first.",
        md.items(md.link(text(one.title), f"{SYMPTOMS}#{one.symptom}", SYMPTOMS) for one in symptoms),
        *(part for one in symptoms for part in _symptom(one, base, places)),
    )


def _symptom(one: SymptomRule, base: RuleBase, places: Places) -> list[str]:
    form = places.markup(SYMPTOMS)
    causes = sorted((cause for cause in base.causes.values() if one.symptom in cause.explains), key=_frequency)
    rows = [(places.in_cell(cause.cause, SYMPTOMS), cause.prior, text(_note(cause))) for cause in causes]
    unless = ["unless there is", patterns_in_words(one.unless, form)] if one.unless else []
    return [
        f"## {code(one.symptom)}",
        f"**{text(one.title)}.**",
        md.table(("may come from", "how often", ""), rows),
        "It is seen where there is",
        "\n\nor\n\n".join(patterns_in_words(choice, form) for choice in one.when),
        *unless,
    ]


def _frequency(cause: Cause) -> tuple[bool, bool, int, str]:
    return cause.status == "deprecated", cause.fallback, -PRIORS[cause.prior], cause.cause


def _note(cause: Cause) -> str:
    if cause.status == "deprecated":
        return cause.standing
    return "only where nothing better explains it" if cause.fallback else ""


def probe_page(base: RuleBase, places: Places) -> str:
    """All tests: what to run, what it takes, how to read it, what it brings, which causes ask for it."""
    parts = [part for _, probe in sorted(base.probes.items()) for part in _probe(probe, base, places)]
    return md.page("# Next tests", OF_PROBES, *parts)


def _probe(probe: Probe, base: RuleBase, places: Places) -> list[str]:
    asking = sorted(
        cause.cause for cause in base.causes.values() if any(clause.ask == probe.id for clause in cause.clauses)
    )
    asked = f"Asked for by {', '.join(places.link('cause', one, PROBES) for one in asking)}." if asking else ""
    return [
        f"## {code(probe.id)}",
        f"**{text(probe.title)}** ({text(probe_terms(probe))})",
        md.fence("\n".join(command.rstrip("\n") for command in probe.run), "sh"),
        text(probe.gives),
        f"Brings {', '.join(places.link('fact', kind, PROBES) for kind in probe.covers)}.",
        asked,
    ]


def message_pages(leads: Sequence[Lead], places: Places) -> dict[str, str]:
    """Where to look up a message, and the lines, defects and harmless lines themselves."""
    listed = md.items(f"{md.link(title, path, MESSAGES)}: {about}" for path, (title, about) in BELOW.items())
    entries = md.contents((title, path.removeprefix("messages/")) for path, (title, _) in BELOW.items())
    return {
        MESSAGES: md.page("# By message", INDEX, listed, entries),
        LINES: _lines(leads, places),
        DEFECTS: _defects(places),
        HARMLESS: _harmless(),
    }


def _lines(leads: Sequence[Lead], places: Places) -> str:
    parts = []
    for family, title in FAMILIES.items():
        found = [one for one in leads if one.causes[0].startswith(f"{family}.")]
        if found:
            parts.append(f"## {title}")
        for causes in sorted({one.causes for one in found}):
            parts.append(" or ".join(places.titled(cause, LINES) for cause in causes))
            parts.append(md.items(line_of(one) for one in found if one.causes == causes))
    return md.page("# Lines of logs", OF_LINES, *parts)


def _defects(places: Places) -> str:
    head = ("defect", "what is seen of it", "releases", "until then", "source")
    return md.page(
        "# Known defects",
        "Defects that users met and that a later release does not have.",
        "## NCCL",
        f"They lead to {places.titled('nccl.known-defect', DEFECTS)}.",
        md.table(head, map(_of_nccl, nccl_defects.defects())),
        "## Frameworks",
        f"They lead to {places.titled('framework.known-defect', DEFECTS)}.",
        md.table(head, map(_of_framework, framework_defects.catalogue())),
    )


def _of_nccl(one: nccl_defects.Defect) -> Sequence[str]:
    seen = [*map(code, (*one.lines, *one.frames)), *([text(f"CUDA error {one.cuda}")] if one.cuda else [])]
    seen += ["the job does not get on"] if one.hang else []
    releases = f"{one.since} and later, before {one.fixed}"
    return text(one.title), "<br>".join(seen), releases, text(one.workaround or ""), md.address(one.source)


def _of_framework(one: framework_defects.Defect) -> Sequence[str]:
    bounds = [*([f"{one.since} and later"] if one.since else []), *([f"before {one.fixed}"] if one.fixed else [])]
    releases = f"{text(one.package)} {', '.join(bounds)}"
    return (
        text(one.what),
        "<br>".join(map(code, one.lines)),
        releases,
        text(one.workaround),
        md.address(one.source),
    )


def _harmless() -> str:
    rows = [
        ("<br>".join(map(code, one.lines)), text(one.because), text(one.unless or ""), text(one.source))
        for one in harmless.catalogue()
    ]
    head = ("line", "why it is harmless", "not so if", "source")
    return md.page("# What only looks bad", OF_HARMLESS, md.table(head, rows))
