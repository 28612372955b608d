"""What is known by its own form: IP and MAC addresses, UUIDs, and hexadecimal numbers that were learnt."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from collectors.redact.lines import replaced, with_signs, with_words
from collectors.redact.tokens import Tokens

_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9A-Za-z])", re.IGNORECASE
)
_SHORT_UUID = re.compile(
    r"\b((?:MIG-)?(?:GPU|MIG)-)((?=[0-9a-f]*[a-f])[0-9a-f]{4,8}|[0-9]{6,8})(?![0-9A-Za-z-])", re.IGNORECASE
)
# Variables of the firmware are named by them.
_PUBLIC_UUIDS = frozenset(("8be4df61-93ca-11d2-aa0d-00e098032b8c", "605dab50-e046-4300-abb6-3dd810dd8b23"))
_MAC = re.compile(
    r"(?<![0-9A-Za-z:.-])[0-9a-f]{2}(?P<by>[:-])(?:[0-9a-f]{2}(?P=by)){4,18}[0-9a-f]{2}"
    r"(?![0-9A-Za-z]|[:.-][0-9a-f])",
    re.IGNORECASE,
)
_IPV6 = re.compile(
    r"(?:(?<![\w:.])|(?<=\w:)(?=fe[89ab]|f[cd]|2[0-9a-f]{3}:))(?=[0-9a-f:]*:[0-9a-f]*:)[0-9a-f:]{3,39}"
    r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![\w:])",
    re.IGNORECASE,
)
# A global, private, link-local or mapped address; `c10d::add` of C++ is none.
_IPV6_BEGINS = re.compile(
    r"(?:[23][0-9a-f]{0,3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|0{0,4}:|64:ff9b)", re.IGNORECASE
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = re.compile(rf"(?<![\w.]){_OCTET}(?:\.{_OCTET}){{3}}(?!\w|\.\d)(?:/(?P<bits>3[0-2]|[12]?\d)(?!\d))?")
_IP_NAME = re.compile(rf"(?<![0-9A-Za-z-])(?P<by>ip-)({_OCTET}(?:-{_OCTET}){{3}})(?![\w-])")
# A version of four numbers looks like an address.
_VERSION_WORD = re.compile(
    r"(?:version|release|revision|\brev|firmware|\bfw|vbios|bios|cudnn|cublas|cufft|curand|cusolver|cusparse"
    r"|nvjitlink|nvidia-[\w-]+|[\w-]+-cu\d\d|cuda[\w-]*)[\"']?[\s:=(|<>~]{1,80}[\"']?$",
    re.IGNORECASE,
)
_IN_VERSION_WORDS = ("rev", "release", "version", "fw", "firmware", "bios", "cu", "nvjitlink", "nvidia-")
_ENDS_VERSION_WORD = frozenset("\t\n\v\f\r :=(|<>~\"'")
_VERSION_SIGN = re.compile(r"(?:[=<>~!]=\s?|[\w)]@|[A-Za-z0-9_][-_+~])$")
_PACKAGE_ROW = re.compile(r"(?:^|\n)[iruph][a-zA-Z ]{1,2}\s+[\w.+:-]+\s+$", re.IGNORECASE)
_VERSION_AFTER = re.compile(r"[-+~](?:\d+\.?)*[A-Za-z]|[-+~]\d[\w.+~]*[\s,)]|\s+(?:py\d|h[0-9a-f]{6})")
_RANGE_BEFORE = re.compile(rf"(?<![\w.]){_OCTET}(?:\.{_OCTET}){{3}}-$")
_SOCKET = re.compile(r"(?<![0-9A-Za-z])(?P<address>[0-9A-F]{8}|[0-9A-F]{32})(?=:[0-9A-F]{4} )")
_ROUTE = re.compile(r"(?m)^(?P<interface>\S+\t)(?P<to>[0-9A-F]{8})\t(?P<via>[0-9A-F]{8})(?=\t[0-9A-F]{4}\t)")
_LEARNT = re.compile(
    r"(?<![0-9A-Za-z:])(?P<begin>0x)?(?P<id>[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{4}(?::[0-9a-f]{4}){3})"
    r"(?![0-9A-Za-z:])",
    re.IGNORECASE,
)
_LOOK_BACK = 120
_FEW_IDS = 40


def _signs(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, patterns))


# What each of them holds, to pass over other lines. Where it can, it begins with a rare letter, to be fast.
_HEX = "[0-9A-Fa-f]"
_OF_UUID = _signs(rf"-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-")
_OF_MAC = _signs(*(rf"{by}{_HEX}{{2}}{by}{_HEX}{{2}}{by}{_HEX}{{2}}{by}{_HEX}{{2}}{by}" for by in ":-"))
_OF_IPV6 = _signs(rf":(?::|{_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{5}})")
_OF_IP_NAME = _signs("ip-[0-9]")
_OF_SOCKET = _signs(":[0-9A-F]{4} ")
_OF_ROUTE = _signs("\t[0-9A-F]{8}\t")
_OF_IPV4 = _signs(r"\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_OF_LEARNT = _signs(rf"{_HEX}{{16}}", rf":{_HEX}{{4}}:{_HEX}{{4}}:{_HEX}{{4}}")


@dataclass(frozen=True)
class Addresses:
    """Replaces them under these tokens, and tells `count` of each."""

    tokens: Tokens
    count: Callable[[str, str], str]

    def replaced(self, text: str, ids: set[str]) -> str:
        """The text with a token for each; of bare hexadecimal numbers only for `ids`."""
        text = replaced(text, with_signs(text, _OF_UUID), _UUID, self._uuid)
        text = replaced(text, with_words(text, ("gpu-", "mig-")), _SHORT_UUID, self._short_uuid)
        text = replaced(text, with_signs(text, _OF_MAC), _MAC, self._mac)
        if ids:
            # By colons or not, each begins with the same four digits.
            few = len(ids) <= _FEW_IDS
            lines = with_words(text, {one[:4] for one in ids}) if few else with_signs(text, _OF_LEARNT)
            text = replaced(text, lines, _LEARNT, partial(self._learnt, ids=ids))
        text = replaced(text, with_signs(text, _OF_IPV6), _IPV6, self._ipv6)
        text = replaced(text, with_signs(text, _OF_IP_NAME), _IP_NAME, self._ip_name)
        text = replaced(text, with_signs(text, _OF_SOCKET), _SOCKET, self._socket)
        text = replaced(text, with_signs(text, _OF_ROUTE), _ROUTE, self._route)
        return replaced(text, with_signs(text, _OF_IPV4), _IPV4, self._ipv4)

    def _uuid(self, match: re.Match[str]) -> str:
        text = match.group()
        if not text.strip("0-") or text.lower() in _PUBLIC_UUIDS:
            return text
        return self.count("uuid", self.tokens.hexadecimal("uuid", text))

    def _short_uuid(self, match: re.Match[str]) -> str:
        return match.group(1) + self.count("uuid", self.tokens.hexadecimal("uuid", match.group(2)))

    def _mac(self, match: re.Match[str]) -> str:
        text = match.group()
        digits = re.sub("[:-]", "", text).lower()
        if match.group("by") == "-" and digits.isdigit() and len(digits) == 12:  # a time
            return text
        if not digits.strip("0") or not digits.strip("f") or digits.startswith(("3333", "01005e")):
            return text
        token = self.tokens.hexadecimal("mac", text)
        if len(digits) == 12:  # administered by nobody but us; those of containers are known by their beginning
            token = (text[:5] if digits.startswith("0242") else f"02{token[2:5]}") + token[5:]
        return self.count("mac-address", token)

    def _learnt(self, match: re.Match[str], ids: set[str]) -> str:
        text = match.group("id")
        if text.replace(":", "").lower() not in ids:
            return match.group()
        return (match.group("begin") or "") + self.count("identifier", self.tokens.hexadecimal("id", text))

    def _ipv6(self, match: re.Match[str]) -> str:
        text = match.group()
        kept = ""
        if text.endswith(":") and not text.endswith("::"):  # the end of `inet6 …:`
            text, kept = text[:-1], ":"
        if not _IPV6_BEGINS.match(text):
            return match.group()
        try:
            token = self.tokens.ipv6(text)
        except ValueError:
            return match.group()
        return (self.count("ip-address", token) if token != text else text) + kept

    def _ipv4(self, match: re.Match[str]) -> str:
        whole, bits = match.group(), match.group("bits")
        text = whole.partition("/")[0]
        before = match.string[max(0, match.start() - _LOOK_BACK) : match.start()]
        after = match.string[match.end() : match.end() + 20]
        if _VERSION_AFTER.match(after) or (_is_version(before) and not _RANGE_BEFORE.search(before)):
            return whole
        return self._v4(text, int(bits) if bits else 32) + (f"/{bits}" if bits else "")

    def _v4(self, text: str, bits: int = 32) -> str:
        try:
            token = self.tokens.ipv4(text, bits)
        except ValueError:
            return text
        return self.count("ip-address", token) if token != text else text

    def _ip_name(self, match: re.Match[str]) -> str:
        return match.group(1) + self._v4(match.group(2).replace("-", ".")).replace(".", "-")

    def _socket(self, match: re.Match[str]) -> str:
        return self._in_kernel_order(match.group())

    def _route(self, match: re.Match[str]) -> str:
        to, via = self._in_kernel_order(match.group("to")), self._in_kernel_order(match.group("via"))
        return f"{match.group('interface')}{to}\t{via}"

    def _in_kernel_order(self, text: str) -> str:
        """An address as /proc/net prints it: in words of four bytes, each from its last byte to its first."""
        number = b"".join(bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
        if len(number) == 4:
            new = ipaddress.IPv4Address(self._v4(str(ipaddress.IPv4Address(number)))).packed
        else:
            new = ipaddress.IPv6Address(self.tokens.ipv6(str(ipaddress.IPv6Address(number)))).packed
        return "".join(new[at : at + 4][::-1].hex() for at in range(0, len(new), 4)).upper()


def _is_version(before: str) -> bool:
    """Whether what follows this is a version, not an address."""
    if _VERSION_SIGN.search(before[-3:]):
        return True
    if before[-1:] in _ENDS_VERSION_WORD or before[-1:].isspace():
        lower = before.lower()
        if any(word in lower for word in _IN_VERSION_WORDS) and _VERSION_WORD.search(before):
            return True
    return before[-1:].isspace() and _PACKAGE_ROW.search(before) is not None
