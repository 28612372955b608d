"""What is called how: hosts, users, domains, serials and other numbers, learnt where they stand as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.redact.forms import PATHS, SURE, UNSURE, places
from collectors.redact.neutral import FOLDERS, HOSTS, USERS, is_ambiguous, is_public
from collectors.redact.tokens import stem_and_number

_BUILDERS = ("buildd", "mockbuild", "dvs-builder", "kojibuilder", "builder", "oe-user")
_FILE = re.compile(
    r"\.(?:py|so|log|txt|json|ya?ml|conf|cfg|sh|cc?|cpp|cu|h|rs|go|service|socket|target|slice|ko|md)\b"
)
_TOP = re.compile(r"[a-z]{2,}")
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "gov", "go", "ne", "net", "or", "org"))
_ITEM = re.compile(r"([A-Za-z0-9][\w.-]*?)(?:\[([\d,-]+)\])?(?::\d+)?(?:,|$)")
_NAMED_ADDRESS = re.compile(r"^[ \t]*[0-9a-fA-F.:]{2,39}[ \t]+([A-Za-z0-9][A-Za-z0-9.-]*)", re.MULTILINE)
_NAME_ALONE = re.compile(r"^[ \t]*([A-Za-z][A-Za-z0-9.-]*)[ \t]*(?:#.*)?$", re.MULTILINE)
_ALL = (*SURE, *UNSURE)
_SURELY = frozenset(form.pattern for form in SURE)
_KINDS = ("hosts", "stems", "users", "domains", "serials", "ids", "ambiguous", "short_users")
_LEAST_SERIAL = 6
_MOST_HOSTS = 20_000


@dataclass
class Names:
    """The names that were learnt. What one process learns can be added to what another has."""

    hosts: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)
    """Of hosts, what stands before their numbers."""
    users: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)
    serials: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    ambiguous: set[str] = field(default_factory=set)
    """Of hosts and users, that mean something else where they stand by themselves."""
    short_users: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._seen: set[tuple[str | None, ...]] = set()

    def add(self, other: Names) -> None:
        """Takes in all that the other one holds."""
        for name in _KINDS:
            getattr(self, name).update(getattr(other, name))

    def learn(self, text: str, path: str = "") -> None:
        """Remembers the names that stand in the text where names stand. `path` tells what file it may be of."""
        if path.endswith("etc/hostname"):
            self.add_host(text.strip(), sure=True)
        if path.endswith("etc/hosts"):
            for name in _NAMED_ADDRESS.findall(text):
                self.add_host(name, sure=False)
        if path.endswith("nvidia-imex/nodes_config.cfg"):
            for name in _NAME_ALONE.findall(text):
                self.add_host(name, sure=True)
        for found in places(text, _ALL):
            said = (found.re.pattern, *found.groups())
            if said not in self._seen:  # logs say the same on every line
                self._seen.add(said)
                self._take(found.groupdict(), found.re in _SURELY)

    def learn_path(self, path: str) -> None:
        """Remembers the host that the name of a file or folder tells."""
        for found in PATHS.finditer(path):
            self._take(found.groupdict(), sure=False)

    def _take(self, groups: dict[str, str | None], sure: bool) -> None:
        """Remembers what one place says."""
        user, host = groups.get("user"), groups.get("host")
        if user in _BUILDERS or (
            user and host and (is_public(host.lower()) or _FILE.search(host) or host[:2] == "0x")
        ):
            return
        if host:
            self.add_host(host, sure)
        if user:
            self._add_user(user)
        for stem, numbers in _ITEM.findall(groups.get("hosts") or ""):
            self._add_list_item(stem, numbers, sure)
        if groups.get("serial"):
            self._add_serial(groups["serial"] or "")
        if groups.get("id"):
            self.ids.add((groups["id"] or "").replace(":", "").lower())

    def add_host(self, name: str, sure: bool) -> None:
        """Remembers a host; of a name that only may be one, where it looks like one."""
        lower = name.lower().strip(".-")
        label, _, domain = lower.partition(".")
        if not re.search("[a-z]", label) or label in HOSTS or is_public(lower) or _FILE.search(lower):
            return
        if domain and (not _TOP.fullmatch(domain.rpartition(".")[2]) or "_" in domain):
            return
        registered = _registered(domain)
        if registered and not is_public(domain):
            self.domains.add(registered)
        if is_ambiguous(label) and not domain:
            if sure:
                self.ambiguous.add(label)
            return
        if sure or domain or re.search("[0-9-]", label):
            self.hosts.add(label)
            self.stems.add(stem_and_number(label)[0])

    def _add_list_item(self, stem: str, numbers: str, sure: bool) -> None:
        """One of `gpu[01-04],login2`: a name, or what the names of a list begin with and their numbers."""
        plain = stem.lower()
        if not numbers:
            self.add_host(plain, sure)
        elif re.search("[a-z]", plain):
            self.stems.add(plain.rstrip("-_"))
            self.hosts |= {f"{plain}{number}" for number in _numbers(numbers)}

    def _add_user(self, name: str) -> None:
        lower = name.lower()
        if lower in USERS or name in self.users or not re.search("[a-z]", lower):
            return
        (self.ambiguous if is_ambiguous(name) else self.users).add(lower)
        if len(name) < 4 and lower not in FOLDERS:
            self.short_users.add(lower)

    def _add_serial(self, text: str) -> None:
        plain = text.strip(".:-")
        if len(plain) >= _LEAST_SERIAL and "/" not in plain and re.search(r"[1-9]\D*\d", plain):
            self.serials.add(plain)


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
