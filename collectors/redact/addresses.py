"""What is known by its own form: IP and MAC addresses, UUIDs, and hexadecimal numbers that were learnt."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

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
_VERSION_BEFORE = re.compile(
    r"(?:(?:version|release|revision|\brev|firmware|\bfw|vbios|bios|cudnn|cublas|cufft|curand|cusolver|cusparse"
    r"|nvjitlink|nvidia-[\w-]+|[\w-]+-cu\d\d|cuda[\w-]*)[\"']?[\s:=(|<>~]{1,80}[\"']?"
    r"|[=<>~!]=\s?|[\w)]@|[A-Za-z0-9_][-_+~]|(?:^|\n)[iruph][a-zA-Z ]{1,2}\s+[\w.+:-]+\s+)$",
    re.IGNORECASE,
)
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


@dataclass(frozen=True)
class Addresses:
    """Replaces them under these tokens, and tells `count` of each."""

    tokens: Tokens
    count: Callable[[str, str], str]

    def replaced(self, text: str, ids: set[str]) -> str:
        """The text with a token for each; of bare hexadecimal numbers only for `ids`."""
        text = _UUID.sub(self._uuid, text)
        text = _SHORT_UUID.sub(self._short_uuid, text)
        text = _MAC.sub(self._mac, text)
        if ids:
            text = _LEARNT.sub(lambda match: self._learnt(match, ids), text)
        text = _IPV6.sub(self._ipv6, text)
        text = _IP_NAME.sub(
            lambda match: match.group(1) + self._v4(match.group(2).replace("-", ".")).replace(".", "-"), text
        )
        text = _SOCKET.sub(lambda match: self._in_kernel_order(match.group()), text)
        text = _ROUTE.sub(self._route, text)
        return _IPV4.sub(self._ipv4, text)

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
        version = _VERSION_BEFORE.search(before) and not _RANGE_BEFORE.search(before)
        if version or _VERSION_AFTER.match(after):
            return whole
        return self._v4(text, int(bits) if bits else 32) + (f"/{bits}" if bits else "")

    def _v4(self, text: str, bits: int = 32) -> str:
        try:
            token = self.tokens.ipv4(text, bits)
        except ValueError:
            return text
        return self.count("ip-address", token) if token != text else text

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
