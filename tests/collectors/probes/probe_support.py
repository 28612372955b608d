"""Short-cuts for the tests of probes: run them with a stand-in for GPUs, and look into their journals."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.live.bundle import Bundle
from collectors.probes import Conduct, chosen, conduct

STAND_IN = str(Path(__file__).parent / "stand_in.py")
SMALL = {"stand_in": STAND_IN, "devices": 2, "sizes_bytes": [4096]}

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed here")


def never() -> bool:
    """Nobody wants the run to end."""
    return False


class Ran:
    """A bundle with nothing in it but probes, and what was said while they ran."""

    def __init__(
        self,
        folder: Path,
        /,
        *names: str,
        python: str = sys.executable,
        stop: Callable[[], bool] = never,
        **more: Any,
    ) -> None:
        """`anyway` and `proc` are for Conduct; all else is told to the probes."""
        self.said: list[str] = []
        settings = {key: more.pop(key) for key in ("anyway", "proc") if key in more}
        settings.setdefault("proc", str(folder / "no-proc"))
        bundle = Bundle(folder / "bundle", version="1.2.3", host="here", deadline_s=60)
        (folder / "no-proc").mkdir(exist_ok=True)
        how = Conduct(python, says=self.said.append, more=more, **settings)
        conduct(bundle, chosen(names), how, stop)
        self.folder = bundle.finish()

    def journal(self, name: str) -> list[dict[str, Any]]:
        """The records of a probe."""
        return [json.loads(line) for line in (self.folder / "probes" / f"{name}.jsonl").read_text().splitlines()]

    def ends(self, name: str) -> list[dict[str, Any]]:
        """The results of its steps."""
        return [record for record in self.journal(name) if record["event"] == "end"]

    def end(self, name: str, step: str) -> dict[str, Any]:
        """The first result of one step."""
        return next(record for record in self.ends(name) if record["step"] == step)

    def outcome(self, name: str) -> dict[str, Any]:
        """The last word of its journal, without what every line has."""
        last = self.journal(name)[-1]
        assert (last.pop("diagnose_probe"), last.pop("event")) == (name, "outcome")
        return last

    def entry(self, name: str) -> dict[str, Any]:
        """What the manifest says of it."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        return next(entry for entry in manifest["artifacts"] if entry["name"] == f"probe-{name}")

    def wrong(self, name: str) -> dict[tuple[str, int, int], dict[str, Any]]:
        """The copies that did not come out right, by way and pair."""
        return {
            (record["step"], record["src"], record["dst"]): record
            for record in self.ends(name)
            if record.get("wrong")
        }
