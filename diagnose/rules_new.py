"""A first draft of a rule that passes every check at once, empty or from what some evidence shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.as_example import fact_line
from diagnose.explain import Case
from diagnose.output import as_json
from diagnose.telling_facts import TEXTS, choices_of, tests_of, text_test, troubles, weight_of
from engine.coverage import DERIVED
from engine.session import assess_parts
from kb.check.names import CAUSE_ID
from kb.errors import InputError
from kb.evidence import Observed
from kb.facts import Fact
from kb.facts.framework import ProcessError
from kb.facts.log_lines import LogLine
from kb.fieldtypes import field_types
from kb.load import shipped_rules
from kb.rule import RuleBase, SymptomRule
from kb.schema import rule_schema
from kb.vocabulary import vocabulary

SCHEMA = "rule.schema.json"
HEALTHY = "state.healthy"
MOST_CLAUSES = 4
BINDINGS = ("first", "second", "third", "fourth")

_DRAFT = """\
# yaml-language-server: $schema=../../{schema}
# Check it: diagnose rules test FILE · try it: diagnose rules try --watch FILE EVIDENCE
cause: {cause}
title: Say in one line what is wrong
status: experimental     # stable, once two look-alikes are among its examples
prior: common            # common, uncommon or rare among the machines that come to you
explains: [{explains}]  # the symptoms that it would cause; all: diagnose rules vocabulary symptoms
because: >
  Say how it comes about and why it shows as it does, so that a reader can check it.

# Without these facts nobody thinks of it. `diagnose facts EVIDENCE` shows what is read from where.
requires:
  {requires}

# What speaks for it: weak 5, moderate 10, strong 20, against a prior of -10, -20 (uncommon) or -30 (rare).
# From +10 on it is likely. `weight: conclusive` decides alone; `otherwise: conclusive` rules it out where false.
for:
{clauses}
# What a look-alike has and this has not:
# against:
#   job-went-on:
#     when: {{run: {{run_outcome: {{outcome: [running, finished]}}}}}}
#     weight: strong
#     says: the job went on

remedies:
  - do: Say what to do.
    run: []
    disrupts: none       # none, process, container, gpu-reset, reboot, firmware or hardware
    undo: [nothing needs undoing]
    verify: {verify}  # the clause that must be false when evidence is collected again
references: ["own: say where it was seen"]

examples:
  - name: as it was seen
    facts:               # leave out what it does not depend on, and what is private; or `log: |`, pasted lines
{facts}
    expect: likely
{look_alike}"""

_WITHOUT = """\
  - name: a machine without it  # put the look-alike here that must not come out
    facts: [{{looked: [{kind}]}}]
    expect: not-applicable
"""
_OTHER_WORDS = """\
  - name: the same with other words  # a look-alike that must not come out; put a real one here
    facts:
      {fact}
    expect: unlikely
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """Facts that a healthy machine has not, the first of each kind and choice, and the symptoms they show."""

    facts: tuple[Fact, ...]
    symptoms: tuple[str, ...]


PLAIN = Shown((ProcessError(error="SomeError", text="what its message says"),), ("process-failed",))
"""What a draft begins from where there is no evidence."""


def write_new(cause: str, directory: Path, shown: Shown, base: RuleBase) -> Path:
    """Writes the draft, and the schema for editors beside it. Raises InputError where it can't be written so."""
    family, _, name = cause.partition(".")
    if not CAUSE_ID.fullmatch(cause):
        raise InputError(f"expected an id such as acme.queue-stuck (family.name), found {cause!r}")
    if cause in base.causes:
        raise InputError(
            f"there is a rule for {cause}: {base.files[cause]}; take another id, or override it with `overrides:`"
        )
    if directory.resolve() == shipped_rules().resolve() and cause not in vocabulary():
        raise InputError(
            f"{cause} is not in kb/causes.yaml, as rules of this program must be; name another folder: -o"
        )
    file = directory / "causes" / family / f"{name}.yaml"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(draft(cause, shown))
        (directory / SCHEMA).write_text(as_json(rule_schema(base)), encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{file} is there already; take another id or folder (-o)") from None
    except OSError as error:
        why = (error.strerror or "error").lower()
        raise InputError(f"could not write {file}: {why}; name another folder with -o") from error
    return file


def default_directory() -> Path:
    """The folder `rules` of the current directory, if there is one, else that itself."""
    return Path("rules") if Path("rules").is_dir() else Path()


def draft(cause: str, shown: Shown) -> str:
    """The text of the rule file."""
    facts = shown.facts[:MOST_CLAUSES]
    names = list(_names(facts))
    clauses = [
        f"  {name}:\n    when: {{{binding}: {_pattern(fact, text=True)}}}\n"
        f"    weight: {'moderate' if number else 'strong'}\n    says: {json.dumps(_says(binding, fact))}\n"
        for number, (name, binding, fact) in enumerate(zip(names, BINDINGS, facts, strict=False))
    ]
    return _DRAFT.format(
        schema=SCHEMA,
        cause=cause,
        explains=", ".join(shown.symptoms),
        requires=f"{BINDINGS[0]}: {_pattern(facts[0], text=False)}",
        clauses="".join(clauses),
        verify=names[0],
        facts="\n".join(f"      {fact_line(fact)}" for fact in facts),
        look_alike=_look_alike(facts[0]),
    )


def _look_alike(fact: Fact) -> str:
    """An example that must not come out: the same fact with other words, or a machine that does not have it."""
    told = text_test(fact)
    if not told:
        return _WITHOUT.format(kind=fact.kind)
    other = fact.model_copy(update=dict.fromkeys(told, "what else it may say"))
    return _OTHER_WORDS.format(fact=fact_line(other))


def _names(facts: Sequence[Fact]) -> Iterator[str]:
    """A name for the clause of each fact, after its kind."""
    seen: dict[str, int] = {}
    for fact in facts:
        seen[fact.kind] = seen.get(fact.kind, 0) + 1
        plain = fact.kind.replace("_", "-")
        yield plain if seen[fact.kind] == 1 else f"{plain}-{seen[fact.kind]}"


def _pattern(fact: Fact, *, text: bool) -> str:
    return f"{{{fact.kind}: {{{tests_of(fact, text=text)}}}}}"


def _says(binding: str, fact: Fact) -> str:
    fields = [*text_test(fact)] or [name for name in choices_of(fact) if field_types(fact.kind)[name].choices]
    told = ", ".join(
        f"{'' if name in TEXTS else name.replace('_', ' ') + ' '}{{{binding}.{name}}}" for name in fields
    )
    return f"{fact.kind.replace('_', ' ')}{': ' if told else ' is seen'}{told}"


def shown_by(case: Case, base: RuleBase, lines: Sequence[str] = ()) -> Shown:
    """What the evidence has and a healthy machine has not: what shows symptoms, speaks against health, or tells of
    trouble by its kind; what tells most comes first. `lines` are texts that lines of it must hold.

    Raises InputError where there is nothing of that, or no such line.
    """
    held = {fact.holds for fact in (one.fact for one in case.observed) if isinstance(fact, LogLine)}
    if set(lines) - held:
        raise InputError(
            f"no line of the evidence holds {json.dumps(min(set(lines) - held))}; it is looked for as it stands"
        )
    symptoms = {**_of_healthy(base), **base.symptoms}
    seen = assess_parts(base.model_copy(update={"symptoms": symptoms}), case.parts).symptoms
    facts: dict[str, Fact] = {}
    shown: list[str] = []
    for one in sorted(seen, key=lambda one: one.rule.symptom not in base.symptoms):
        told = [fact for observed in one.evidence for fact in _stateable(observed)]
        for fact in told:
            facts.setdefault(_pattern(fact, text=True), fact)
        if told and one.rule.symptom in base.symptoms:
            shown.append(one.rule.symptom)
    for fact in troubles(case.observed):
        facts.setdefault(_pattern(fact, text=True), fact)
    if not facts:
        raise InputError(
            "found nothing that a healthy machine has not; `diagnose facts` shows what was read, `--line TEXT` "
            "takes a line that nobody reads, and without --from a plain draft is written"
        )
    return Shown(tuple(sorted(facts.values(), key=weight_of, reverse=True)), tuple(dict.fromkeys(shown)))


def _stateable(observed: Observed) -> tuple[Fact, ...]:
    """The fact, where an example may state it."""
    return () if observed.fact.kind in DERIVED else (observed.fact,)


def _of_healthy(base: RuleBase) -> dict[str, SymptomRule]:
    """The clauses against health as if each were a symptom, so that the engine tells which facts match them."""
    healthy = base.causes.get(HEALTHY)
    bound = {pattern.binding for pattern in healthy.requires} if healthy else set()
    found = {}
    for clause in healthy.against if healthy else ():
        used = {pattern.binding for choice in clause.when for pattern in choice}
        kinds = {pattern.fact for choice in clause.when for pattern in choice}
        if clause.when and not used & bound and not kinds & DERIVED:
            name = f"against-health-{clause.name}"
            found[name] = SymptomRule(symptom=name, title=name, when=clause.when, unless=clause.unless, says=name)
    return found
