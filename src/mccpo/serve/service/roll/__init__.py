"""The roll of a tenant: lists of its learners and classes, and the search by a part of a name."""

from mccpo.serve.service.roll.learner_lists import (
    Classes,
    damaged_text,
    identity_from_row,
    in_classes,
    list_classes,
    list_learners,
)
from mccpo.serve.service.roll.name_search import NameSearch

__all__ = [
    "Classes",
    "NameSearch",
    "damaged_text",
    "identity_from_row",
    "in_classes",
    "list_classes",
    "list_learners",
]
