"""All pages of the site: those that are written by hand, and the reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diagnose.codes_coverage import Code
from generator.cause_pages import Signs, cause_pages
from generator.code_pages import code_pages
from generator.fact_pages import fact_pages
from generator.fact_sources import sources_of
from generator.look_up_pages import MESSAGES, message_pages, probe_page, symptom_page
from generator.markup import CAUSES, FACTS, PROBES, SYMPTOMS, contents, items, link, places_of
from generator.messages import Lead
from generator.samples import Sample
from kb.rule import RuleBase

ROOT = Path(__file__).parents[2]
INDEX = "index.md"
CHANGES = "changes.md"
MARK = "<!-- reference -->"
GUIDES = {
    "How it reasons": "how-it-reasons.md",
    "Teach it a failure": "teach-it-a-failure.md",
    "The rule language": "rule-language.md",
    "What is read": "reading.md",
    "Read a new format": "reading-a-new-format.md",
    "Probes": "probes.md",
    "Changes": CHANGES,
}
REFERENCE = {
    "By message": MESSAGES,
    "By symptom": SYMPTOMS,
    "Causes": CAUSES,
    "Next tests": PROBES,
    "Facts": FACTS,
}
ABOUT = {
    MESSAGES: "you have a line from a log, an Xid, a warning of NCCL, an error of CUDA",
    SYMPTOMS: "you see what goes wrong: a start that hangs, ranks that wait, memory that is missing",
    CAUSES: "how each comes about, how it is told from others, what to do and how to undo it",
    PROBES: "what to run where the evidence can't tell",
    FACTS: "what rules can speak of, field by field, with a line of evidence for each",
}


def site_pages(
    base: RuleBase, samples: Sequence[Sample], codes: Sequence[Code], leads: Sequence[Lead]
) -> dict[str, str]:
    """Every page of the site by its path. `codes` and `leads` are what points at causes."""
    return written_pages() | reference_pages(base, samples, codes, leads)


def reference_pages(
    base: RuleBase, samples: Sequence[Sample], codes: Sequence[Code], leads: Sequence[Lead]
) -> dict[str, str]:
    """The pages that nobody writes by hand."""
    places = places_of(base)
    return {
        **cause_pages(base, Signs(codes, leads), places),
        SYMPTOMS: symptom_page(base, places),
        PROBES: probe_page(base, places),
        **message_pages(leads, places),
        **code_pages(codes, places),
        **fact_pages(sources_of(base, samples), places),
    }


def written_pages() -> dict[str, str]:
    """The pages that are written by hand; the first of them leads to the reference as well."""
    pages = {file.name: file.read_text(encoding="utf-8") for file in sorted((ROOT / "docs").glob("*.md"))}
    pages[CHANGES] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    listed = items(f"{link(title, path, INDEX)}: {ABOUT[path]}" for title, path in REFERENCE.items())
    pages[INDEX] = (
        "\n\n".join(
            [
                pages[INDEX].replace(MARK, f"## Look it up\n\n{listed}").rstrip("\n"),
                contents(REFERENCE.items(), caption="Look it up"),
                contents(GUIDES.items(), caption="Understand it, and teach it"),
            ]
        )
        + "\n"
    )
    return pages
