"""The report as JSON, schema diagnose.report/1. Names and order are a contract; keys may only be added.

Text of the evidence stands in it as it stands in its source; `neutral.json_text` writes it in plain ASCII.
"""

from __future__ import annotations

from typing import Any

from diagnose.differences import Difference
from diagnose.render.codes import Explained, explained_codes
from diagnose.render.earlier import Earlier, earlier_events, in_words
from diagnose.render.evidence import absences, cited, opposing, supporting, unknowns, unlooked
from diagnose.render.gaps import unknown_parts
from diagnose.render.harmless import Recognised, recognised
from diagnose.render.proof import absence_line, line_of, proof_of
from diagnose.render.report import Report, shown
from diagnose.render.words import clause_says, duration, expectation, verification
from engine.result import Contradiction, Finding, LedgerLine, NextTest, RemedyOffer, Rival, SymptomSeen

SCHEMA = "diagnose.report/1"

Node = dict[str, Any]


def report_json(report: Report, *, everything: bool = False) -> Node:
    """The report as plain values; with `everything` the weak causes too."""
    diagnosis = report.diagnosis
    return {
        "schema": SCHEMA,
        "version": report.version,
        "input": [
            {"path": one.path, "kind": one.kind, "files": one.files, "bytes": one.bytes, "host": one.host}
            for one in report.inputs
        ],
        "symptoms": [_symptom(seen) for seen in diagnosis.symptoms],
        "causes": [_cause(finding, report) for finding in shown(diagnosis, everything=everything)],
        "next_tests": [_next_test(test) for test in diagnosis.next_tests],
        "contradictions": [_contradiction(one) for one in diagnosis.contradictions],
        "machines": list(diagnosis.parts),
        "differences": [_difference(one) for one in report.differences],
        "before_this_boot": [_earlier(one) for one in earlier_events(diagnosis)],
        "harmless": [_harmless(one) for one in recognised(diagnosis)],
        "explained_codes": [_code(one, report) for one in explained_codes(diagnosis)],
        "unknown": unknown_parts(diagnosis),
        "rules": _rules(report),
        "stats": {
            "seconds": round(report.stats.seconds, 3),
            "bytes": report.stats.bytes,
            "facts": report.stats.facts,
            "rules_fired": report.stats.rules_fired,
            "peak_rss_mb": round(report.stats.peak_rss_mb, 1),
            "engine": report.stats.engine,
        },
    }


def _cause(finding: Finding, report: Report) -> Node:
    cause, hypothesis, looked = finding.cause, finding.hypothesis, report.diagnosis.looked
    absent = absences(hypothesis, looked)
    return {
        "id": cause.cause,
        "kind": cause.kind,
        "title": cause.title,
        "confidence": round(finding.confidence, 3),
        "explains": list(finding.explains),
        "subjects": list(finding.subjects),
        "evidence": [line_of(one, cause.cause) for one in supporting(hypothesis)]
        + [absence_line(one, finding) for one in absent if one.line.decibans > 0],
        "against": [line_of(one, cause.cause) for one in opposing(hypothesis)]
        + [absence_line(one, finding) for one in absent if one.line.decibans < 0],
        "missing": [_missing(line, finding, report) for line in unknowns(hypothesis)],
        "proof": proof_of(finding, looked, report.diagnosis.symptoms),
        "remedies": [
            _remedy(offer, f"{cause.cause}/{number}", finding) for number, offer in enumerate(finding.remedies, 1)
        ],
        "verdict": finding.verdict,
        "score": hypothesis.score,
        "prior": hypothesis.prior,
        "ledger": [_ledger_line(line, finding) for line in hypothesis.ledger],
        "rivals": [_rival(rival) for rival in finding.rivals],
        "consequence_of": finding.consequence_of,
        "yields_to": finding.yields_to,
        "status": cause.status,
        "replaced_by": list(cause.replaced_by),
        "because": cause.because,
        "references": list(cause.references),
    }


def _rules(report: Report) -> Node:
    """Whose rules took part beside those of this program, and what they changed of these."""
    return {
        "packs": [
            {"path": str(one.path), "name": one.name, "version": one.version, "named_by": one.named_by}
            for one in report.packs
        ],
        "overrides": [
            {"cause": cause, "file": one.file, "changes": list(one.changes), "because": one.because}
            for cause, one in sorted(report.overridden.items())
        ],
        "faults": list(report.rule_faults),
    }


def _missing(line: LedgerLine, finding: Finding, report: Report) -> Node:
    return {
        "fact": ", ".join(unlooked(line, finding.hypothesis, report.diagnosis.looked)),
        "why": line.unknown or "not known",
        "command": "\n".join(
            report.commands_of(line.ask, unlooked(line, finding.hypothesis, report.diagnosis.looked))
        ),
        "clause": line.clause,
        "says": clause_says(line, finding.hypothesis),
        "could_add": line.could_add,
        "ask": line.ask,
    }


def _ledger_line(line: LedgerLine, finding: Finding) -> Node:
    return {
        "clause": line.clause,
        "side": line.side,
        "truth": line.truth,
        "decibans": line.decibans,
        "conclusive": line.conclusive,
        "says": clause_says(line, finding.hypothesis),
        "unknown": line.unknown,
        "ask": line.ask,
        "could_add": line.could_add,
    }


def _rival(rival: Rival) -> Node:
    return {"id": rival.cause, "title": rival.title, "verdict": rival.verdict, "margin": rival.margin}


def _remedy(offer: RemedyOffer, remedy_id: str, finding: Finding) -> Node:
    remedy = offer.remedy
    return {
        "id": remedy_id,
        "title": offer.do,
        "commands": list(offer.run),
        "risk": remedy.risk,
        "disruption": remedy.disrupts,
        "needs_root": remedy.root,
        "rollback": list(offer.undo),
        "verify": list(verification(offer)),
        "expect": expectation(offer, finding),
        "references": list(remedy.references or finding.cause.references),
        "lasting": remedy.lasting,
        "prevents": remedy.prevents,
        "costs": offer.costs,
        "caution": offer.caution,
    }


def _symptom(seen: SymptomSeen) -> Node:
    return {
        "id": seen.rule.symptom,
        "title": seen.rule.title,
        "evidence": [line_of(one, seen.rule.symptom) for one in cited(seen.evidence)],
        "about": seen.about,
        "says": seen.says,
        "explained_by": list(seen.explained_by),
    }


def _next_test(test: NextTest) -> Node:
    probe = test.probe
    return {
        "id": probe.id,
        "title": probe.title,
        "commands": list(test.commands),
        "separates": list(test.separates),
        "cost": duration(probe.seconds),
        "risk": probe.risk,
        "disruption": probe.disrupts,
        "gives": probe.gives,
        "seconds": probe.seconds,
        "needs_root": probe.root,
        "could_move": test.could_move,
    }


def _earlier(one: Earlier) -> Node:
    lines = [line_of(line, "earlier boot") for line in cited(one.evidence)]
    return {"text": in_words(one), "time": one.time, "count": one.count, "evidence": lines}


def _harmless(one: Recognised) -> Node:
    lines = [line_of(line, "harmless") for line in cited(one.evidence)]
    return {"id": one.id, "because": one.because, "unless": one.unless, "count": one.count, "evidence": lines}


def _code(one: Explained, report: Report) -> Node:
    return {
        "kind": one.kind,
        "code": one.code,
        "means": one.means,
        "certainty": "low",
        "often": list(one.causes),
        "count": one.count,
        "next_test": {"id": one.test, "commands": list(report.commands_of(one.test or None))},
        "evidence": [line_of(line, "catalogue") for line in cited(one.evidence)],
    }


def _difference(difference: Difference) -> Node:
    return {
        "subject": difference.subject,
        "values": [{"value": value, "machines": list(names)} for value, names in difference.machines.items()],
        "splits_sick_from_well": difference.splits,
        "evidence": [line_of(line, "difference") for line in cited(difference.evidence)],
    }


def _contradiction(one: Contradiction) -> Node:
    return {"title": one.title, "evidence": [line_of(line, "disagreement") for line in cited(one.evidence)]}
