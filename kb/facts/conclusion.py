"""Facts that reasoning itself adds: symptoms, disagreements between sources, and the outcome so far."""

from typing import ClassVar

from kb.facts.base import Fact


class Symptom(Fact):
    """Something that is seen to go wrong and wants an explanation; derived by the rules in rules/symptoms."""

    kind: ClassVar[str] = "symptom"

    id: str
    """Name of the symptom, as in rules/symptoms."""
    about: str
    """What shows it: `machine`, a GPU, a rank."""


class Disagreement(Fact):
    """Two sources give different answers to one question; shown as a contradiction, never settled silently."""

    kind: ClassVar[str] = "disagreement"

    question: str
    """What both answer, for instance `version of the loaded kernel module`."""
    one: str
    """The first answer and who gave it."""
    other: str
    """The other answer and who gave it."""


class Outcome(Fact):
    """What the weighing of faults has come to; only the rules of states may ask for it."""

    kind: ClassVar[str] = "outcome"

    faults_likely: int
    """Faults found confirmed or likely."""
    faults_possible: int
    """Faults that stay possible."""
    symptoms: int
    """Symptoms seen."""
    unexplained: int
    """Symptoms that no confirmed or likely cause explains."""
