"""What dcgmi prints as JSON: results of `diag -j`, `health -c -j`, and NVLink errors of `nvlink -e -j`.

    {"DCGM GPU Diagnostic": {"test_categories": [{"category": "Deployment", "tests": [{"name": "Inforom", …
    {"DCGM Diagnostic": {"test_categories": [… "results": [{"entity_id": 0, "status": "Fail", "warnings": [{…
    {"body": {"Overall Health": {"value": "Healthy"}}, "header": ["Health Monitor Report"]}

Follows dcgmi of DCGM 2.0 to 4.6: GPUs by `gpu_ids` or `gpu_id`, or by `entity_id` of `entity_group`. Values of
another form, and text that is no JSON, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from collectors.readers._diag_classes import Finding, finding, told_together
from collectors.readers._json_text import at, objects_of
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import DiagResult
from kb.facts.fabric import NvlinkErrors

_ROOTS = ("DCGM GPU Diagnostic", "DCGM Diagnostic")
_STATUS = {"pass": "pass", "fail": "fail", "warn": "warn", "skip": "skip", "not run": "not-run"}
_HEALTH = {"healthy": "pass", "warning": "warn", "failure": "fail"}
_SEVERITIES = ("none", "monitor", "isolate", "unknown", "triage", "config", "reset")
_MOST_RESULTS = 4096
_MOST_TEXT = 2000
_ERRORS = {
    "replay error": "replays",
    "recovery error": "recoveries",
    "crc flit error": "crc",
    "crc data error": "crc",
}

Status = Literal["pass", "fail", "warn", "skip", "not-run"]


class _Lines:
    """Where in the section the names of the JSON stand, each after the one before it."""

    def __init__(self, section: Section) -> None:
        self._lines = section.lines
        self._at = 0

    def of(self, name: str) -> int:
        """The next line that holds the name in quotation marks; the current one where none does."""
        quoted = f'"{name}"'
        for index in range(self._at, len(self._lines)):
            if quoted in self._lines[index]:
                self._at = index
                break
        return self._at


def read(section: Section) -> Iterator[Reading]:
    """DiagResult for each test and finding; NvlinkErrors for a GPU."""
    findings: list[Finding] = []
    lines = _Lines(section)
    for document in objects_of(section):
        for root in _ROOTS:
            findings += _diagnostic(document.get(root), lines)
            for run in _list(document.get("iterations")):
                findings += _diagnostic(at(run, root), lines)
        header = [str(one) for one in _list(document.get("header"))]
        if "Health Monitor Report" in header:
            findings += _health(document.get("body"), lines)
        elif "NVLINK Error Counts" in header:
            yield from _nvlink(section, header, document.get("body"))
    if findings:
        yield from told_together(section, findings[:_MOST_RESULTS])
        yield section.looked(DiagResult)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _diagnostic(root: Any, lines: _Lines) -> Iterator[Finding]:
    for category in _list(at(root, "test_categories")):
        for test in _list(at(category, "tests")):
            name = at(test, "name")
            if isinstance(name, str):
                yield from _test(name[:80], test, lines)


def _test(name: str, test: Any, lines: _Lines) -> Iterator[Finding]:
    """What each GPU's result says; how the test ended where no result does."""
    line = lines.of(name)
    results = [one for one in _list(at(test, "results")) if isinstance(one, dict)]
    known = [(one, status) for one in results if (status := _status(one)) is not None]
    bad = [(one, status) for one, status in known if status in {"fail", "warn"}]
    if not bad:
        status = _status(at(test, "test_summary") or {}) or next((status for _, status in known), None)
        if status in {"fail", "warn"}:
            bad = [(test["test_summary"], status)]
        elif status is not None:
            yield finding(DiagResult(test=name, status=status), line, line)
    for result, status in bad:
        for gpu in _gpus(result):
            for text, code, severity in _warnings(result):
                fact = DiagResult(test=name, status=status, gpu=gpu, severity=severity)
                yield finding(fact, line, line, text, code)


def _status(result: Any) -> Status | None:
    text = at(result, "status")
    return cast("Status | None", _STATUS.get(text.lower())) if isinstance(text, str) else None


def _gpus(result: dict[str, Any]) -> list[int | None]:
    """The GPUs that a result is about; None: it does not tell."""
    if result.get("entity_group", "GPU") != "GPU":
        return [None]
    for key in ("gpu_ids", "gpu_id", "entity_id"):
        if key in result:
            parts = str(result[key])[:400].split(",")
            numbers: list[int | None] = [int(part) for part in parts if part.strip().isdecimal() and len(part) < 6]
            return numbers or [None]
    return [None]


def _warnings(result: dict[str, Any]) -> Iterator[tuple[str | None, int | None, Any]]:
    """Text, number and severity of each; one empty where there is none."""
    warnings = result.get("warnings", result.get("warning"))
    found = False
    for one in _list(warnings) or ([warnings] if isinstance(warnings, (str, dict)) else []):
        text, code = (one, None) if isinstance(one, str) else (at(one, "warning"), at(one, "error_id"))
        severity = at(one, "error_severity")
        if isinstance(text, str):
            found = True
            number = code if isinstance(code, int) and 0 <= code < 100_000 else None
            known = isinstance(severity, int) and 0 <= severity < len(_SEVERITIES)
            yield text[:_MOST_TEXT], number, _SEVERITIES[severity] if known else None
    if not found:
        yield None, None, None


def _health(body: Any, lines: _Lines) -> Iterator[Finding]:
    overall = at(body, "Overall Health", "value")
    status = _HEALTH.get(overall.lower()) if isinstance(overall, str) else None
    if status == "pass":
        line = lines.of("Overall Health")
        yield finding(DiagResult(test="Overall Health", status="pass", tool="health"), line, line)
    for gpu, entity in sorted((at(body, "GPU", "children") or {}).items()):
        for system, told in (at(entity, "children", "Errors", "children") or {}).items():
            value = at(told, "value")
            status = _HEALTH.get(value.lower()) if isinstance(value, str) else None
            if status is None:
                continue
            line = lines.of(system)
            text = " ".join(str(at(one, "value") or one)[:400] for one in _list(at(told, "overflow")))
            fact = DiagResult(
                test=system[:80],
                status=cast("Status", status),
                gpu=int(gpu) if gpu.isdecimal() and len(gpu) < 6 else None,
                tool="health",
            )
            yield finding(fact, line, line, text or None)


def _nvlink(section: Section, header: list[str], body: Any) -> Iterator[Reading]:
    """Errors on the links of one GPU; on NVLink 5 the counters are named otherwise and not read here."""
    counts: dict[str, int] = {}
    bad: list[str] = []
    for link, told in body.items() if isinstance(body, dict) else ():
        total = 0
        for name, count in (at(told, "children") or {}).items():
            key, text = _ERRORS.get(name.lower()), str(at(count, "value"))
            if key and text.isdecimal() and len(text) < 20:
                counts[key] = counts.get(key, 0) + int(text)
                total += int(text)
        if total:
            bad.append(link.removeprefix("Link ")[:8])
    if counts:
        gpu = next((one[4:] for one in header if one.startswith("GPU ") and one[4:].isdecimal()), None)
        fact = NvlinkErrors(
            index=int(gpu[:4]) if gpu else None,
            replays=counts.get("replays"),
            recoveries=counts.get("recoveries"),
            crc=counts.get("crc"),
            total=sum(counts.values()),
            links_with_errors=", ".join(bad) or None,
        )
        yield section.observe(fact, 0, len(section.lines) - 1)
        yield section.looked(NvlinkErrors, complete=False, reason="not-collected")


READER = Reader(
    "dcgm-json",
    read,
    markers=("DCGM GPU Diagnostic", "DCGM Diagnostic", "Health Monitor Report", "NVLINK Error Counts"),
    commands=("dcgmi diag", "dcgmi health", "dcgmi nvlink"),
    lines=("DCGM GPU Diagnostic", "DCGM Diagnostic"),
    context=(1, 4000),
)
