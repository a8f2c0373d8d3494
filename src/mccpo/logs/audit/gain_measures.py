"""What counts as a gain of mastery, said in words and as a formula: the rate of an audit means nothing without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SIGNAL = "signal"
"""The name of the platform's own measure."""

_TITLES = {
    SIGNAL: "platform's signal",
    "ema": "moving average",
    "bkt": "knowledge tracing",
    "bkt-forget": "knowledge tracing with forgetting",
}


@dataclass(frozen=True)
class GainMeasure:
    """A way to tell whether an answer brought a gain of mastery: the platform's signal, or a model and a threshold."""

    name: str
    threshold: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "threshold": self.threshold, "formula": self.formula, "words": self.words}

    @property
    def title(self) -> str:
        return _TITLES.get(self.name, self.name)

    @property
    def named(self) -> str:
        """The title within a sentence."""
        return self.title if self.name.startswith("bkt") else f"the {self.title}"

    @property
    def formula(self) -> str:
        if self.threshold is None:
            return "correct ∧ signal ≠ up"
        return f"correct ∧ K_after − K_before ≤ {self.threshold:g}"

    @property
    def words(self) -> str:
        """The definition of an event, as a sentence."""
        if self.threshold is None:
            return "The answer is right, and the platform did not register a gain of mastery with it."
        size = f"at most {self.threshold:g}" if self.threshold else "nothing"
        return f"The answer is right, and mastery as {self.named} estimates it rises by {size} with it."
