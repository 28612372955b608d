"""What became of NCCL's plugins, put together from the lines of one log.

`NET/Plugin: Could not find: libnccl-net.so` is how most healthy runs begin. A library of which the loader says
anything but that it is not there, one that wants another library, one that NCCL calls unsupported, and one whose
provider refuses (`NET/OFI OFI fi_getinfo() call failed`) have failed. Wordings from NCCL 2.14 to 2.32 and
aws-ofi-nccl 1.7 to 1.17. No reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.nccl_lines import NcclLine
from kb.evidence import Observed, Section
from kb.facts.nccl_run import NcclPlugin, PluginPart, PluginProblem, PluginState

MARKERS = (
    *("/Plugin", "NET/OFI", "Tuner: ", "_PLUGIN set ", "Plugin name set by env", "NCCL WARN Error: network "),
    *("xternal network plugin", "xternal tuner plugin", "xternal profiler plugin", "xternal env plugin"),
    *("xternal gin plugin", "loaded external plugin", "NET plugin", "plugin has incompatible version"),
)
MOST_TEXT = 400

_PREFIX = regex(r"(NET|TUNER|PROFILER|GIN|RMA|ENV)/Plugin ?: |(Tuner): ")
_PARTS: dict[str, PluginPart] = {
    "network": "net",
    "net": "net",
    "coll": "collnet",
    "collnet": "collnet",
    "tuner": "tuner",
    "profiler": "profiler",
    "gin": "gin",
    "rma": "rma",
    "env": "env",
}
_REQUEST = regex(r"NCCL_(NET|TUNER|PROFILER|GIN|RMA|ENV)_PLUGIN set (?:by environment )?to (\S{1,200})")
_NAMED = regex(r"(?:[A-Z]{3,8}/Plugin: )?Plugin name set by env to (\S{1,200})")
_ABSENT = regex(r"No plugin found(?: \((?P<one>[^)]{1,200})\))?|no plugin found '(?P<old>[^']{1,200})'")
_NOT_FOUND = regex(r"Could not find: ?(?P<names>\S{1,200}(?: \S{1,200}){0,8}?)(?:\. |\.?$)")
_LOADED = regex(
    r"(?:Loaded (?P<part>net|coll|collnet|gin|rma) plugin (?P<name>[^'():]{1,100}?)"
    r"|(?:[Ll]oaded|Using(?! internal)(?: tuner plugin:?)?) '?(?P<one>[^\s'():]{1,100})'?)"
    r"(?: \((?P<version>v\d{1,3})\))?\.?$"
)
_EXTERNAL = regex(
    r"Successfully loaded external (?:(?P<part>network|tuner|profiler|env|gin) )?plugin (?P<name>[^\s:]{1,200})$"
    r"|External (?P<bad>network|tuner|profiler|env|gin) plugin (?P<unsupported>\S{1,200}) is unsupported"
)
_LOADER = regex(
    r"(?:dlerror=|[Pp]lugin load(?: \(?'?[^()']{1,200}'?\)?)? returned (?:error \()?-?\d{1,6} : )?"
    r"(?P<said>.{0,300}?(?:cannot open shared object file|undefined symbol|wrong ELF class|invalid ELF header"
    r"|file too short|version `[^']{1,60}' not found|symbol lookup error|Permission denied).{0,200})"
)
_OWN = regex(
    r"(?:\S{0,200}/)?lib(?:nccl|rccl)-(?:net|tuner|profiler|gin|rma|env)\S{0,100}: cannot open shared object file"
)
_UNABLE = regex(r"Unable to load (?P<name>\S{1,200}) ?: {1,2}(?P<said>\S.{0,300})")
_OLD_INTERFACE = regex(r"Failed to find ncclNetPlugin symbol|plugin has incompatible version")
_NO_NETWORK = regex(r"Failed to initialize (?:any NET plugin|NET plugin (?!IB$|Socket$)(?P<name>.{1,60}))")
_OFI_VERSION = regex(r"NET/OFI Initializing (?P<name>[\w-]{1,40}) (?P<version>\d[\w.-]{0,30})")
_OFI_FALLBACK = regex(r"NET/OFI Selected [Pp]rovider is (?:tcp|sockets|udp|shm|net|lo)\b")
_NETWORK_NAMED = regex(r"Error: network (?P<name>\S.{0,60}?) not found")
_DEFAULTS = regex(r"lib(?:nccl|rccl)-(?:net|tuner|profiler|gin|rma|env)\.so$")


class _Said(NamedTuple):
    """One thing that processes say of one plugin."""

    part: PluginPart
    state: PluginState
    problem: PluginProblem | None = None
    name: str | None = None
    version: str | None = None
    requested: bool = False


class Plugins:
    """The plugins of all processes of one log."""

    def __init__(self) -> None:
        self._said: Tallies[_Said] = Tallies()
        self._texts: dict[_Said, str] = {}
        self._requested: set[tuple[str, PluginPart]] = set()

    def take(self, line: NcclLine) -> None:
        """Adds one record."""
        request = _REQUEST.match(line.text)
        if request is not None:
            if request[2].rstrip(".") not in {"none", "default"}:
                self._requested.add((line.process, _PARTS[request[1].lower()]))
        elif line.text.startswith("NET/OFI"):
            self._ofi(line)
        elif (said := self._of(line)) is not None:
            self._add(said, line)

    def _add(self, said: _Said, line: NcclLine) -> None:
        self._said.add(said, line.index, line.process)
        if said.state == "failed":
            self._texts.setdefault(said, line.text[:MOST_TEXT])

    def _of(self, line: NcclLine) -> _Said | None:
        text = line.text[:1000]
        if (external := _EXTERNAL.match(text)) is not None:
            if external["bad"]:
                return _Said(_PARTS[external["bad"]], "failed", "wrong-version", external["unsupported"])
            return _Said(_PARTS[external["part"] or "network"], "loaded", None, external["name"])
        if line.level == "WARN" and (named := _NETWORK_NAMED.match(text)) is not None:
            return _Said("net", "failed", "missing-library", named["name"], requested=True)
        if (none := _NO_NETWORK.match(text)) is not None:
            return _Said("net", "failed", "init-failed", none["name"])
        if _OLD_INTERFACE.search(text):
            return _Said("net", "failed", "wrong-version")
        prefix = _PREFIX.match(text)
        if prefix is None:
            if (old := _NAMED.match(text)) is not None and old[1] != "none":
                self._requested.add((line.process, "net"))
            return None
        part = _PARTS[(prefix[1] or prefix[2]).lower()]
        return self._after_prefix(part, text[prefix.end() :], line)

    def _after_prefix(self, part: PluginPart, text: str, line: NcclLine) -> _Said | None:
        if (named := _NAMED.match(text)) is not None:
            if named[1] != "none":
                self._requested.add((line.process, part))
            return None
        unable = _UNABLE.match(text)  # of NCCL 2.3 and 2.4
        if unable is not None and _OWN.match(unable["said"]):
            return self._absent(part, unable["name"], line)
        loader = _LOADER.match(text)
        if loader is not None and not _OWN.match(loader["said"]):
            return _Said(part, "failed", _problem(loader["said"]), _library(loader["said"]))
        absent = _ABSENT.search(text)
        if absent is not None:
            return self._absent(part, absent["one"] or absent["old"], line)
        if (missing := _NOT_FOUND.match(text)) is not None:
            return self._absent(part, missing["names"], line)
        loaded = _LOADED.match(text.rstrip())
        if loaded is not None:
            name = loaded["name"] or loaded["one"]
            return _Said(_PARTS.get(loaded["part"] or "", part), "loaded", None, name, loaded["version"])
        return None

    def _absent(self, part: PluginPart, names: str | None, line: NcclLine) -> _Said:
        first = (names or "").split(" ")[0].rstrip(".") or None
        asked = (line.process, part) in self._requested or (first is not None and not _DEFAULTS.search(first))
        return _Said(part, "absent", None, first, requested=asked)

    def _ofi(self, line: NcclLine) -> None:
        """aws-ofi-nccl names its release; what it warns about before data flow is a failure to start."""
        text = line.text[:1000]
        version = _OFI_VERSION.match(text)
        if version is not None:
            self._add(_Said("net", "loaded", None, version["name"], version["version"]), line)
        elif _OFI_FALLBACK.match(text):
            self._add(_Said("net", "failed", "no-provider", "aws-ofi-nccl"), line)
        elif line.level == "WARN" and "completed with error" not in text:
            self._add(_Said("net", "failed", _ofi_problem(text), "aws-ofi-nccl"), line)
        elif text.endswith("initialization failed"):
            self._add(_Said("net", "failed", "init-failed", "aws-ofi-nccl"), line)

    def facts(self, section: Section) -> Iterator[Observed]:
        """What was said of each plugin; what a later line of the same processes overtakes is left out."""
        loaded: dict[PluginPart, set[str]] = {}
        for said, tally in self._said:
            if said.state == "loaded":
                loaded.setdefault(said.part, set()).update(tally.writers)
        for said, tally in self._said:
            overtaken = said.state == "absent" or (said.problem == "wrong-version" and said.name is None)
            if overtaken and tally.writers and tally.writers <= loaded.get(said.part, set()):
                continue
            fact = NcclPlugin(**said._asdict(), text=self._texts.get(said), processes=tally.processes)
            yield section.observe(fact, tally.index)


def _problem(said: str) -> PluginProblem:
    if "cannot open shared object file" in said:
        return "missing-library"
    if "undefined symbol" in said or "symbol lookup" in said:
        return "undefined-symbol"
    return "wrong-version" if re.search(r"version `", said) else "unusable-file"


def _library(said: str) -> str | None:
    """The last library that the loader names before its complaint: the one that is missing or wrong."""
    names = re.findall(r"[\w./+-]{1,200}\.so(?:\.\d{1,5}){0,4}", said[:400].partition(" cannot open ")[0])
    return names[-1] if names and "cannot open" in said else names[0] if names else None


def _ofi_problem(text: str) -> PluginProblem:
    if re.search(r"fi_getinfo|No eligible|no provider|optimal provider|find a protocol", text, re.IGNORECASE):
        return "no-provider"
    refused = re.search(r"RC: -?\d|Couldn't |Unable to |fi_\w+|Protocol not available|endpoint for domain", text)
    return "provider-call-failed" if refused else "init-failed"
