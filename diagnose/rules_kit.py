"""What `diagnose rules` works with: rules to look at, and the faults of those that someone writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.check import check
from kb.errors import InputError
from kb.load import LoadedRules, load_rules, read_rules, shipped_rules
from kb.rule import Cause, RuleBase
from kb.vocabulary import vocabulary
from kb.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb.errors import RuleError


def with_shipped(directories: Sequence[Path] | None) -> RuleBase:
    """The rules of this program together with those of these directories. Raises RuleErrors, InputError."""
    return load_rules(shipped_rules(), *directories or ())


def rules_at(paths: Sequence[Path] | None) -> LoadedRules:
    """The rules at these paths, together with what they may speak of.

    That is the directory of rules that a path lies in, and the rules of this program; the paths come first
    where an id is defined in both. Without paths, the rules of this program.

    Raises InputError for a path that is not there.
    """
    if not paths:
        return read_rules(shipped_rules())
    around = [parent for path in paths for parent in path.resolve().parents if (parent / "symptoms").is_dir()]
    return read_rules(*paths, beside=[*around, shipped_rules()])


def faults_under(loaded: LoadedRules, paths: Sequence[Path] | None) -> list[RuleError]:
    """The faults of the rules at these paths."""
    return [fault for fault in check(loaded) if is_under(fault.place.path, paths)]


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


def rows(base: RuleBase) -> list[dict[str, Any]]:
    """What a list says of each cause, in order of ids."""
    return [
        {
            "id": cause.cause,
            "kind": cause.kind,
            "status": cause.status,
            "prior": cause.prior,
            "title": cause.title,
            "explains": list(cause.explains),
            "examples": len(cause.examples),
            "file": base.files[cause.cause],
        }
        for _, cause in sorted(base.causes.items())
    ]
