"""The models of a rule file: causes, symptoms, probes, and the examples that test them.

A pattern in YAML is `binding: {fact_kind: {field: test}}`. A test is a literal (equal), a list (any of),
`{not|lt|le|gt|ge|matches|known: x}`, or `$binding.field` of an earlier binding. There is nothing else: no
expressions, no code.

In a medical text a *finding* is a symptom; here a finding is what is reported, as in linters.
"""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from kb.pattern import (
    OPERATORS,
    Alternatives,
    FieldTest,
    Model,
    Operator,
    Pattern,
    PatternError,
    Patterns,
    Ref,
    Scalar,
    parse_patterns,
)

__all__ = [
    "DECIBANS",
    "LIKELY",
    "OPERATORS",
    "PRIORS",
    "UNLIKELY",
    "Alternatives",
    "Cause",
    "Clause",
    "Disruption",
    "Example",
    "FieldTest",
    "Filling",
    "Operator",
    "Overridden",
    "Override",
    "Pattern",
    "Patterns",
    "Probe",
    "Ref",
    "Remedy",
    "Risk",
    "RuleBase",
    "Scalar",
    "SymptomRule",
    "Verdict",
    "Weight",
    "parse_patterns",
]

Weight: TypeAlias = Literal["weak", "moderate", "strong", "conclusive"]
Status: TypeAlias = Literal["experimental", "stable", "deprecated"]
Prior: TypeAlias = Literal["common", "uncommon", "rare"]
Disruption: TypeAlias = Literal["none", "process", "container", "gpu-reset", "reboot", "firmware", "hardware"]
Risk: TypeAlias = Literal["none", "low", "medium", "high"]
Verdict: TypeAlias = Literal[
    "confirmed",
    "likely",
    "possible",
    "unlikely",
    "ruled-out",
    "contradictory",
    "not-applicable",
    "not-assessed",
]

DECIBANS: dict[str, int] = {"weak": 5, "moderate": 10, "strong": 20}
PRIORS: dict[str, int] = {"common": -10, "uncommon": -20, "rare": -30}
LIKELY = 10
UNLIKELY = -10


def _tuple_of(raw: Any) -> Any:
    if isinstance(raw, str):
        return (raw,)
    return tuple(raw) if isinstance(raw, list) else raw


def _named_clauses(raw: Any) -> Any:
    """The clauses of a mapping name → body, each body with its name in it."""
    if isinstance(raw, tuple):
        return raw
    if not isinstance(raw, dict):
        raise ValueError("expected `clause-name: {when: …, weight: …, says: …}`")  # noqa: TRY004
    named = [name for name, body in raw.items() if isinstance(body, dict) and "name" in body]
    if named:
        raise PatternError(
            [((name, "name"), "unknown key `name`: a clause is named by its key") for name in named]
        )
    return tuple({**body, "name": name} if isinstance(body, dict) else body for name, body in raw.items())


Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_tuple_of)]
"""A list of texts; one text alone stands for a list of one."""


class Clause(Model):
    """A named piece of evidence. It counts once, however many facts match.

    `when` is one set of patterns or a list of alternatives; a binding of `requires` may be repeated to test
    it further. `unless` are patterns that no fact may match. True and false have weight; unknown becomes a
    next test (`ask`).
    """

    name: str
    when: Alternatives = ()
    unless: Patterns = ()
    weight: Weight
    otherwise: Weight | None = None
    says: str
    ask: str | None = None
    same: str | None = None
    """Clauses of one group draw on one source: only the heaviest of them counts."""


Clauses: TypeAlias = Annotated[tuple[Clause, ...], BeforeValidator(_named_clauses)]
"""Clauses, in YAML a mapping from their names."""


class Remedy(Model):
    """What to do about a cause. `{binding.field}` in texts and commands is filled in from the facts."""

    do: str
    run: Texts = ()
    when: Alternatives = ()
    """Offered only where these patterns match; without it, always."""
    unless: Patterns = ()
    """Not offered where one of these matches."""
    disrupts: Disruption = "none"
    risk: Risk = "low"
    root: bool = True
    lasting: bool = True
    """False for a workaround: it is shown first when it disrupts less, and never hides the lasting repair."""
    prevents: bool = False
    """True for what repairs nothing but keeps the cause from coming back: it is shown after the repairs."""
    undo: Texts
    verify: str
    """The clause that must be false (or, for a clause against, true) when evidence is collected again."""
    check: Texts = ()
    """Commands that show that it worked."""
    expect: str = ""
    costs: str = ""
    caution: str = ""
    references: Texts = ()


class Example(Model):
    """A small machine and the verdict that it must get. A kind with a fact in it counts as looked for."""

    name: str
    facts: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_tuple_of)] = ()
    log: str | None = None
    """Text as it was pasted, read as a file would be: what was looked for in it follows from it."""
    expect: Verdict
    asks: Texts = ()
    """Probes that must be among what is asked for."""
    says: str | None = None
    """A text that must occur in the ledger."""


class Cause(Model):
    """A root cause, what speaks for and against it, and what to do: one YAML file."""

    cause: str
    """Its id, family.name, equal to folder and file name; in the rules of this program, from the vocabulary."""
    overrides: Literal["whole"] | None = None
    """`whole`: this rule of a user stands in for the rule of this program that has the same id."""
    title: str
    status: Status
    """`experimental`: on trial; `stable`: two look-alikes are among its examples; `deprecated`: since ids live for
    ever it still runs, but it says what has taken its place (`replaced_by`) and gives way to that."""
    replaced_by: Texts = ()
    """The causes that have taken the place of a deprecated one."""
    prior: Prior
    """Among machines that come to us."""
    about: str = "machine"
    """What a finding is about: `machine`, or `$binding.field`."""
    explains: Texts = ()
    """Symptoms."""
    leads_to: Texts = ()
    """Causes that are only consequences of this one where both come out."""
    fallback: bool = False
    """Set aside where a likely cause explains the same symptoms: `with no better cause in evidence`."""
    by_elimination: bool = True
    """False: it is not named for being the only one left, since what speaks for it is seen without it as well."""
    because: str
    requires: Patterns
    for_: Clauses = Field(alias="for", default=())
    against: Clauses = ()
    remedies: Annotated[tuple[Remedy, ...], BeforeValidator(_tuple_of)] = ()
    references: Texts = ()
    examples: Annotated[tuple[Example, ...], BeforeValidator(_tuple_of)] = ()

    @property
    def kind(self) -> Literal["fault", "state"]:
        """A state is not a fault: it is said so that the reader stops suspecting it."""
        return "state" if self.cause.startswith("state.") else "fault"

    @property
    def standing(self) -> str:
        """Its status in words, for a deprecated one with what has taken its place."""
        instead = f", replaced by {' and '.join(self.replaced_by)}" if self.replaced_by else ""
        return f"{self.status}{instead}"

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """All clauses, those for it first."""
        return self.for_ + self.against


class Changes(Model):
    """What a user changes of a cause of this program; what is left out stays."""

    status: Status | None = None
    prior: Prior | None = None
    weights: dict[str, Weight] = Field(default_factory=dict)
    """New weights of clauses, by their names."""


class Override(Model):
    """A file of a user that changes only status, prior or weights of a cause of this program."""

    cause: str
    """Id of the cause that is changed; equal to folder and file name."""
    overrides: Changes
    because: str = ""
    """Why; it is shown in every report that the change has a part in."""


class Overridden(Model):
    """What the file of a user has changed of a cause of this program, in words."""

    file: str
    changes: tuple[str, ...]
    because: str = ""


class SymptomRule(Model):
    """When a symptom is seen. `when` is one set of patterns or a list of alternatives."""

    symptom: str
    title: str
    about: str = "machine"
    when: Alternatives
    unless: Patterns = ()
    says: str


class Filling(Model):
    """Words in the commands of a probe that stand for what the facts tell."""

    when: Alternatives
    unless: Patterns = ()
    words: dict[str, str]
    """Each word (THE-PEER) with the text that takes its place, `{binding.field}` filled in; where that is not
    known, or no plain word of a shell, the word stays for a person to fill in."""


class Probe(Model):
    """A next test: what to run, what it would tell, and what it costs."""

    id: str
    title: str
    run: Texts
    fill: Annotated[tuple[Filling, ...], BeforeValidator(_tuple_of)] = ()
    """The first that matches and knows a word fills it in."""
    covers: Texts
    """Fact kinds that its output brings."""
    gives: str
    """How to read the outcome, in one sentence."""
    disrupts: Disruption = "none"
    free_when: Alternatives = ()
    """Where these patterns match, it interrupts nothing any more: the job has ended that would be."""
    risk: Risk = "none"
    seconds: int = 5
    root: bool = False


class RuleBase(Model):
    """All rules of one run, by id, and where each was read."""

    causes: dict[str, Cause]
    symptoms: dict[str, SymptomRule]
    probes: dict[str, Probe]
    files: dict[str, str] = Field(default_factory=dict)
    """Path of the file of each cause and symptom."""
    overridden: dict[str, Overridden] = Field(default_factory=dict)
    """What users changed of the causes of this program, by their ids."""
