"""How a learner's history follows from the events, those of older records among them."""

from mccpo.serve.record.chain import GENESIS, seal_event
from mccpo.serve.record.learner_history import apply_event


def test_an_outcome_of_an_old_record_keeps_its_meaning(release):
    """It did not say how long the learner was away, and was taken for the last that was heard of them."""
    releases = {release.version: release}

    def follow(history, head, at, kind, **content):
        event = seal_event(head, at, kind, "t", "lrn_1", content)
        return apply_event(history, event, releases), event.head

    history, head = follow(None, GENESIS, 1_000, "learner", release=release.version)
    concept = release.concepts[0]
    known = float(history.state.K[0])
    said = {"decision": "dec_1", "concept": concept, "activity": release.activities[0].name, "correct": False}
    late = said | {"counted": False, "late": True, "before": known, "after": known}
    old, _ = follow(history, head, 9_000, "outcome", **late)
    assert old.active == 9_000
    new, _ = follow(history, head, 9_000, "outcome", **late, away=8.0, forgetting=None)
    assert new.active == 1_000
