"""Facts on what a served model answers."""

from typing import ClassVar

from kb.facts.base import Fact


class ModelAnswer(Fact):
    """An answer of a model, or several alike that follow each other."""

    kind: ClassVar[str] = "model_answer"

    garbled: bool
    """One piece of text over and over: what is computed is nonsense. False: words follow each other in it."""
    unit: str | None = None
    """The piece that is repeated."""
