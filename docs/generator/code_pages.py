"""The index by code: Xids, SXids, warnings of NCCL, errors of CUDA and NVML; what each means and leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from diagnose.codes_coverage import Code, xid_id
from diagnose.render.codes import ADVICE, OF_GROUP
from generator.markup import Places, code, page, searched_for, table, text
from kb.catalogues import rows
from kb.cuda_errors import error_rows
from kb.nccl_warnings import class_rows


@dataclass(frozen=True, slots=True)
class CodePage:
    """Where the codes of one catalogue are listed."""

    title: str
    path: str


PAGES = {
    "xid": CodePage("Xids", "messages/xid.md"),
    "sxid": CodePage("SXids", "messages/sxid.md"),
    "nccl": CodePage("Warnings of NCCL", "messages/nccl.md"),
    "cuda": CodePage("Errors of CUDA and NVML", "messages/cuda.md"),
}
CLASSES = {
    "config": "Configuration",
    "network": "Network",
    "ib": "InfiniBand and RoCE",
    "shm": "Shared memory",
    "p2p": "Copies between GPUs",
    "cuda": "CUDA",
    "memory": "Memory",
    "version": "Versions",
    "topology": "Topology",
    "user_error": "Wrong calls",
    "internal": "Internal errors",
    "consequence": "Consequences of other errors",
}
_KIND = {"xid": "Xid", "sxid": "SXid"}
ROLES = {"root": "", "consequence": " It follows from another error.", "information": " It only informs."}
FIRST_REMEDY: Mapping[str, str] = {str(action): words for action, words in ADVICE.items()}
OFTEN: Mapping[str, tuple[str, ...]] = {str(group): causes for group, causes in OF_GROUP.items()}

XIDS = """\
Errors that the NVIDIA driver numbers, in the kernel log: `NVRM: Xid (PCI:0000:41:00): 79, …`. Some
numbers were given a new meaning; the releases tell from or up to which branch of the driver a row holds."""
SXIDS = """\
Errors of NVSwitches, in the kernel log: `nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, …`.
One that its line calls fatal leads to the cause beside it; others only inform."""
WARNINGS = """\
Lines with `NCCL WARN`, by what they are about. `%s` and `%d` stand for what differs; each row stands for
all texts of its kind in these releases. A warning that leads to no cause by itself is explained by its
class."""
ERRORS = """\
As programs print them: `CUDA error: …`, `CUDA_ERROR_…`, `cudaError…`, `Failed to initialize NVML: …`."""

Causes: TypeAlias = Mapping[tuple[str, str], tuple[str, ...]]
"""The causes that a code leads to, by its catalogue and id."""


def words_of(one: Code) -> str:
    """A code as people search for it, as Markdown."""
    if one.catalogue == "nccl":
        return code(one.name)
    if one.catalogue == "cuda":
        return f"{text(one.id)}: {code(one.name)}"
    return f"{_KIND[one.catalogue]} {text(one.id)} ({code(one.name)})"


def names_of(one: Code) -> list[str]:
    """What a code is called for short: `Xid 79`, `cudaErrorNoDevice`; nothing where it has no name."""
    if one.catalogue in {"xid", "sxid"}:
        return [f"{_KIND[one.catalogue]} {one.id.partition(' ')[0]}"]
    return [one.name] if one.catalogue == "cuda" and one.name.startswith(("cuda", "CUDA", "NVML")) else []


def code_pages(codes: Sequence[Code], places: Places) -> dict[str, str]:
    """The pages of all catalogues. A code that is not among these leads to no cause."""
    causes = {(one.catalogue, one.id): one.causes for one in codes}
    makers = {"xid": _xids, "sxid": _sxids, "nccl": _warnings, "cuda": _errors}
    return {
        PAGES[catalogue].path: make(causes, places, PAGES[catalogue].path) for catalogue, make in makers.items()
    }


def _links(causes: Sequence[str], places: Places, origin: str) -> str:
    return "<br>".join(places.link("cause", one, origin) for one in causes)


def _xids(causes: Causes, places: Places, origin: str) -> str:
    found = []
    for row in rows("xid.csv"):
        number, _, branches = xid_id(row).partition(" ")
        releases = f"<br>driver {branches}" if branches else ""
        leads = causes.get(("xid", xid_id(row))) or OFTEN.get(row["group"], ())
        found.append(
            (
                f"Xid {number}{releases}<br>{code(row['name'])}",
                f"{text(row['title'])}.{ROLES[row['role']]}",
                FIRST_REMEDY.get(row["action"], ""),
                _links(leads, places, origin),
            )
        )
    names = searched_for(f"Xid {row['code']}" for row in rows("xid.csv"))
    head = ("number and name", "what it means", "NVIDIA's first remedy", "leads to")
    return page(names, "# Xids", XIDS, table(head, found))


def _sxids(causes: Causes, places: Places, origin: str) -> str:
    found = []
    for row in rows("sxid.csv"):
        leads = _links(causes.get(("sxid", row["code"]), ()), places, origin)
        found.append((f"SXid {row['code']}", code(row["name"]), text(row["documented"]), leads))
    names = searched_for(f"SXid {row['code']}" for row in rows("sxid.csv"))
    head = ("number", "name", "by the Fabric Manager guide", "leads to")
    return page(names, "# SXids", SXIDS, table(head, found))


def _warnings(causes: Causes, places: Places, origin: str) -> str:
    by_class: dict[str, list[tuple[str, ...]]] = {}
    for row in rows("nccl_warnings.csv"):
        releases = f"{row['first']} to {row['last']}" if row["first"] else ""
        links = [places.link("cause", one, origin) for one in causes.get(("nccl", row["id"]), ())]
        leads = f" Leads to {' or '.join(links)}." if links else ""
        by_class.setdefault(row["class"], []).append((code(row["example"]), text(row["means"]) + leads, releases))
    parts = []
    for name, found in by_class.items():
        head = ("warning", "what it means", "releases")
        parts += [f"## {CLASSES.get(name, name)}", _of_class(name, places, origin), table(head, sorted(found))]
    return page("# Warnings of NCCL", WARNINGS, *parts)


def _of_class(name: str, places: Places, origin: str) -> str:
    """What warnings of a class come from, and what tells more."""
    row = class_rows().get(name)
    if row is None:
        return ""
    often = " or ".join(places.link("cause", one, origin) for one in row.causes)
    test = f"To learn more: {places.link('probe', row.test, origin)}." if row.test else ""
    return f"Most often {often}. {test}" if often else test


def _errors(causes: Causes, places: Places, origin: str) -> str:
    found = []
    for row in error_rows():
        leads = causes.get(("cuda", f"{row.api} {row.code or row.class_}")) or row.causes
        number = "" if row.code is None else f" {row.code}"
        test = f" To learn more: {places.link('probe', row.test, origin)}." if row.test else ""
        found.append(
            (
                f"{row.api.upper()}{number}<br>{code(row.name or row.class_)}",
                text(row.means) + test,
                _links(leads, places, origin),
            )
        )
    return page(
        "# Errors of CUDA and NVML", ERRORS, table(("number and name", "what it means", "leads to"), found)
    )
