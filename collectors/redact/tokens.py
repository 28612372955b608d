"""The tokens: what stands for an address, a number or a name, under a key.

Two things that begin alike have tokens that begin alike (same network, same GPU by the first digits of its UUID),
and two that differ have tokens that differ. Without the key nobody gets from a token to what it stands for.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from dataclasses import dataclass, field

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEX = "0123456789abcdef"
_BITS_OF_NETWORK = 24
_DOTTED = re.compile(r"[0-9]{1,3}(?:-[0-9]{1,3}){3}")
_CONTAINER = re.compile(r"[0-9a-f]{12}|[0-9a-f]{64}")
_NUMBERED = re.compile(r"(?P<stem>.*?[^-_0-9])(?P<number>[-_]?[0-9]+)")

# They exist on every machine, or say what an address is for: readers conclude from them, and they tell of nobody.
_KEPT = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.17.0.0/16", "192.168.122.0/24"),
        *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
)
# An address stays within these.
_PRIVATE = tuple(
    ipaddress.IPv4Network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15")
)
# Where a bit decides whether an address is in one that is kept: flipped, another would come to lie there.
_WAYS_TO_KEPT = frozenset(
    (at, int(network.network_address) >> (32 - at)) for network in _KEPT for at in range(network.prefixlen)
)
_DOCUMENTATION6 = 0x20010DB8 << 96
_MAPPED6 = 0xFFFF << 32


@dataclass
class Tokens:
    """Makes tokens under one key. The same key gives the same tokens in another run."""

    key: bytes
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def digest(self, kind: str, text: str) -> bytes:
        """32 bytes that only the key's owner can make of a text."""
        return hmac.new(self.key, f"{kind}:{text}".encode("utf-8", "surrogateescape"), hashlib.sha256).digest()

    def hexadecimal(self, kind: str, digits: str) -> str:
        """As many hexadecimal digits, each depending on those before it; other characters stay in place."""
        known = self._known.get((kind, digits))
        if known is None:
            known = self._known[kind, digits] = self._of_digits(kind, digits)
        return known

    def _of_digits(self, kind: str, digits: str) -> str:
        plain, out = "", []
        for char in digits:
            value = _HEX.find(char.lower())
            if value < 0:
                out.append(char)
                continue
            new = _HEX[value ^ (self.digest(kind, plain)[0] & 15)]
            out.append(new.upper() if char.isupper() else new)
            plain += char.lower()
        return "".join(out)

    def serial(self, text: str) -> str:
        """A digit for each digit, a letter for each letter."""
        noise = self.digest("serial", text) + self.digest("serial2", text)
        out = []
        for at, char in enumerate(text):
            step = noise[at % len(noise)]
            if char in "0123456789":
                out.append(str((int(char) + step) % 10))
            elif char.lower() in _LETTERS:
                new = _LETTERS[(_LETTERS.index(char.lower()) + step) % 26]
                out.append(new.upper() if char.isupper() else new)
            else:
                out.append(char)
        return "".join(out)

    def name(self, word: str, text: str) -> str:
        """A word and five letters: `hostqkzmv`."""
        known = self._known.get((word, text))
        if known is None:
            letters = "".join(_LETTERS[byte % 26] for byte in self.digest(word, text)[:5])
            known = self._known[word, text] = word + letters
        return known

    def host(self, name: str) -> str:
        """The token of a host's first label. The number at its end stays: lists such as `gpu[01-04]` count by it.

        A name made from an address is made from its token, and that of a container stays hexadecimal.
        """
        known = self._known.get(("a host", name))
        if known is None:
            known = self._known["a host", name] = self._of_host(name)
        return known

    def _of_host(self, name: str) -> str:
        lower = name.lower()
        dotted = _DOTTED.search(lower)
        if dotted is not None and lower.startswith("ip-"):
            return lower.replace(dotted.group(), self.ipv4(dotted.group().replace("-", ".")).replace(".", "-"))
        if _CONTAINER.fullmatch(lower):
            return self.hexadecimal("container", lower)
        stem, number = stem_and_number(lower)
        return self.stem(stem) + number

    def stem(self, stem: str) -> str:
        """The token of a name without its number."""
        return self.name("host", stem)

    def ipv4(self, text: str, bits: int = 32) -> str:
        """An IPv4 address of the same kind: private in the same private range, public in 240.0.0.0/4.

        Addresses of one network stay in one, and the last byte stays, for 0, 1 and 255 mean something. Of an
        address with a prefix length only that many `bits` change where the rest is zero.
        """
        known = self._known.get(("ipv4", f"{text}/{bits}"))
        if known is None:
            known = self._known["ipv4", f"{text}/{bits}"] = self._of_ipv4(text, bits)
        return known

    def _of_ipv4(self, text: str, bits: int) -> str:
        address = ipaddress.IPv4Address(text)
        number = int(address)
        if text.startswith("255.") or any(address in network for network in _KEPT):
            return text
        home = next((network for network in _PRIVATE if address in network), None)
        most = _BITS_OF_NETWORK if number & ((1 << (32 - bits)) - 1) else min(_BITS_OF_NETWORK, bits)
        moved = self._moved(number, home.prefixlen if home else 0, most)
        if home is None:
            moved = (moved & 0x07FFFFFF) | 0xF0000000
        return str(ipaddress.IPv4Address(moved))

    def _moved(self, number: int, kept: int, most: int) -> int:
        """The number with each bit from `kept` to `most` flipped or not, by the bits before it."""
        flips = 0
        for at in range(kept, most):
            before = number >> (32 - at)
            if (at, before) not in _WAYS_TO_KEPT and self.digest("ipv4", f"{at}/{before}")[0] & 1:
                flips |= 1 << (31 - at)
        return number ^ flips

    def ipv6(self, text: str) -> str:
        """An IPv6 address of the same kind: link-local, private, or else within 2001:db8::/32.

        Loopback, multicast and documentation stay; of an address that holds an IPv4 address that one changes.
        """
        address = ipaddress.IPv6Address(text)
        number = int(address)
        if number >> 32 == _MAPPED6 >> 32:
            inner = str(ipaddress.IPv4Address(number & 0xFFFFFFFF))
            return self._as_written(text, _MAPPED6 | int(ipaddress.IPv4Address(self.ipv4(inner))), "." in text)
        if number < 1 << 32 or address.is_multicast or number >> 96 == _DOCUMENTATION6 >> 96:
            return text
        network, interface = f"{number >> 64:016x}", f"{number & (1 << 64) - 1:016x}"
        if not address.is_link_local:
            moved = self.hexadecimal("ipv6", network)
            network = f"{network[:2]}{moved[2:]}" if number >> 121 == 0xFC >> 1 else f"20010db8{moved[4:12]}"
        if int(interface, 16) >= 1 << 16:
            interface = self.hexadecimal("ipv6-interface", interface)
        return self._as_written(text, int(network + interface, 16), dotted=False)

    @staticmethod
    def _as_written(text: str, number: int, dotted: bool) -> str:
        """The address written as `text` is: in full, short, or with an IPv4 address at its end."""
        address = ipaddress.IPv6Address(number)
        if dotted:
            return f"{text.rpartition(':')[0]}:{ipaddress.IPv4Address(number & 0xFFFFFFFF)}"
        return address.exploded if "::" not in text and len(text) == 39 else str(address)


def stem_and_number(name: str) -> tuple[str, str]:
    """A name without the number at its end, and that number with what divides it from the rest."""
    found = _NUMBERED.fullmatch(name)
    return (found.group("stem"), found.group("number")) if found else (name, "")
