"""What the reports say in plain words: verdicts, certainty, disruption, time, clauses that did not match."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.result import Finding, Hypothesis, LedgerLine, RemedyOffer, Rival
from engine.weigh import UNKNOWN, filled
from kb.evidence import Reason, Source
from kb.facts import Fact, fields_of
from kb.rule import DECIBANS, LIKELY, Cause, Disruption, Probe, Remedy, Verdict, Weight

VERDICTS: dict[Verdict, str] = {
    "confirmed": "CONFIRMED",
    "likely": "LIKELY",
    "possible": "POSSIBLE",
    "unlikely": "UNLIKELY",
    "ruled-out": "RULED OUT",
    "contradictory": "CONTRADICTORY",
    "not-applicable": "DOES NOT APPLY",
    "not-assessed": "NOT ASSESSED",
}
DISRUPTS: dict[Disruption, str] = {
    "none": "interrupts nothing",
    "process": "restarts the job",
    "container": "restarts the container",
    "gpu-reset": "resets the GPUs: every job on them ends",
    "reboot": "reboots the machine",
    "firmware": "changes firmware settings, with a reboot",
    "hardware": "needs hands on the hardware",
}
REASONS: dict[Reason, str] = {
    "absent": "not there",
    "not-collected": "not all collected",
    "timed-out": "timed out",
    "no-permission": "not allowed to look",
    "truncated": "may be cut",
    "unreadable": "can't be read",
}
"""Why something was looked for in part only, or not read, in a few words."""
AT_LENGTH: dict[Reason, str] = {
    **REASONS,
    "not-collected": "only what is here was looked at; it shows no more than what happened",
    "truncated": "it may begin late or end early",
    "timed-out": "no answer in time",
}
"""The same where there is room for a sentence."""
_OF_TWENTY = 0.925
_LONG_VALUE = 80


def named(cause: Cause) -> str:
    """The id of a cause; of a deprecated one also what has taken its place."""
    return f"{cause.cause} ({cause.standing})" if cause.status == "deprecated" else cause.cause


def sureness(finding: Finding) -> str:
    """How sure it is, in one or two sentences."""
    if finding.cause.kind == "state" and finding.cause.fallback:
        return "Nothing else is likely."
    score = signed(finding.hypothesis.score)
    if finding.verdict == "confirmed":
        return 'Settled: one line marked "proves" is enough.'
    if finding.verdict == "ruled-out":
        return 'Settled: one line marked "refutes" is enough to rule it out.'
    if finding.verdict == "contradictory":
        return "One line proves it and another rules it out: a source is stale, or a rule is wrong."
    if finding.verdict == "likely":
        return f"{score}, likely from {signed(LIKELY)}: {odds(finding.confidence)}"
    return f"{score}; it would be likely from {signed(LIKELY)}."


def odds(confidence: float) -> str:
    """A calibrated confidence as a frequency."""
    if confidence >= _OF_TWENTY:
        return "about 19 of 20 such answers are right."
    return f"about {max(1, round(confidence * 10))} of 10 such answers are right."


def signed(decibans: int) -> str:
    """A number with its sign: +20, -10, 0."""
    return f"{decibans:+d}" if decibans else "0"


def weight_label(ledger_line: LedgerLine) -> str:
    """What a clause adds, as it stands in the ledger."""
    if ledger_line.truth == "unknown":
        return "?"
    if ledger_line.conclusive and ledger_line.decibans:
        return "proves" if ledger_line.decibans > 0 else "refutes"
    return signed(ledger_line.decibans)


def clause_says(ledger_line: LedgerLine, hypothesis: Hypothesis) -> str:
    """A clause in words. One that did not match has nothing to fill its gaps with: with many, its name serves."""
    if ledger_line.truth == "true":
        return ledger_line.says
    template = next((one.says for one in hypothesis.cause.clauses if one.name == ledger_line.clause), None)
    says = ledger_line.says if template is None else filled(template, hypothesis.bindings, unknown=UNKNOWN)
    says = re.sub(rf"(?:: | \()?{UNKNOWN}\)?$", "", says) if says.count(UNKNOWN) == 1 else says
    if says.startswith(UNKNOWN) or says.count(UNKNOWN) > 2:
        says = ledger_line.clause.replace("-", " ")
    return f"not so: {says}" if ledger_line.truth == "false" else says


def stakes(ledger_line: LedgerLine, hypothesis: Hypothesis) -> str:
    """What an unknown clause would add if it were so, and if it were not: `+20 if so, ruled out if not`."""
    clause = next((one for one in hypothesis.cause.clauses if one.name == ledger_line.clause), None)
    if clause is None:
        return f"could move it by {ledger_line.could_add}"
    sign = 1 if ledger_line.side == "for" else -1
    either = [_stake(clause.weight, sign, "if so"), _stake(clause.otherwise, -sign, "if not")]
    return ", ".join(filter(None, either))


def _stake(weight: Weight | None, sign: int, when: str) -> str:
    if weight is None:
        return ""
    if weight == "conclusive":
        return f"{'confirmed' if sign > 0 else 'ruled out'} {when}"
    return f"{signed(sign * DECIBANS[weight])} {when}"


def not_known(ledger_line: LedgerLine) -> str:
    """Why a clause is unknown."""
    return plain_kind(ledger_line.unknown) or "not known"


def plain_kind(text: str) -> str:
    """Names of fact kinds as words: `kernel_module` is `kernel module`."""
    return text.replace("_", " ")


def fact_says(fact: Fact) -> str:
    """A fact in words: its kind and what is known of its fields."""
    fields = fact_fields(fact)
    return f"{plain_kind(fact.kind)}: {fields}" if fields else plain_kind(fact.kind)


def fact_fields(fact: Fact) -> str:
    """What is known of a fact: `name nvidia, loaded yes`."""
    return ", ".join(f"{name} {_short(value)}" for name, value in fields_of(fact).items())


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    return text if len(text) <= _LONG_VALUE else f"{text[: _LONG_VALUE - 1]}…"


def place(source: Source) -> str:
    """Where a line stands: `dmesg.txt:10`, `dmesg.txt:10-12`; only the name where there is no line."""
    if source.line <= 0:
        return source.path
    if source.end_line > source.line:
        return f"{source.path}:{source.line}-{source.end_line}"
    return f"{source.path}:{source.line}"


def duration(seconds: int) -> str:
    """A time in words: `5 s`, `15 min`, `2 h`."""
    if seconds < 90:
        return f"{seconds} s"
    return f"{round(seconds / 60)} min" if seconds < 90 * 60 else f"{round(seconds / 3600)} h"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 file`, `1,234 facts`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def remedy_terms(remedy: Remedy) -> str:
    """What a remedy interrupts and risks, and whether it needs root."""
    return " · ".join(
        [DISRUPTS[remedy.disrupts], _risk(remedy.risk), "needs root" if remedy.root else "no root needed"]
    )


def verification(offer: RemedyOffer) -> tuple[str, ...]:
    """The commands that show whether a remedy worked: its own, or a fresh collection judged anew."""
    return offer.check or ("diagnose collect", "diagnose explain")


def expectation(offer: RemedyOffer, finding: Finding) -> str:
    """What those commands show if it worked."""
    if offer.expect:
        return offer.expect
    line = next((one for one in finding.hypothesis.ledger if one.clause == offer.remedy.verify), None)
    if line is None:
        return "the cause no longer comes out"
    says = clause_says(line, finding.hypothesis).removeprefix("not so: ")
    return f"a fresh collection {'no longer shows' if line.side == 'for' else 'shows'} that {says}"


def probe_terms(probe: Probe) -> str:
    """What a test takes, interrupts and needs."""
    terms = [duration(probe.seconds), DISRUPTS[probe.disrupts]]
    if probe.risk != "none":
        terms.append(_risk(probe.risk))
    return " · ".join([*terms, "needs root"] if probe.root else terms)


def _risk(risk: str) -> str:
    return "no risk" if risk == "none" else f"{risk} risk"


def margin(rival: Rival) -> str:
    """How far a rival is behind."""
    if rival.margin == 0:
        return "level"
    return f"{rival.margin} behind" if rival.margin > 0 else f"{-rival.margin} ahead"


def listed(words: Sequence[str], limit: int = 99, of: str = "") -> str:
    """Words in a row: `a, b and c`; `a, b and 3 more` beyond the limit, or `3 more` of what they are."""
    if len(words) > limit:
        return f"{', '.join(words[: limit - 1])} and {len(words) - limit + 1} more {of}".rstrip()
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
