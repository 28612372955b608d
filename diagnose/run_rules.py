"""The rules of one run, those of users among them. A faulty one takes no part and is told; all others run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose import __version__
from kb.asked import asked_lines
from kb.errors import RuleErrors
from kb.evidence import Unread
from kb.packs import Pack, packs
from kb.rule import RuleBase
from kb.rule_index import diagnosing_rules

if TYPE_CHECKING:
    from kb.errors import RuleError
    from kb.load import Item, LoadedRules, Located

NEEDED = frozenset(
    {
        "reading",
        "kinds-exist",
        "fields-exist",
        "literals-have-the-type-of-their-field",
        "orderings-compare-what-has-an-order",
        "expressions-are-safe",
        "references-point-back",
        "repeated-bindings-keep-their-kind",
        "placeholders-are-bound",
        "about-is-machine-or-bound",
        "overrides-change-what-is-there",
    }
)
"""The checks that a rule must pass to run at all; what others find is told, and the rule runs."""


@dataclass(frozen=True, slots=True)
class RunRules:
    """The rules of a run, where those that are not of this program come from, and what is wrong with these."""

    base: RuleBase
    packs: tuple[Pack, ...] = ()
    faults: tuple[RuleError, ...] = ()
    left_out: tuple[Unread, ...] = ()
    """The rules that take no part for a fault, as what is not known of the evidence."""
    lines: tuple[str, ...] = ()
    """The texts by which they ask for lines that no reader knows."""

    @property
    def warnings(self) -> list[str]:
        """A line for each fault, with file, line and column, and what becomes of the rule."""
        ends = {True: "this rule takes no part", False: "the rule runs all the same"}
        return [f"{fault}; {ends[_prevents(fault)]}" for fault in self.faults]


def run_rules(directories: Sequence[Path] = ()) -> RunRules:
    """The rules of this program, of packages, of the environment, and of the given directories.

    Raises InputError for a directory that is not there, and RuleErrors for faults in the rules of this program
    or in a `pack.yaml`.
    """
    found = packs(directories, __version__)
    if not found:
        return RunRules(diagnosing_rules())
    return _with_packs(found)


def lines_of_users(directories: Sequence[Path] = ()) -> tuple[str, ...]:
    """The texts by which rules that are not of this program ask for lines that no reader knows.

    Raises what `run_rules` raises.
    """
    found = packs(directories, __version__)
    return _with_packs(found).lines if found else ()


def _with_packs(found: Sequence[Pack]) -> RunRules:
    from diagnose.rules_kit import faults_under
    from kb.load import in_order, read_rules, shipped_rules
    from kb.rule_base import base_of

    loaded = read_rules(shipped_rules(), *(one.path for one in found))
    ours = [fault for fault in loaded.errors if Path(fault.place.path).is_relative_to(shipped_rules())]
    if ours:
        raise RuleErrors(sorted(ours, key=in_order))
    faults = faults_under(loaded, [one.path for one in found], of_logs=False)
    owners = {id(fault): _owner(fault, loaded) for fault in faults if _prevents(fault)}
    faulty = {id(owner) for owner in owners.values() if owner is not None}
    told: dict[str, Unread] = {}
    for fault in faults:
        if _prevents(fault):
            owner = owners[id(fault)]
            name = f"the rule {owner.id}" if owner else f"the rule file {fault.place.path}"
            told.setdefault(name, Unread(name, "unreadable", f"it took no part in the answer: {fault}"))
    sound = (one for one in loaded.items if id(one) not in faulty)
    base = base_of(sound)
    return RunRules(base, tuple(found), tuple(faults), tuple(told.values()), asked_lines(base))


def _prevents(fault: RuleError) -> bool:
    return fault.check in NEEDED


def _owner(fault: RuleError, loaded: LoadedRules) -> Located[Item] | None:
    """The rule in which a fault stands: the last of its file that begins no later; None where it was not read."""
    of_file: Iterable[Located[Item]] = (
        one for one in (*loaded.items, *loaded.partial) if one.path == fault.place.path
    )
    before = [one for one in of_file if one.place().line <= fault.place.line]
    return max(before, key=lambda one: one.place().line, default=None)
