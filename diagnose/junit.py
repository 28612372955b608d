"""Outcomes of tests as JUnit XML, which every CI service reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: to what it belongs, its name, and what failed, line by line."""

    group: str
    name: str
    failed: Sequence[str] = ()
    seconds: float = 0.0


def junit_xml(tests: Sequence[Outcome]) -> str:
    """The XML of one suite."""
    failures = sum(bool(one.failed) for one in tests)
    head = f'<testsuite name="diagnose rules test" tests="{len(tests)}" failures="{failures}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *map(_case, tests), "</testsuite>", ""])


def _case(one: Outcome) -> str:
    head = f'  <testcase classname="{_safe(one.group)}" name="{_safe(one.name)}" time="{one.seconds:.3f}"'
    if not one.failed:
        return f"{head}/>"
    text = _safe("\n".join(one.failed))
    return f'{head}><failure message="{_safe(one.failed[0])}">{text}</failure></testcase>'


def _safe(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
