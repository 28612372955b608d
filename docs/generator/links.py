"""Links between the pages, checked before a site is built from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)`*\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"(?<!\\)\]\((?!https?:|mailto:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
_ENTRY = re.compile(r"^[^<\n]* <(?P<path>[^>\n]+)>$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} (?P<title>.+?)\s*$", re.MULTILINE)


def broken_links(pages: Mapping[str, str]) -> list[str]:
    """The links and entries of contents that lead to no page or to no heading of it: `page: target`."""
    anchors = {path: set(anchors_of(text)) for path, text in pages.items() if path.endswith(".md")}
    broken = []
    for origin, text in pages.items():
        for path, anchor in _targets(text):
            target = normpath(join(dirname(origin), path)) if path else origin
            if target not in pages or (anchor and anchor not in anchors.get(target, ())):
                broken.append(f"{origin}: {path}{'#' if anchor else ''}{anchor}")
    return broken


def _targets(text: str) -> Iterator[tuple[str, str]]:
    for block in _FENCE.finditer(text):
        if block[0].startswith("```{toctree}"):
            yield from ((f"{entry['path']}.md", "") for entry in _ENTRY.finditer(block[0]))
    prose = _FENCE.sub("", text)
    # The label of a link may hold code; only its target is looked at.
    for match in _LINK.finditer(_CODE.sub("code", prose)):
        yield match["path"], match["anchor"] or ""


def anchors_of(text: str) -> Iterator[str]:
    """The anchors of all headings of a page, as GitHub and MyST make them."""
    seen: dict[str, int] = {}
    for match in _HEADING.finditer(_FENCE.sub("", text)):
        title = re.sub(r"\\(?=\W)", "", match["title"].replace("`", ""))
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        yield f"{slug}-{number}" if number else slug
