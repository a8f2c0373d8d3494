"""The form of what is sent: strict types, bounded texts and numbers, no field that is not known."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_HIDDEN = (
    r"\x7f-\x9f\u00ad\u034f\u061c\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff"
    r"\ufff9-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
"""Characters that are not seen, or change how others are; but for joiners and selectors of variants, which scripts and
emoji need."""
_BLANK = r"\s\u115f\u1160\u180b-\u180d\u180f\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0" "\U000e0100-\U000e01ef"
"""Characters of which a text may have some, but not these alone."""


def _pattern(control: str) -> str:
    """The pattern of a text with something to see in it, and no control characters."""
    wrong = control + _HIDDEN
    return f"^[^{wrong}]*[^{wrong}{_BLANK}][^{wrong}]*$"


_LINE = _pattern(r"\x00-\x1f")
_TEXT = _pattern(r"\x00-\x08\x0b\x0c\x0e-\x1f")
MOST = 2**53 - 1
"""The largest whole number that every reader of JSON takes for itself."""

Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_LINE)]
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=_TEXT)]
Label: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=_LINE)]

Id: TypeAlias = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="An opaque id.")]
IdempotencyKey: TypeAlias = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="The same key with the same request gets the stored answer; with another request, 422.",
    ),
]


class Form(BaseModel):
    """What all forms share."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class LearnerForm(Form):
    """A learner, by the name that you know them by; labels are groups whose treatment the monitor compares."""

    name: Name
    labels: Annotated[dict[Label, Label], Field(max_length=16)] = {}


class LearnersForm(Form):
    """Learners to be registered at once."""

    learners: Annotated[list[LearnerForm], Field(min_length=1, max_length=500)]


class OutcomeForm(Form):
    """How an activity went."""

    correct: bool
    hints: Annotated[int, Field(ge=0, le=10_000)] | None = None
    seconds: Annotated[float, Field(ge=0, le=10_000_000)] | None = None


class OverrideForm(Form):
    """A teacher's choice, which the gate checks like any other."""

    concept: Name
    activity: Name | None = None
    reason: Text
    teacher: Name


class ReleaseForm(Form):
    """The policy of a run, in the folder of runs that the service was started with.

    `lower_gate` confirms that it may open the gate earlier than the one that decides now.
    """

    run: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
    part: Name | None = None
    method: Name = "mc-cpo"
    seed: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    shadow: Annotated[float, Field(gt=0, le=1)] | None = None
    lower_gate: bool = False


class RollBackForm(Form):
    """The version of the release that is to decide again: the one before, whichever it is, where none is named."""

    to: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,128}$")] | None = None
    lower_gate: bool = False


class Waiting(BaseModel):
    """Which decisions to list: those after a number of the record."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[int, Field(ge=0, le=MOST)] = 0
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class Page(Waiting):
    """Which decisions to list: those after a number of the record, of one learner or of all."""

    learner: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = None


class Roll(BaseModel):
    """Which learners to list: the one of a name, or those after an id."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    after: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,64}$")] = ""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class Extent(BaseModel):
    """Which decisions to export, those after a number of the record, and as what."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[int, Field(ge=0, le=MOST)] = 0
    format: Literal["ndjson", "csv"] = "ndjson"
