"""Text to text without names: learn first what is called how, everywhere, then replace, line for line.

What has a form of its own (addresses, UUIDs) is known by that; hosts, users and serials are learnt where they
stand as such and then replaced wherever they occur, unless the name is also a common word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.redact import addresses
from collectors.redact.forms import PATHS, SURE, UNSURE, places
from collectors.redact.neutral import FOLDERS, HOSTS, USERS, is_ambiguous, is_public
from collectors.redact.tokens import Tokens, stem_and_number

_BUILDERS = ("buildd", "mockbuild", "dvs-builder", "kojibuilder", "builder", "oe-user")
_FILE = re.compile(
    r"\.(?:py|so|log|txt|json|ya?ml|conf|cfg|sh|cc?|cpp|cu|h|rs|go|service|socket|target|slice|ko|md)\b"
)
_TOP = re.compile(r"[a-z]{2,}")
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "gov", "go", "ne", "net", "or", "org"))
_ITEM = re.compile(r"([A-Za-z0-9][\w.-]*?)(?:\[([\d,-]+)\])?(?::\d+)?(?:,|$)")
_NAMED_ADDRESS = re.compile(r"^[ \t]*[0-9a-fA-F.:]{2,39}[ \t]+([A-Za-z0-9][A-Za-z0-9.-]*)", re.MULTILINE)
_LEAST_SERIAL = 6
_MOST_HOSTS = 20_000


@dataclass
class Redactor:
    """Learns names from texts, and then replaces them. `key` makes the tokens; see `Tokens`."""

    key: bytes
    counts: dict[str, int] = field(default_factory=dict)
    """How many places were replaced, by kind of thing."""
    _hosts: set[str] = field(default_factory=set)
    _stems: set[str] = field(default_factory=set)
    _users: set[str] = field(default_factory=set)
    _domains: set[str] = field(default_factory=set)
    _serials: set[str] = field(default_factory=set)
    _ids: set[str] = field(default_factory=set)
    _ambiguous: set[str] = field(default_factory=set)
    _short_users: set[str] = field(default_factory=set)
    _words: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        self._tokens = Tokens(self.key)
        self._addresses = addresses.Addresses(self._tokens, self._count)

    def learn(self, text: str, path: str = "") -> None:
        """Remembers the names that stand in the text where names stand. `path` tells what file it may be of."""
        if path.endswith("etc/hostname"):
            self._add_host(text.strip(), sure=True)
        if path.endswith("etc/hosts"):
            for name in _NAMED_ADDRESS.findall(text):
                self._add_host(name, sure=False)
        for forms, sure in ((SURE, True), (UNSURE, False)):
            for _, found in places(text, forms):
                self._take(found.groupdict(), sure)

    def learn_path(self, path: str) -> None:
        """Remembers the host that the name of a file or folder tells."""
        for found in PATHS.finditer(path):
            self._take(found.groupdict(), sure=False)

    def learn_host(self, name: str) -> None:
        """Remembers a name that is known to be a host's."""
        self._add_host(name, sure=True)

    def known_host(self, name: str) -> str:
        """The token of a name that is known to be a host's; a name that tells of nobody stays."""
        label = name.lower().partition(".")[0]
        return name if label in HOSTS or not label else self._tokens.host(label)

    def redact(self, text: str) -> str:
        """The text with a token in place of each thing that was learnt or has a form of its own."""
        if self._short_users:
            text = self._in_paths(text)
        if self._ambiguous:
            text = self._in_place(text)
        if self._domains:
            text = self._domain_pattern().sub(self._of_domain, text)
        text = (self._words or self._compiled()).sub(self._word, text)
        return self._addresses.replaced(text, self._ids)

    def _take(self, groups: dict[str, str | None], sure: bool) -> None:
        """Remembers what one place says."""
        user, host = groups.get("user"), groups.get("host")
        if user in _BUILDERS or (
            user and host and (is_public(host.lower()) or _FILE.search(host) or host[:2] == "0x")
        ):
            return
        if host:
            self._add_host(host, sure)
        if user:
            self._add_user(user)
        for stem, numbers in _ITEM.findall(groups.get("hosts") or ""):
            self._add_list_item(stem, numbers, sure)
        if groups.get("serial"):
            self._add_serial(groups["serial"] or "")
        if groups.get("id"):
            self._ids.add((groups["id"] or "").replace(":", "").lower())

    def _add_host(self, name: str, sure: bool) -> None:
        lower = name.lower().strip(".-")
        label, _, domain = lower.partition(".")
        if not re.search("[a-z]", label) or label in HOSTS or is_public(lower) or _FILE.search(lower):
            return
        if domain and (not _TOP.fullmatch(domain.rpartition(".")[2]) or "_" in domain):
            return
        registered = _registered(domain)
        if registered and not is_public(domain):
            self._domains.add(registered)
        if is_ambiguous(label) and not domain:
            if sure:
                self._ambiguous.add(label)
            return
        if sure or domain or re.search("[0-9-]", label):
            self._hosts.add(label)
            self._stems.add(stem_and_number(label)[0])
            self._words = None

    def _add_list_item(self, stem: str, numbers: str, sure: bool) -> None:
        """One of `gpu[01-04],login2`: a name, or what the names of a list begin with and their numbers."""
        plain = stem.lower()
        if not numbers:
            self._add_host(plain, sure)
        elif re.search("[a-z]", plain):
            self._stems.add(plain.rstrip("-_"))
            self._hosts |= {f"{plain}{number}" for number in _numbers(numbers)}
            self._words = None

    def _add_user(self, name: str) -> None:
        lower = name.lower()
        if lower in USERS or name in self._users or not re.search("[a-z]", lower):
            return
        (self._ambiguous if is_ambiguous(name) else self._users).add(lower)
        if len(name) < 4 and lower not in FOLDERS:
            self._short_users.add(lower)
        self._words = None

    def _add_serial(self, text: str) -> None:
        plain = text.strip(".:-")
        if len(plain) >= _LEAST_SERIAL and "/" not in plain and re.search(r"[1-9]\D*\d", plain):
            self._serials.add(plain)
            self._words = None

    def _compiled(self) -> re.Pattern[str]:
        """One expression for all that was learnt. Of hosts it looks for what stands before their numbers."""
        ways = (
            f"(?P<serial>{_any(self._serials)})",
            rf"(?P<user>{_any(self._users)})(?!\[)",
            rf"(?P<stem>{_any(self._stems)})(?P<number>[-_]?[0-9]+)?(?P<list>[-_]?\[[0-9,-]+\])?",
        )
        self._words = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(ways)})(?![A-Za-z0-9])", re.IGNORECASE)
        return self._words

    def _domain_pattern(self) -> re.Pattern[str]:
        """An expression for all names in the domains that were learnt."""
        return re.compile(
            rf"(?<![A-Za-z0-9.-])((?:[A-Za-z0-9-]+\.)*)({_any(self._domains)})(?![A-Za-z0-9-])", re.IGNORECASE
        )

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

    def _host(self, match: re.Match[str], stem: str) -> str:
        number, listed = match.group("number") or "", match.group("list") or ""
        whole = f"{stem}{number}".lower()
        telling = not is_ambiguous(stem.strip("-_"))
        if whole in self._hosts or listed or telling or stem.lower() in self._hosts:
            token = self._tokens.host(whole)
            return self._count("host", token) + listed
        return match.group()

    def _in_place(self, text: str) -> str:
        """The text with names that may mean something else replaced only where they surely stand as names."""
        found = {
            (begin + match.start(group), begin + match.end(group)): group
            for begin, match in places(text, SURE)
            for group in ("host", "user")
            if (match.groupdict().get(group) or "").lower() in self._ambiguous
        }
        pieces, done = [], 0
        for (begin, end), group in sorted(found.items()):
            if begin >= done:
                name = text[begin:end].lower()
                token = self._tokens.host(name) if group == "host" else self._tokens.name("user", name)
                pieces += [text[done:begin], self._count(group, token)]
                done = end
        return "".join([*pieces, text[done:]])

    def _in_paths(self, text: str) -> str:
        """The text with users whose names are too short to be told from words replaced where they are a folder."""
        pattern = rf"(?<=/)(?:{_any(self._short_users)})(?=[/\s:,;\"')\]]|$)"
        return re.sub(
            pattern, lambda match: self._count("user", self._tokens.name("user", match.group().lower())), text
        )

    def _count(self, kind: str, token: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return token


def _any(words: set[str]) -> str:
    """An expression for any of the words, the longest first; one that never matches where there are none."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) or r"(?!)"


def _numbers(text: str) -> Iterator[str]:
    """The numbers of `01-04,17` as they are written, and no more than a cluster has."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        end = min(int(last or first or 0), int(first or 0) + _MOST_HOSTS)
        yield from (f"{number:0{len(first)}}" for number in range(int(first or 0), end + 1))


def _registered(domain: str) -> str:
    """The part of a domain that somebody has registered: `acme.com` of `cluster.acme.com`."""
    labels = domain.split(".") if domain else []
    length = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-length:]) if len(labels) >= 2 else ""
