"""A table of this package: their method beside a rule, on their tutor."""

from __future__ import annotations

from dataclasses import replace

from mccpo import make
from mccpo.experiments import Options, Produced, Session, compare, register_table


@register_table("their-table")
def produce(options: Options, session: Session) -> Produced:
    """The comparison, with a title of its own."""
    own = replace(options, methods=options.methods_or(("their-method", "random-ready")))
    produced = compare.compare_on("their-table", make("their-tutor", **own.parameters), own, session)
    return replace(produced, results=replace(produced.results, title="Their table"))
