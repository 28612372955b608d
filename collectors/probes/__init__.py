"""Probes: programs that put the GPUs, NCCL, /dev/shm or the network to a test, only where they are asked for.

Collecting looks; a probe does something, and may disturb. Each runs in child processes of the job's Python, keeps
a journal that is on the disk before each step begins, and is ended where a step does not end. What comes out is
evidence in the bundle; nothing here interprets it. Standard library only, but for the scripts in `children`, which
run elsewhere.
"""

from __future__ import annotations

from collectors.probes.conduct import Conduct, conduct
from collectors.probes.table import NAMES, PROBES, Probe, chosen

__all__ = ["NAMES", "PROBES", "Conduct", "Probe", "chosen", "conduct"]
