"""This machine to artifacts: the only code that runs commands or opens /proc. Standard library only.

It never interprets, and imports nothing else of this project, so that it can run where nothing else does.
"""

from __future__ import annotations

from collectors.live.bundle import SCHEMA, default_name
from collectors.live.collect import Step, collect
from collectors.live.source import Source
from collectors.live.sources import SOURCES

__all__ = ["SCHEMA", "SOURCES", "Source", "Step", "collect", "default_name"]
