"""Every environment that can be made by name, and what it needs."""

from __future__ import annotations

from typing import NamedTuple

from mccpo.datasets.catalogue import get, names


class GalleryEntry(NamedTuple):
    """An environment: its name, what it is, and the data set that it is made of, None where it needs no data."""

    name: str
    summary: str
    dataset: str | None


def gallery() -> tuple[GalleryEntry, ...]:
    """All environments of this installation, those that need no data first.

    >>> entries = {entry.name: entry for entry in gallery()}
    >>> entries["fractions"].dataset is None
    True
    >>> entries["assistments-2009"].dataset
    'assistments-2009'
    """
    import mccpo.experiments  # noqa: F401, PLC0415 - jax; registers the environments that are made from data
    from mccpo.env import environment_entry, environment_names  # noqa: PLC0415 - jax

    made_of = {environment: name for name in names() for environment in get(name).environments}
    entries = [environment_entry(name) for name in environment_names()]
    ordered = sorted(entries, key=lambda entry: entry.needs_data)
    return tuple(GalleryEntry(entry.name, _summary(entry.doc), made_of.get(entry.name)) for entry in ordered)


def _summary(doc: str) -> str:
    """The first sentence of a description, in one line."""
    first = doc.split("\n\n")[0].replace("\n", " ")
    return first.partition(". ")[0].rstrip(".") + "."
