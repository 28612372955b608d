"""What `diagnose rules` works with: rules to look at, and the faults of those that someone writes."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose import __version__
from engine.coverage import DERIVED
from kb.check import check
from kb.check.walk import uses
from kb.errors import InputError, RuleError
from kb.evidence import Observed
from kb.facts import fact_types
from kb.load import LoadedRules, in_order, load_rules, read_rules, shipped_rules
from kb.packs import packs, read_pack
from kb.rule import Cause, Example, RuleBase
from kb.rule_base import HOW_TO_OVERRIDE
from kb.vocabulary import vocabulary
from kb.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def with_shipped(directories: Sequence[Path] | None) -> RuleBase:
    """The rules of this program together with all others that a diagnosis would take: those of these directories,
    of the environment and of packages. Raises RuleErrors, InputError.
    """
    return load_rules(shipped_rules(), *(one.path for one in packs(directories or (), __version__)))


def rules_at(paths: Sequence[Path] | None) -> LoadedRules:
    """The rules at these paths, together with what they may speak of.

    That is the directory of rules that a path lies in, the rules of the environment and of packages, and those of
    this program; the paths come first where an id is defined in several. Without paths, the rules of this program.

    Raises InputError for a path that is not there.
    """
    if not paths:
        return read_rules(shipped_rules())
    around = [parent for path in paths for parent in path.resolve().parents if (parent / "symptoms").is_dir()]
    more = [one.path for one in packs((), __version__)]
    return read_rules(*paths, beside=[*around, *more, shipped_rules()])


def faults_under(loaded: LoadedRules, paths: Sequence[Path] | None, *, of_logs: bool = True) -> list[RuleError]:
    """The faults of the rules at these paths, and of the packs that they are; `of_logs`: of logs in them, too."""
    logs = _unread_logs(loaded, paths) if of_logs else ()
    faults = [*check(loaded), *_unsaid_overrides(loaded), *_without_readers(loaded), *logs]
    of_packs = [fault for path in paths or () for fault in read_pack(path, __version__)[1]]
    return [*of_packs, *sorted((one for one in faults if is_under(one.place.path, paths)), key=in_order)]


def _unsaid_overrides(loaded: LoadedRules) -> Iterator[RuleError]:
    """A rule with the id of a cause of this program says that it overrides that, and no other says so."""
    for one in loaded.of(Cause):
        family, _, name = one.id.partition(".")
        shipped = shipped_rules() / "causes" / family / f"{name}.yaml"
        taken = shipped.is_file() and not shipped.samefile(one.path)
        if taken and not one.item.overrides:
            message = f"`{one.id}` is a cause of this program{HOW_TO_OVERRIDE}"
            yield RuleError(one.place("cause"), message)
        elif one.item.overrides and not taken:
            yield RuleError(one.place("overrides"), f"there is no cause `{one.id}` of this program to override")


def _without_readers(loaded: LoadedRules) -> Iterator[RuleError]:
    """A rule speaks of facts that some reader or combiner brings; else it could never come out."""
    brought = brought_kinds()
    for use in uses(loaded):
        kind = use.pattern.fact
        if kind in fact_types() and kind not in brought:
            yield use.error(f"no reader and no combiner brings `{kind}`: it would never match")


def _unread_logs(loaded: LoadedRules, paths: Sequence[Path] | None) -> Iterator[RuleError]:
    """The log of an example tells something: some reader takes a line of it, or the rules ask for one."""
    for one in loaded.of(Cause):
        if any(example.log for example in one.item.examples) and is_under(one.path, paths):
            for number, example in enumerate(one.item.examples):
                if example.log and not _is_read(example, loaded.base):
                    message = "no reader knows a line of it; ask for one by `log_line: {holds: …}`"
                    yield RuleError(one.place("examples", number, "log"), message)


def _is_read(example: Example, base: RuleBase) -> bool:
    from diagnose.rules_examples import example_parts

    found = example_parts(example.model_copy(update={"facts": ()}), base)
    return any(isinstance(reading, Observed) for part in found.values() for reading in part)


@cache
def brought_kinds() -> frozenset[str]:
    """The kinds of facts that some reader or combiner makes, by its source, and those that reasoning adds."""
    words: set[str] = set()
    for room in ("readers", "combiners"):
        for module in (Path(str(resources.files("collectors"))) / room).glob("*.py"):
            words |= set(re.findall(r"\w+", module.read_text(encoding="utf-8")))
    return DERIVED | {kind for kind, found in fact_types().items() if found.__name__ in words}


def causes_under(loaded: LoadedRules, paths: Sequence[Path] | None) -> list[Cause]:
    """The causes at these paths."""
    return [one.item for one in loaded.of(Cause) if is_under(one.path, paths)]


def is_under(file: str, paths: Sequence[Path] | None) -> bool:
    """Whether a file lies at one of these paths; always, where there are none."""
    return not paths or any(Path(file).resolve().is_relative_to(path.resolve()) for path in paths)


def cause_named(name: str, base: RuleBase) -> Cause:
    """The cause of this id. Raises InputError with the nearest id."""
    if name in base.causes:
        return base.causes[name]
    if name in vocabulary():
        raise InputError(f"there is no rule for {name} yet; it means: {vocabulary()[name]}")
    raise InputError(f"no cause is named `{name}`{nearest(name, base.causes)}")


def text_of_rule(name: str, base: RuleBase) -> str:
    """The text of the file of a cause or symptom, as it stands. Raises InputError with the nearest id."""
    if name not in base.symptoms:
        cause_named(name, base)
    return Path(base.files[name]).read_text(encoding="utf-8-sig")


def rows(base: RuleBase) -> list[dict[str, Any]]:
    """What a list says of each cause, in order of ids."""
    return [
        {
            "id": cause.cause,
            "kind": cause.kind,
            "status": cause.status,
            "replaced_by": list(cause.replaced_by),
            "prior": cause.prior,
            "title": cause.title,
            "explains": list(cause.explains),
            "examples": len(cause.examples),
            "file": base.files[cause.cause],
            "overridden": list(base.overridden[cause.cause].changes) if cause.cause in base.overridden else [],
        }
        for _, cause in sorted(base.causes.items())
    ]
