"""Trouble with hubs and other services on the network: time-outs, refusals, offline mode, locks of downloads.

    OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the …
    huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/a/b: offline mode …
    Still waiting to acquire lock on /root/.cache/huggingface/hub/.locks/a/0af.lock (elapsed: 10.0 seconds)

Follows huggingface_hub 0.14 on, transformers 4, requests and urllib3, ModelScope, curl, wget, wandb. A line counts
where the exception, or the client's own words, begin it after the logger's stamp; a person's sentence does not.
How often a request failed is told by the number of its retry too, `Retrying in 4s [Retry 3/5].`
Cut lines give what names the trouble.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.problems import HubProblem, HubTrouble

MOST_PROBLEMS = 200
MOST_COLUMNS = 3000

_E = r"(?:[\w.]{1,120}(?:Error|Exception|Timeout|IsEnabled): )"
_LINES: tuple[tuple[HubTrouble | None, str], ...] = (
    ("offline-and-not-cached", r"[\w.]{0,80}OfflineModeIsEnabled: Cannot reach "),
    ("offline-and-not-cached", r"[\w.]{0,80}LocalEntryNotFoundError: "),
    ("offline-and-not-cached", rf"{_E}.{{0,200}}(?:outgoing traffic has been disabled|offline mode is enabled)"),
    (None, rf"{_E}We couldn't connect to '"),
    ("lock-wait", r"Still waiting to acquire lock on "),
    ("interrupted-download", r"Error while downloading from https?://.{1,1500}Trying to resume download"),
    ("unauthorized", r"[\w.]{0,80}GatedRepoError: |" + _E + r"You are trying to access a gated repo"),
    ("not-found", r"[\w.]{0,80}(?:RepositoryNotFoundError|RevisionNotFoundError): "),
    ("retrying", r"wandb: Network error \(\w{1,60}\), entering retry loop"),
    ("unreachable", r"openai_harmony\.HarmonyError: error downloading or loading vocab file"),
    ("name-resolution", r"curl: \(6\) Could not resolve host: (?P<curl>\S{3,120})"),
    ("name-resolution", r"wget: unable to resolve host address .(?P<wget>[\w.-]{3,120})"),
    (
        "timeout",
        r"curl: \(28\) (?:Connection|Failed to connect to|Operation|Resolving) .{0,120}(?:timed out|timeout)",
    ),
    (None, rf"{_E}?[('\"]{{0,3}}(?:[\w.]{{1,80}}\([('\"]{{0,3}})?HTTPS?ConnectionPool\(host="),
    (
        None,
        r"(?:WARNING:[\w.]{1,80}:)?(?:['\"].{3,2500}['\"]|HTTP Error \d{3}) thrown while requesting [A-Z]{3,6} https?://",
    ),
    (None, r"(?:WARNING: )?Retrying \(Retry\(total=\d{1,3}, .{1,200} after connection broken by "),
    (None, rf"{_E}(?:\d{{3}} (?:Client|Server) Error|.{{0,60}}Too Many Requests).{{0,200}} for url: https?://"),
)
_FORM = regex("|".join(f"(?P<n{number}>{text})" for number, (_, text) in enumerate(_LINES)))
_CAUSES: tuple[tuple[HubTrouble, re.Pattern[str]], ...] = (
    ("name-resolution", regex(r"NameResolutionError|Name or service not known|name resolution|Failed to resolve")),
    ("certificate", regex(r"CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerification|certificate verify failed")),
    ("proxy", regex(r"ProxyError|Tunnel connection failed|Cannot connect to proxy|407 Proxy")),
    ("timeout", regex(r"[Tt]imed out|ConnectTimeout|ReadTimeout|Timeout")),
    ("rate-limited", regex(r"\b429\b|Too Many Requests")),
    ("unauthorized", regex(r"\b40[13] (?:Client Error|Forbidden|Unauthorized)")),
    ("not-found", regex(r"\b404 (?:Client Error|Not Found)")),
    ("unreachable", regex(r"unreachable|refused|No route to host|NewConnection|couldn't connect|Server Error")),
)  # fmt: skip
_RETRY = regex(
    r"(?:WARNING:[\w.]{1,80}:)?Retrying in \d{1,5}(?:\.\d{1,9})?s \[Retry (?P<tries>\d{1,4})/\d{1,4}\]\.?\s*$"
)
_HOST = regex(r"ConnectionPool\(host='(?P<pool>[\w.-]{3,120})'|https?://(?P<url>[\w.-]{3,120})")
_WHAT = regex(
    r"with url: (?P<path>/[^\s?'\")]{1,200})|https?://[\w.-]{1,120}(?P<rest>/[^\s?'\":)]{1,200})"
    r"|acquire lock on (?P<lock>\S{1,250})"
)
_OWN = frozenset(("localhost", "127.0.0.1", "0.0.0.0"))  # noqa: S104 - a name in a log, not an address to bind
_MARKERS = (
    *(
        "ConnectionPool(host=",
        "OfflineModeIsEnabled",
        "LocalEntryNotFoundError",
        "outgoing traffic has been disabled",
    ),
    *("offline mode is enabled", "We couldn't connect to", "to acquire lock on", "Trying to resume download"),
    *("GatedRepoError", "gated repo", "RepositoryNotFoundError", "RevisionNotFoundError", "entering retry loop"),
    *("HarmonyError", "Could not resolve host", "unable to resolve host", "curl: (28)", " Client Error"),
    *("after connection broken by", " Server Error", "Too Many Requests", "s [Retry ", "thrown while requesting "),
)


@dataclass(slots=True)
class _Trouble:
    """One trouble and its repetitions."""

    problem: HubTrouble
    host: str | None
    what: str | None
    fatal: bool
    rank: str | None
    first: int
    time: str | None
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """HubProblem for each trouble, host and rank; the first file or address of each."""
    found: dict[tuple[HubTrouble, str | None, str | None, bool], _Trouble] = {}
    asked: _Trouble | None = None
    for index, line in section.matching(*_MARKERS):
        launched = without_launcher(after_progress(line))
        logged = without_stamp(launched.text)
        text = logged.text[:MOST_COLUMNS]
        match = _FORM.match(text)
        if match is None:
            if asked is not None and not asked.fatal and (retry := _RETRY.match(text)) is not None:
                asked.count = max(asked.count, int(retry["tries"]))
            continue
        trouble = _trouble(match, text, launched.rank or logged.rank, index, logged.time)
        if trouble is None:
            continue
        key = (trouble.problem, trouble.host, trouble.rank, trouble.fatal)
        known = found.setdefault(key, trouble) if len(found) < MOST_PROBLEMS else found.get(key, trouble)
        known.count += 1
        asked = known
        known.time = logged.time or known.time
    for one in found.values():
        fact = HubProblem(
            problem=one.problem,
            host=one.host,
            what=one.what,
            fatal=one.fatal,
            rank=one.rank,
            count=one.count,
            time=one.time,
        )
        yield section.observe(fact, one.first)
    if found:
        yield section.looked(HubProblem, complete=False, reason="not-collected")


def _trouble(match: re.Match[str], text: str, rank: str | None, index: int, time: str | None) -> _Trouble | None:
    number = next(number for number in range(len(_LINES)) if match[f"n{number}"] is not None)
    problem = _LINES[number][0] or _cause(text)
    host = _HOST.search(text)
    name = match["curl"] or match["wget"] or (host and (host["pool"] or host["url"])) or None
    if name is not None and (name in _OWN or name.rpartition(".")[2].isdigit()):
        return None  # a service of this machine or cluster
    what = _WHAT.search(text)
    told = (what["path"] or what["rest"] or what["lock"]) if what else None
    fatal = text.partition(":")[0].endswith(("Error", "Exception", "Timeout", "IsEnabled"))
    return _Trouble(problem, name, told, fatal, rank, index, time)


def _cause(text: str) -> HubTrouble:
    return next((cause for cause, form in _CAUSES if form.search(text)), "unreachable")


READER = Reader("hub-problems", read, markers=_MARKERS)
