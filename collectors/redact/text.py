"""Text to text without names: learn first what is called how, everywhere, then replace, line for line.

What has a form of its own (addresses, UUIDs) is known by that; hosts, users and serials are learnt where they
stand as such and then replaced wherever they occur, unless the name is also a common word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from collectors.redact import addresses
from collectors.redact.forms import SURE, places
from collectors.redact.lines import only, replaced, with_words
from collectors.redact.names import Names
from collectors.redact.neutral import HOSTS, is_ambiguous
from collectors.redact.tokens import Tokens


@dataclass
class Redactor:
    """Learns names from texts, and then replaces them. `key` makes the tokens; see `Tokens`."""

    key: bytes
    names: Names = field(default_factory=Names)
    counts: dict[str, int] = field(default_factory=dict)
    """How many places were replaced, by kind of thing."""

    def __post_init__(self) -> None:
        self._tokens = Tokens(self.key)
        self._addresses = addresses.Addresses(self._tokens, self._count)
        self._patterns: _Patterns | None = None

    def learn(self, text: str, path: str = "") -> None:
        """Remembers the names that stand in the text where names stand. `path` tells what file it may be of."""
        self._patterns = None
        self.names.learn(text, path)

    def learn_path(self, path: str) -> None:
        """Remembers the host that the name of a file or folder tells."""
        self._patterns = None
        self.names.learn_path(path)

    def learn_host(self, name: str) -> None:
        """Remembers a name that is known to be a host's."""
        self._patterns = None
        self.names.add_host(name, sure=True)

    def learn_from(self, names: Names) -> None:
        """Remembers what somebody else has learnt."""
        self._patterns = None
        self.names.add(names)

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Takes in what somebody else has replaced."""
        for kind, count in counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count

    def known_host(self, name: str) -> str:
        """The token of a name that is known to be a host's; a name that tells of nobody stays."""
        label = name.lower().partition(".")[0]
        return name if label in HOSTS or not label else self._tokens.host(label)

    def redact(self, text: str) -> str:
        """The text with a token in place of each thing that was learnt or has a form of its own."""
        names = self.names
        known = self._patterns = self._patterns or _Patterns(names)
        if names.short_users:
            lines = with_words(text, [f"/{user}" for user in names.short_users])
            text = replaced(text, lines, known.short_users, self._user)
        if names.ambiguous:
            text = self._in_place(text)
        if names.domains:
            text = replaced(text, with_words(text, names.domains), known.domains, self._of_domain)
        text = replaced(text, with_words(text, known.words), known.any_word, self._word)
        return self._addresses.replaced(text, names.ids)

    def _of_domain(self, match: re.Match[str]) -> str:
        hosts = [self._tokens.host(label) for label in match.group(1).split(".") if label]
        return self._count(
            "host", ".".join([*hosts, f"{self._tokens.name('net', match.group(2).lower())}.example"])
        )

    def _word(self, match: re.Match[str]) -> str:
        """The token of one occurrence, or the occurrence itself where it is another name."""
        serial, user, stem = match.group("serial", "user", "stem")
        if serial:
            return self._count("serial", self._tokens.serial(serial))
        if user:
            return self._count("user", self._tokens.name("user", user.lower()))
        return self._host(match, stem)

    def _user(self, match: re.Match[str]) -> str:
        return self._count("user", self._tokens.name("user", match.group().lower()))

    def _host(self, match: re.Match[str], stem: str) -> str:
        number, listed = match.group("number") or "", match.group("list") or ""
        whole = f"{stem}{number}".lower()
        telling = not is_ambiguous(stem.strip("-_"))
        if whole in self.names.hosts or listed or telling or stem.lower() in self.names.hosts:
            token = self._tokens.host(whole)
            return self._count("host", token) + listed
        return match.group()

    def _in_place(self, text: str) -> str:
        """The text with names that may mean something else replaced only where they surely stand as names."""
        lines, place = only(text, with_words(text, self.names.ambiguous))
        found = {}
        for match in places(lines, SURE):
            for group in ("host", "user"):
                if group in match.re.groupindex and (match[group] or "").lower() in self.names.ambiguous:
                    found[match.span(group)] = group
        pieces, done = [], 0
        for (begin, end), group in sorted(found.items()):
            begin, end = place(begin), place(end - 1) + 1  # noqa: PLW2901
            if begin >= done:
                name = text[begin:end].lower()
                token = self._tokens.host(name) if group == "host" else self._tokens.name("user", name)
                pieces += [text[done:begin], self._count(group, token)]
                done = end
        return "".join([*pieces, text[done:]])

    def _count(self, kind: str, token: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return token


class _Patterns:
    """Expressions for all that was learnt. Of hosts they look for what stands before their numbers."""

    def __init__(self, names: Names) -> None:
        ways = (
            f"(?P<serial>{_any(names.serials)})",
            rf"(?P<user>{_any(names.users)})(?!\[)",
            rf"(?P<stem>{_any(names.stems)})(?P<number>[-_]?[0-9]+)?(?P<list>[-_]?\[[0-9,-]+\])?",
        )
        self.words = names.serials | names.users | names.stems
        self.any_word = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(ways)})(?![A-Za-z0-9])", re.IGNORECASE)
        self.domains = re.compile(
            rf"(?<![A-Za-z0-9.-])((?:[A-Za-z0-9-]+\.)*)({_any(names.domains)})(?![A-Za-z0-9-])", re.IGNORECASE
        )
        # Too short to be told from words, they are replaced where they are a folder.
        self.short_users = re.compile(rf"(?<=/)(?:{_any(names.short_users)})(?=[/\s:,;\"')\]]|$)", re.MULTILINE)


def _any(words: Iterable[str]) -> str:
    """An expression for any of the words, the longest first; one that never matches where there are none."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) or r"(?!)"
