"""A small checker for the report's JSON: the contract as a table. A dict asks for these keys, more are allowed."""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)
RISKS = ("none", "low", "medium", "high")
DISRUPTIONS = ("none", "process", "container", "gpu-reset", "reboot", "firmware", "hardware")
REASONS = ("absent", "not-collected", "timed-out", "no-permission", "truncated", "unreadable")


class OneOf(tuple):
    """One of these texts."""

    __slots__ = ()


class Named(str):
    """A shape that is defined once, so that it may contain itself."""

    __slots__ = ()


SHAPES: dict[str, Any] = {
    "E": {
        "text": str,
        "source": {"path": str, "line": int, "end_line": int, "sha256": str},
        "weight": NUMBER,
        "rule": str,
    },
    "P": {"conclusion": str, "rule": str, "because": [(Named("P"), Named("E"))]},
    "remedy": {
        "id": str,
        "title": str,
        "commands": [str],
        "risk": OneOf(RISKS),
        "disruption": OneOf(DISRUPTIONS),
        "needs_root": bool,
        "rollback": [str],
        "verify": [str],
        "expect": str,
        "references": [str],
    },
    "cause": {
        "id": str,
        "kind": OneOf(("fault", "state")),
        "title": str,
        "confidence": NUMBER,
        "explains": [str],
        "subjects": [str],
        "evidence": [Named("E")],
        "against": [Named("E")],
        "missing": [{"fact": str, "why": str, "command": str}],
        "proof": Named("P"),
        "remedies": [Named("remedy")],
    },
    "next_test": {
        "id": str,
        "title": str,
        "commands": [str],
        "separates": [str],
        "cost": str,
        "risk": OneOf(RISKS),
        "disruption": OneOf(DISRUPTIONS),
    },
    "report": {
        "schema": OneOf(("diagnose.report/1",)),
        "version": str,
        "input": [{"path": str, "kind": str, "files": int, "bytes": int, "host": (str, type(None))}],
        "symptoms": [{"id": str, "title": str, "evidence": [Named("E")]}],
        "causes": [Named("cause")],
        "next_tests": [Named("next_test")],
        "contradictions": [{"title": str, "evidence": [Named("E")]}],
        "unknown": [{"what": str, "reason": OneOf(REASONS), "consequence": str}],
        "stats": {"seconds": NUMBER, "bytes": int, "facts": int, "rules_fired": int, "peak_rss_mb": NUMBER},
    },
    "facts": {
        "schema": OneOf(("diagnose.facts/1",)),
        "files": [
            {
                "path": str,
                "bytes": int,
                "readers": [str],
                "facts": int,
                "unread_bytes": int,
                "why_unread": str,
                "lines": int,
                "quoted_lines": int,
            }
        ],
        "facts": [
            {
                "kind": str,
                "fields": dict,
                "source": {"path": str, "line": int, "end_line": int, "sha256": str},
                "text": str,
            }
        ],
        "looked": [{"kind": str, "complete": bool, "where": str}],
    },
}


def breaches(value: Any, shape: Any, where: str = "report") -> list[str]:
    """Every place at which a value breaks a shape."""
    if isinstance(shape, Named):
        return breaches(value, SHAPES[shape], where)
    if isinstance(shape, OneOf):
        return [] if value in shape else [f"{where}: {value!r} is none of {', '.join(shape)}"]
    if isinstance(shape, dict):
        return _of_dict(value, shape, where)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where}: no list"]
        return [one for number, item in enumerate(value) for one in breaches(item, shape[0], f"{where}[{number}]")]
    if isinstance(shape, tuple) and isinstance(shape[0], Named):
        results = [breaches(value, choice, where) for choice in shape]
        return [] if any(not result for result in results) else min(results, key=len)
    right = isinstance(value, shape) and (shape is not int or not isinstance(value, bool))
    return [] if right else [f"{where}: {type(value).__name__} instead of {shape}"]


def _of_dict(value: Any, shape: dict[str, Any], where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where}: no object"]
    missing = [f"{where}.{key}: missing" for key in shape if key not in value]
    return missing + [
        one
        for key, inner in shape.items()
        if key in value
        for one in breaches(value[key], inner, f"{where}.{key}")
    ]
