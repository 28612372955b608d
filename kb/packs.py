"""Where more rules come from: directories that a user names, the environment, and installed packages.

A package offers rules through the entry point group `diagnose.rules`; the value of the entry point is the package
whose folder holds them; it is not imported. A directory may say what it is in `pack.yaml`.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ConfigDict, ValidationError

from kb.errors import InputError, Place, RuleError, RuleErrors
from kb.load import PACK
from kb.pattern import Model
from kb.strict_yaml import read_yaml
from kb.wording import in_words, keys_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_core import ErrorDetails

    from kb.strict_yaml import Document

VARIABLE = "DIAGNOSE_RULES"
GROUP = "diagnose.rules"

_REQUIRES = re.compile(r"diagnose *>= *(\d+(?:\.\d+)*)")
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


class PackFile(Model):
    """The content of `pack.yaml`."""

    model_config = ConfigDict(defer_build=True)  # hardly any run meets one

    name: str
    version: str
    requires: str = ""
    """The oldest version of this program that reads these rules: `diagnose >= 1.2`."""


@dataclass(frozen=True, slots=True)
class Pack:
    """One directory of rules beside those of this program, and what named it."""

    path: Path
    named_by: str
    """`--rules`, `DIAGNOSE_RULES` or `package NAME`."""
    name: str
    version: str = ""


def packs(
    given: Sequence[Path], program: str, environ: Mapping[str, str] = os.environ, path: Sequence[str] | None = None
) -> list[Pack]:
    """All directories with more rules: those of packages, of the environment, and the given ones, each once.

    `program` is the version of this program. Raises InputError for one that is not there, and RuleErrors for a
    `pack.yaml` with a fault or one that asks for a newer program.
    """
    named = [
        *_of_packages(sys.path if path is None else path),
        *((Path(one), VARIABLE) for one in environ.get(VARIABLE, "").split(os.pathsep) if one),
        *((one, "--rules") for one in given),
    ]
    found: dict[Path, Pack] = {}
    errors: list[RuleError] = []
    for directory, named_by in named:
        if not directory.exists():
            raise InputError(f"{directory}: no such rule file or directory; it is named by {named_by}")
        pack, faults = read_pack(directory, program)
        errors += faults
        found.setdefault(
            directory.resolve(),
            Pack(
                directory, named_by, pack.name if pack else directory.resolve().name, pack.version if pack else ""
            ),
        )
    if errors:
        raise RuleErrors(errors)
    return list(found.values())


def read_pack(directory: Path, program: str) -> tuple[PackFile | None, list[RuleError]]:
    """What a directory says of itself, if it does, and what is wrong with that for a program of this version."""
    file = directory / PACK
    if not file.is_file():
        return None, []
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None, [RuleError(Place(str(file), 1), "expected UTF-8 text that can be read")]
    document, errors = read_yaml(text, str(file))
    if document is None or errors:
        return None, errors
    try:
        pack = PackFile.model_validate(document.value)
    except ValidationError as error:
        return None, [_fault(one, document) for one in error.errors(include_url=False)]
    message = _unmet(pack, program)
    return pack, [RuleError(document.place("requires"), message)] if message else []


def _fault(fault: ErrorDetails, document: Document) -> RuleError:
    at_key = fault["type"] == "extra_forbidden"
    return RuleError(document.place(*fault["loc"], key=at_key), in_words(fault, keys_at(PackFile, ())))


def _unmet(pack: PackFile, program: str) -> str:
    if not pack.requires:
        return ""
    wanted = _REQUIRES.fullmatch(pack.requires.strip())
    if wanted is None:
        return f"expected `diagnose >= 1.2`, found `{pack.requires}`"
    if _numbers(program) < _numbers(wanted[1]):
        return f"`{pack.name}` {pack.version} needs diagnose {wanted[1]} or newer, this is {program}; upgrade it"
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    """1.10.0 → (1, 10): the release alone, without zeros at its end."""
    match = _NUMBERS.match(version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _of_packages(path: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """The folders of the packages that offer rules.

    importlib.metadata takes 50 ms to import, so it is asked only where a file of entry points names the group.
    """
    if not any(_names_the_group(Path(one)) for one in path):
        return
    from importlib.metadata import distributions

    for distribution in distributions(path=list(path)):
        for entry in distribution.entry_points:
            if entry.group == GROUP:
                yield _folder(entry.value), f"package {distribution.name}"


def _names_the_group(directory: Path) -> bool:
    try:
        with os.scandir(directory) as entries:
            found = [one.path for one in entries if one.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    return any(f"[{GROUP}]" in _text(os.path.join(one, "entry_points.txt")) for one in found)  # noqa: PTH118


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123 - a tenth of the time
            return stream.read()
    except OSError:
        return ""


def _folder(package: str) -> Path:
    spec = None
    with suppress(ImportError, ValueError):
        spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise InputError(
            f"the entry point `{package}` of the group {GROUP} is no package; reinstall or remove what brought it"
        )
    return Path(places[0])
