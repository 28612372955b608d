"""Whether libfabric finds a provider, from fi_info.

    provider: efa
    fi_getinfo: -61 (No data available)
    libfabric: 1.22.0amzn1.0

Follows fi_info of libfabric 1.8 to 2.1, and the test of the EFA installer. An answer that names no provider counts
for the one that the command asked for, or for any; other text gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.network import LibfabricProvider

_COMMAND = regex(r"(?:.{1,200}[ /])?fi_info\b(?P<arguments>.{0,200})")
_ASKED = regex(r"(?:-p|--provider)[ =]?(?P<provider>[\w;-]{1,40})")
_PROVIDER = regex(r"provider: (?P<provider>[\w;-]{1,60})\s*$")
_NONE = regex(r"fi_getinfo: -(?:61|2)\b")
_VERSION = regex(r"(?:libfabric: |(?:\S{0,200}/)?fi_info: )(?P<version>\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
_INSTALLER = regex(r"\s{0,4}Error: EFA libfabric provider not detected")
_PROMPT = regex(r"[#$>] (?P<command>(?:\S{0,200}/)?fi_info\b.{0,200})")


def read(section: Section) -> Iterator[Reading]:
    """LibfabricProvider for each provider that is listed, or that it is not there."""
    asked = _provider_asked(section)
    version: str | None = None
    listed: dict[str, list[int]] = {}
    for index, line in enumerate(section.lines):
        text = line[:MOST_COLUMNS].strip()
        if match := _VERSION.match(text):
            version = version or match["version"]
        elif match := _PROVIDER.match(text):
            listed.setdefault(match["provider"], []).append(index)
    yield from _facts(section, listed, version)
    for index, line in section.matching("fi_getinfo: -"):
        if _NONE.match(line[:200].strip()) and not listed:
            yield section.observe(LibfabricProvider(provider=asked, present=False, version=version), index)
            listed[asked] = []
            break
    for index, line in section.matching("EFA libfabric provider not detected"):
        if "efa" not in listed and _INSTALLER.match(line[:200]):
            yield section.observe(LibfabricProvider(provider="efa", present=False), index)
            listed["efa"] = []
    if listed:
        yield section.looked(LibfabricProvider, complete=asked == "any", reason="not-collected")


def _facts(section: Section, listed: dict[str, list[int]], version: str | None) -> Iterator[Observed]:
    for provider, lines in listed.items():
        fact = LibfabricProvider(provider=provider, present=True, domains=len(lines), version=version)
        yield section.observe(fact, lines[0])


def _provider_asked(section: Section) -> str:
    """The provider that the command asked for, which may stand above an unknown prompt."""
    command = _COMMAND.match(section.command or "")
    if command is None:
        prompts = (_PROMPT.match(line[:400].strip()) for line in section.lines[:50])
        prompt = next((match for match in prompts if match), None)
        command = _COMMAND.match(prompt["command"]) if prompt else None
    asked = _ASKED.search(command["arguments"]) if command else None
    return asked["provider"] if asked else "any"


READER = Reader(
    "libfabric",
    read,
    markers=("provider: ", "fi_getinfo: -", "libfabric: ", "EFA libfabric provider not"),
    commands=("fi_info", "/opt/amazon/efa/bin/fi_info"),
)
