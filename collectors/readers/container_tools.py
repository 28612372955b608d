"""Which programs a shell finds, and which release the NVIDIA container toolkit is.

    /snap/bin/docker
    NVIDIA Container Toolkit CLI version 1.17.8
    cli-version: 1.9.0

Follows which, command -v and type of common shells, and the tools' own `--version`. A path is taken only as the
answer to a command that asked for it; other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import VERSION, command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.containers import ContainerToolkit, ProgramPath

_ASKED = regex(r"(?:which|command -v|type(?: -[apP])?|whereis)((?: [\w.+-]{1,40}){1,8})\s{0,4}(?:2>.{0,20})?$")
_PATH = regex(
    r"(?:[\w.+-]{1,40} is |[\w.+-]{1,40}: )?"
    r"(?P<path>/[\w./+-]{0,200}/(?P<name>[\w.+-]{1,40}))(?: .{0,200})?$"
)
_NOT_FOUND = regex(r"(?:.{0,80}\bno (?P<one>[\w.+-]{1,40}) in \(|.{0,80}?(?P<other>[\w.+-]{1,40}): not found)")
_VERSIONS = (
    ("nvidia-ctk", regex(rf"NVIDIA Container Toolkit CLI version (?P<version>{VERSION})")),
    ("nvidia-container-runtime", regex(rf"NVIDIA Container Runtime (?:Hook )?version (?P<version>{VERSION})")),
    ("nvidia-container-cli", regex(rf"cli-version: (?P<version>{VERSION})")),
)


def read(section: Section) -> Iterator[Reading]:
    """ProgramPath for each program asked for, and ContainerToolkit for each tool that says its release."""
    asked = _ASKED.match(command_of(section))
    if asked:
        yield from _paths(section, asked[1].split())
        yield section.looked(ProgramPath)
    versions = list(_versions(section))
    yield from versions
    if versions:
        yield section.looked(ContainerToolkit)


def _paths(section: Section, names: list[str]) -> Iterator[Observed]:
    """The first answer for each name; one that is not found has no path."""
    answered: set[str] = set()
    for index, line in enumerate(section.lines[:40]):
        text = line[:400].strip()
        match = _PATH.match(text)
        if match and match["name"] in names and match["name"] not in answered:
            answered.add(match["name"])
            path = match["path"]
            snap = path.startswith(("/snap/", "/var/lib/snapd/"))
            yield section.observe(ProgramPath(name=match["name"], path=path, snap=snap), index)
            continue
        gone = _NOT_FOUND.match(text)
        name = gone and (gone["one"] or gone["other"])
        if name in names and name not in answered:
            answered.add(name)
            yield section.observe(ProgramPath(name=name), index)


def _versions(section: Section) -> Iterator[Observed]:
    for tool, form in _VERSIONS:
        for index, line in section.matching("version"):
            match = form.match(line[:200].strip())
            if match:
                yield section.observe(ContainerToolkit(version=match["version"], tool=tool), index)
                break


READER = Reader(
    "container-tools",
    read,
    markers=("NVIDIA Container Toolkit CLI version", "NVIDIA Container Runtime", "cli-version: "),
    commands=("which ", "command -v ", "type ", "whereis "),
)
