"""Facts on packet filters."""

from typing import ClassVar

from kb.facts.base import Fact


class PacketDropped(Fact):
    """A packet that a machine's packet filter dropped or rejected, as its kernel logged it; alike together."""

    kind: ClassVar[str] = "packet_dropped"

    source: str
    """Address that sent it."""
    destination: str
    port: int | None = None
    """To which it was to go; None for protocols without ports."""
    protocol: str
    """TCP, UDP, ICMP."""
    interface: str | None = None
    """On which it came in; None for one of the machine itself."""
    rule: str
    """The prefix of the line, `UFW BLOCK`."""
    count: int = 1
