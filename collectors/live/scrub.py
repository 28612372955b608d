"""Secrets out of whatever is written, line by line: tokens, keys, passwords, credentials in URLs.

A table of our own, because the collector must run where nothing can be installed, and because the libraries
for this search repositories (they report a place, by entropy among others) where we must replace within a
stream of gigabytes without ever taking an argument of a job for a secret. A form is either known by its own
prefix, or by the name before it. Each line stays a line, so that evidence keeps its line numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MARK = "REDACTED"
"""What stands in place of a secret begins so: a plain word, since brackets or stars would break YAML and JSON."""

_LONGEST_LINE = 1024 * 1024
_HELD_BACK = 4096
# A key of 16384 bits has about this many lines; a BEGIN without END must not swallow the rest of a log.
_KEY_LINES = 220


@dataclass(frozen=True)
class Form:
    """One form of secret. `hints` in lower case, one of which a text that holds it contains.

    The group `secret` is what is replaced; without such a group, the whole match.
    """

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


def _form(kind: str, hints: str, pattern: str, flags: int = re.IGNORECASE) -> Form:
    """A form; hints are divided by spaces. By default the case of letters does not matter."""
    return Form(kind, tuple(hints.encode().split()), re.compile(pattern.encode(), flags))


def _own(kind: str, hints: str, pattern: str) -> Form:
    """A form that is known by its own prefix, in exactly these letters."""
    return _form(kind, hints, rf"(?<![A-Za-z0-9])(?:{pattern})", 0)


# Quoted, or up to where a value ends in JSON, YAML, a shell, a query or a printed list of arguments.
_VALUE = (
    r"""(?P<secret>(?<=")(?:[^"\\\r\n]|\\(?!["']))+|(?<=')(?:[^'\\\r\n]|\\(?!["']))+"""
    r"""|(?:[^\s"',;&)}\]\[({<>\\]|\\(?!["']))+)"""
)
# What is no secret: nothing, a number, a reference to where it stands, or a replacement.
_NOT = (
    rf"""(?!(?:none|null|nil|true|false|yes|no|unset|empty|\d{{1,9}}|n/a|amd64|arm64|{MARK}[\w-]*|\(hidden\)|[*x.]+)(?:[\s"',;&)\]}}]|$))"""
    r"""(?![$<%{{]|sha256:)"""
)
_NAMES = (
    r"(?:passw(?:or)?d|passphrase|api[_-]?key|apikey|client[_-]?secret|secret[_-]?(?:access[_-]?)?key|secret"
    r"|access[_-]?key(?:[_-]?id)?|private[_-]?key|account[_-]?key|encryption[_-]?key|signing[_-]?key"
    r"|(?:hf|hub|auth|access|api|refresh|session|bearer|github|gh|gitlab|id|join|security|ngc|slack|bot|user)[_-]?token"
    r"|credentials?)"
)

_NAME_HINTS = (
    "passw passphrase api_key api-key apikey access_key access-key accesskey private_key private-key privatekey"
    " account_key account-key accountkey encryption_key encryption-key signing_key signing-key secret credential"
    " hf_token hub_token auth_token auth-token authtoken access_token access-token accesstoken api_token api-token"
    " apitoken refresh_token session_token bearer_token github_token gh_token gitlab_token id_token join_token"
    " security_token ngc_token slack_token bot_token user_token"
)

FORMS: tuple[Form, ...] = (
    _own("hugging-face-token", "hf_ api_org_", r"hf_[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}"),
    _own("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _own("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
    _own("gitlab-token", "glpat- gldt- glrt-", r"gl(?:pat|dt|rt)-[A-Za-z0-9_-]{16,}"),
    _own("aws-key", "akia asia", r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _own("api-key", "sk- sk_", r"(?:sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})"),
    _own("slack-token", "xox xapp-", r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"),
    _form("slack-token", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/-]+)"),
    _own("ngc-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{20,}"),
    _own("wandb-key", "wandb_v1", r"wandb_v\d_[A-Za-z0-9_]{20,}"),
    _form(
        "wandb-key", "wandb", r"wandb(?: |_)login\b[^\r\n]{0,80}?[ \t](?P<secret>[0-9a-f]{40}|local-[0-9a-f]{40})"
    ),
    _own("google-key", "aiza ya29", r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}"),
    _own(
        "registry-token", "npm_ pypi-age dckr_", r"npm_[A-Za-z0-9]{30,}|pypi-AgE[\w-]{30,}|dckr_[a-z]+_[\w-]{20,}"
    ),
    _own("api-key", "dapi gsk_ r8_", r"dapi[0-9a-f]{32}|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}"),
    _own(
        "vault-token",
        "hvs. hvb. tskey- age-secret",
        r"hv[sb]\.[\w-]{20,}|tskey-[\w-]{16,}|AGE-SECRET-KEY-1\w{20,}",
    ),
    _own("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    _form("url-credentials", "://", r"(?<=://)(?P<secret>[^/\s@:'\"]*:[^/\s@'\"]+)(?=@)"),
    _form("url-credentials", "://", r"(?<=://)(?P<secret>[^/\s@:'\"]{16,})(?=@)"),
    _form(
        "url-credentials",
        "sig= signature= token= key= code= credential=",
        r"[?&](?:sig|x-amz-(?:signature|credential|security-token)|signature|token|key|code)=(?P<secret>[^&\s\"'<>]{8,})",
    ),
    _form("bearer", "bearer", r"\bbearer[ \t]+(?P<secret>[A-Za-z0-9._~+/=-]{12,})"),
    _form(
        "authorization",
        "authorization",
        r"authorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:basic|token|digest|apikey)[ \t]+(?P<secret>[^\s\"']{4,})",
    ),
    _form("cookie", "cookie:", r"\bcookie:[ \t]*(?P<secret>[^\r\n\"']{4,})"),
    _form("private-key", "private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<secret>[^-\r\n]{8,})"),
    _form(
        "option",
        "-key --token -token --pass -passw -secret",
        rf"(?<![\w-])--?(?:[a-z0-9]+[_-])*(?:api[_-]?key|token|passw(?:or)?d|passphrase|secret|access[_-]?key)"
        rf"""(?:[ \t]+|=)["']?{_NOT}(?!-){_VALUE}""",
    ),
    _form("option", "curl wget", r"\b(?:curl|wget)\b[^\r\n]{0,300}?[ \t](?:-u|--user)[ =](?P<secret>[^\s:]+:\S+)"),
    _form("option", "sshpass", r"\bsshpass[ \t]+-p[ \t]*(?P<secret>\S+)"),
    _form(
        "assignment",
        _NAME_HINTS,
        rf"""{_NAMES}(?:[_-][a-z]+)?(?:\\?["'])?[ \t]{{0,8}}[=:][ \t]{{0,8}}"""
        rf"""(?:[bru](?=["']))?\\?[\[(]?\\?["']?{_NOT}{_VALUE}""",
    ),
    # In a log of a language model "token" is mostly a piece of text; as a variable in capitals it is a secret.
    _form(
        "assignment",
        "token= token: token' token\" ",
        rf"""(?:\b|_)TOKEN["']?[ \t]?[=:][ \t]?["']?{_NOT}{_VALUE}""",
        0,
    ),
    _form(
        "assignment",
        "token= token: token' token\" token\\t",
        r"""\btoken["']?[ \t]{0,8}[=:][ \t]{0,8}["']?(?P<secret>(?=[^\s"',]*\d)[A-Za-z0-9._~+/-]{20,})""",
    ),
)

# Half of the hints hold one of these: most texts are done after a few searches.
_ROOTS = (b"token", b"key", b"pass", b"secret", b"credential", b"://")
_BEGIN = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_END = re.compile(rb"-----END [A-Z ]*PRIVATE KEY-----")
_KEY_TEXT = re.compile(rb"[A-Za-z0-9+/=]{16,}")


def scrubbed(text: bytes, counts: dict[str, int] | None = None) -> bytes:
    """The text with a mark in place of each secret; `counts` is added to, by kind. Lines stay lines."""
    done = 0
    pieces = []
    for (begin, end), forms in sorted(_suspects(text.lower()).items()):
        line = text[begin:end]
        for form in forms:
            line = form.pattern.sub(lambda match, kind=form.kind: _marked(match, kind, counts), line)  # type: ignore[misc]
        pieces += [text[done:begin], line]
        done = end
    return b"".join([*pieces, text[done:]])


def _suspects(lower: bytes) -> dict[tuple[int, int], list[Form]]:
    """Where lines with a hint begin and end, and the forms that are hinted at: few lines meet an expression."""
    found: dict[tuple[int, int], list[Form]] = {}
    absent = [root for root in _ROOTS if root not in lower]
    for form in FORMS:
        lines = set()
        for hint in form.hints:
            if any(root in hint for root in absent):
                continue
            at = lower.find(hint)
            while at >= 0:
                end = lower.find(b"\n", at)
                end = len(lower) if end < 0 else end
                lines.add((lower.rfind(b"\n", 0, at) + 1, end))
                at = lower.find(hint, end)
        for line in lines:
            found.setdefault(line, []).append(form)
    return found


def _marked(match: re.Match[bytes], kind: str, counts: dict[str, int] | None) -> bytes:
    """The match with its secret replaced."""
    begin, end = match.span("secret" if "secret" in match.re.groupindex else 0)
    whole, start = match.group(), match.start()
    if whole[begin - start : end - start].startswith(MARK.encode()):
        return whole
    if counts is not None:
        counts[kind] = counts.get(kind, 0) + 1
    return whole[: begin - start] + f"{MARK}-{kind}".encode() + whole[end - start :]


@dataclass
class Scrubber:
    """The same for a stream: takes it in chunks of any size, gives back whole lines."""

    counts: dict[str, int] = field(default_factory=dict)
    """How many secrets were replaced, by kind."""
    _held: bytes = b""
    _key_lines: int = 0
    """How many lines of a private key may still follow."""

    def feed(self, chunk: bytes) -> bytes:
        """What can be given out now that `chunk` has come."""
        self._held += chunk
        end = self._held.rfind(b"\n") + 1
        if not end and len(self._held) > _LONGEST_LINE:  # no text, or a line without end
            end = len(self._held) - _HELD_BACK
        ready, self._held = self._held[:end], self._held[end:]
        return self._clean(ready)

    def end(self) -> bytes:
        """The rest, a last line that was not ended."""
        ready, self._held = self._held, b""
        return self._clean(ready)

    def _clean(self, text: bytes) -> bytes:
        if not text:
            return b""
        if self._key_lines or b"PRIVATE KEY-----" in text:
            text = b"".join(self._without_key(line) for line in text.splitlines(keepends=True))
        return scrubbed(text, self.counts)

    def _without_key(self, line: bytes) -> bytes:
        """A line, without what it holds of a private key that began above it."""
        if self._key_lines:
            self._key_lines = 0 if _END.search(line) else self._key_lines - 1
            return _KEY_TEXT.sub(f"{MARK}-private-key".encode(), line)
        found = _BEGIN.search(line)
        if found and not _END.search(line, found.end()):
            self._key_lines = _KEY_LINES
            self.counts["private-key"] = self.counts.get("private-key", 0) + 1
        return line
