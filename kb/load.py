"""Rule files → rules. Every fault of every file is reported at once, each with file:line:column.

A directory of rules holds `symptoms/NAME.yaml`, `causes/FAMILY/NAME.yaml` and `probes.yaml` (a list). What a
file is follows from its content: a list is probes, a mapping with `cause` or `symptom` is that.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from kb.errors import InputError, Place, RuleError, RuleErrors
from kb.pattern import PatternError
from kb.rule import Cause, Override, Probe, RuleBase, SymptomRule
from kb.rule_base import ID_KEYS, base_of, repeated_ids
from kb.salvage import Mended, as_written, salvaged
from kb.strict_yaml import MAX_BYTES, Document, read_yaml
from kb.wording import in_words, keys_at, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

Item: TypeAlias = Cause | SymptomRule | Probe | Override
ItemT = TypeVar("ItemT", Cause, SymptomRule, Probe, Override)
ItemT_co = TypeVar("ItemT_co", bound=Item, covariant=True)

_DEPTHS = {"symptoms": 2, "causes": 3}
MAX_FOLDERS = 5
PACK = "pack.yaml"
"""What a directory of rules may say of itself; `kb.packs` reads it."""
_LAYOUT = "symptoms/NAME.yaml, causes/FAMILY/NAME.yaml or probes.yaml"


@dataclass(frozen=True, slots=True)
class Located(Generic[ItemT_co]):
    """One rule, symptom or probe, and where it stands: keys lead to a place in its file."""

    item: ItemT_co
    document: Document
    start: tuple[int, ...] = ()
    mended: Mended | None = None
    """For one that has faults and is only checked: what of it is not what the author wrote."""

    @property
    def id(self) -> str:
        """The id of the cause, symptom or probe."""
        return str(getattr(self.item, ID_KEYS[type(self.item)]))

    @property
    def path(self) -> str:
        """The file that it was read from."""
        return self.document.path

    def place(self, *keys: str | int, key: bool = False) -> Place:
        """Where the value (or with `key` the key itself) stands that these keys and indices lead to."""
        written = self.mended.as_written(keys) if self.mended is not None else keys
        return self.document.place(*self.start, *written, key=key)


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """A rule base with the place of everything in it, for checks."""

    items: tuple[Located[Item], ...]
    errors: tuple[RuleError, ...] = ()
    """The faults found while reading."""
    partial: tuple[Located[Item], ...] = ()
    """What is left of rules with faults, to be checked and never run."""
    unread: frozenset[str] = frozenset()
    """Ids that are defined by what could not be read; nobody is to be blamed for naming them."""
    base: RuleBase = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", base_of(self.items))

    def of(self, kind: type[ItemT]) -> Iterator[Located[ItemT]]:
        """The causes, the symptoms or the probes, in the order of their files."""
        return (cast("Located[ItemT]", one) for one in self.items if isinstance(one.item, kind))


def shipped_rules() -> Path:
    """The directory of the rules that come with this program.

    It lies beside this package. It is not asked for as the package `rules`: without a Python file in it, that
    would be merged with any other folder of this name on the import path.
    """
    return Path(str(resources.files("kb"))).parent / "rules"


def load_rules(*paths: Path) -> RuleBase:
    """The rules of these directories and files; without any, the rules that come with this program.

    Raises RuleErrors with all faults of all files, and InputError for a path that is not there.
    """
    loaded = read_rules(*paths or (shipped_rules(),))
    if loaded.errors:
        raise RuleErrors(list(loaded.errors))
    return loaded.base


def read_rules(*paths: Path, beside: Sequence[Path] = ()) -> LoadedRules:
    """The rules of these directories and files with all their places, and the faults found while reading.

    Rules that lie `beside` them are read too, and give way where an id is defined already. Raises InputError
    for a path that is not there.
    """
    faults = _Faults()
    files: set[tuple[int, int]] = set()
    items = [
        item for path in paths for file in _new_files(path, files, faults) for item in _read_file(file, faults)
    ]
    taken = {(type(one.item), one.id) for one in items}
    for path in beside:
        others = [item for file in _new_files(path, files, faults) for item in _read_file(file, faults)]
        items += [one for one in others if (type(one.item), one.id) not in taken]
        taken |= {(type(one.item), one.id) for one in others}
    return _loaded(items, faults)


@dataclass(frozen=True, slots=True)
class _Faults:
    """What goes wrong while reading."""

    errors: list[RuleError] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    partial: list[Located[Item]] = field(default_factory=list)

    def add(self, place: Place, message: str) -> None:
        self.errors.append(RuleError(place, message))


def _loaded(items: Sequence[Located[Item]], faults: _Faults) -> LoadedRules:
    errors = sorted([*faults.errors, *repeated_ids(items)], key=in_order)
    return LoadedRules(tuple(items), tuple(errors), tuple(faults.partial), frozenset(faults.unread))


def rule_files(directory: Path) -> list[Path]:
    """The rule files of a directory, in order of their names. Raises InputError where it is not there."""
    return _rule_files(directory, _Faults())


def _new_files(path: Path, known: set[tuple[int, int]], faults: _Faults) -> list[Path]:
    """The rule files of a path that were not taken before, by whatever name."""
    fresh = []
    for file in _rule_files(path, faults):
        status = file.stat()
        if (status.st_dev, status.st_ino) not in known:
            known.add((status.st_dev, status.st_ino))
            fresh.append(file)
    return fresh


def in_order(error: RuleError) -> tuple[str, int, int]:
    """The key by which faults are sorted: file, line, column."""
    return error.place.path, error.place.line, error.place.column


def _rule_files(path: Path, faults: _Faults) -> list[Path]:
    """The rule files of a directory in order of their names, or the one file itself."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path}: no such rule file or directory")
    if not any((path / part).exists() for part in ("symptoms", "causes", "probes.yaml")):
        files = sorted(one for one in _yaml_files(path) if one.suffix == ".yaml" and one != path / PACK)
        if not files:
            raise InputError(f"{path}: no rules here; expected {_LAYOUT}")
        return files  # a part of a rule directory, one family for instance
    files = []
    for part in ("symptoms", "causes"):
        for file in _yaml_files(path / part):
            if file.suffix == ".yaml" and len(file.relative_to(path).parts) == _DEPTHS[part]:
                files.append(file)
            else:
                faults.add(Place(str(file), 1), f"not read here; expected {_LAYOUT}")
    probes = path / "probes.yaml"
    return sorted(files) + [probes] * probes.is_file()


def _yaml_files(directory: Path, depth: int = MAX_FOLDERS) -> Iterator[Path]:
    """All files below a directory that look like YAML, down to a depth at which links can't lead in circles."""
    if not directory.is_dir() or depth == 0:
        return
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _yaml_files(Path(entry.path), depth - 1)
            elif entry.name.endswith((".yaml", ".yml")):
                yield Path(entry.path)


def _read_file(file: Path, faults: _Faults) -> list[Located[Item]]:
    path = str(file)
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        faults.add(Place(path, 1), f"it can't be read: {error.strerror}")
        return []
    except UnicodeDecodeError as error:
        faults.add(Place(path, content.count(b"\n", 0, error.start) + 1), "expected UTF-8 text")
        return []
    if len(content) > MAX_BYTES:
        faults.add(Place(path, 1), f"expected a rule, found more than {MAX_BYTES} bytes")
        return []
    return _parse(text, path, faults)


def parse_rules(text: str, path: str = "<text>") -> LoadedRules:
    """The rules in the text of one file, with the faults found while reading it."""
    faults = _Faults()
    return _loaded(_parse(text, path, faults), faults)


def _parse(text: str, path: str, faults: _Faults) -> list[Located[Item]]:
    document, errors = read_yaml(text, path)
    faults.errors.extend(errors)
    if document is None:
        faults.unread.update((Path(path).stem, f"{Path(path).parent.name}.{Path(path).stem}"))
        return []
    value = document.value
    if isinstance(value, list):
        located = [_item(Probe, entry, document, (index,), faults) for index, entry in enumerate(value)]
        return [one for one in located if one is not None]
    if isinstance(value, dict) and ("cause" in value or "symptom" in value):
        one = _item(_model_of(value), value, document, (), faults)
        return [one] if one is not None else []
    found = "" if isinstance(value, dict) else f", found {shown(value)}"
    faults.add(document.place(), f"expected `cause: …`, `symptom: …` or a list of probes{found}")
    return []


def _model_of(value: dict[str, Any]) -> type[Item]:
    if "cause" not in value:
        return SymptomRule
    return Override if isinstance(value.get("overrides"), dict) else Cause


def _item(
    model: type[Item], value: Any, document: Document, start: tuple[int, ...], faults: _Faults
) -> Located[Item] | None:
    if isinstance(value, dict) and "for_" in value:  # the name of `for` in Python, where that word is taken
        faults.add(document.place(*start, "for_", key=True), "unknown key `for_`; did you mean `for`?")
    try:
        return Located(model.model_validate(value), document, start)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            faults.errors.extend(_errors_of(fault, model, document, start))
        if isinstance(value, dict):
            faults.unread.add(str(value.get(ID_KEYS[model])))
            left = salvaged(model, value)
            if left is not None:
                faults.partial.append(Located(left[0], document, start, left[1]))
        return None


def _errors_of(
    fault: ErrorDetails, model: type[BaseModel], document: Document, start: tuple[int, ...]
) -> Iterator[RuleError]:
    location = (*start, *as_written(fault["loc"], document.value if not start else None))
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, PatternError):
        for path, message in cause.faults:
            yield RuleError(document.place(*location, *path, key=True), message)
        return
    message = in_words(fault, keys_at(model, fault["loc"][:-1]))
    if fault["type"] == "missing":
        yield RuleError(document.place(*location[:-1], key=True), message)
    else:
        yield RuleError(document.place(*location, key=fault["type"] == "extra_forbidden"), message)
