"""The answers on record, to learn from: who answered rightly or not, on which concept, in order."""

from __future__ import annotations

from dataclasses import dataclass

from mccpo.errors import InputError
from mccpo.serve.record import rows
from mccpo.serve.record.chain import Head
from mccpo.serve.record.schema import EVENT
from mccpo.serve.record.store import Store
from mccpo.serve.record.verification import Verdict


@dataclass(frozen=True)
class RecordedAnswers:
    """The answers up to the head of a record, one after the other.

    **Fields:**

    - `head`: the last event that was read.
    - `learners`: by their ids, in the order in which they first answered; `learner` are positions in it.
    - `erased`: how many learners were left out because they were erased.
    - `uncounted`: how many answers were left out because they came too late to count.
    """

    head: Head
    learners: tuple[str, ...]
    learner: tuple[int, ...]
    concept: tuple[str, ...]
    correct: tuple[bool, ...]
    erased: int
    uncounted: int


async def read_answers(store: Store, verdict: Verdict, curriculum: str) -> RecordedAnswers:
    """The answers of a record that holds, as far as `verdict` followed it; those of erased learners are left out.

    `curriculum` is the hash of the one that releases must have, so that concepts mean what they are taken for.
    """
    said: list[tuple[str, str, bool]] = []
    erased, uncounted = set(), 0
    async with store.reading() as connection:
        for version, release in (await rows.read_releases(connection, list(verdict.releases))).items():
            if release.sha256.curriculum != curriculum:
                raise InputError(
                    f"{store.name} is the record of another curriculum (release {version})",
                    fix="name the record of this run with --database",
                )
        wanted = EVENT.c.kind.in_(("outcome", "erasure")), EVENT.c.number <= verdict.head.number
        async for row in rows.events_after(connection, 0, *wanted):
            event = rows.event_from_row(row)
            if event.kind == "erasure":
                erased.add(event.learner)
            elif event.content["counted"]:
                said.append((event.learner, event.content["concept"], event.content["correct"]))
            else:
                uncounted += 1
    left = [answer for answer in said if answer[0] not in erased]
    names = tuple(dict.fromkeys(learner for learner, _, _ in left))
    place = {name: at for at, name in enumerate(names)}
    return RecordedAnswers(
        head=verdict.head,
        learners=names,
        learner=tuple(place[learner] for learner, _, _ in left),
        concept=tuple(concept for _, concept, _ in left),
        correct=tuple(correct for _, _, correct in left),
        erased=len(erased),
        uncounted=uncounted,
    )
